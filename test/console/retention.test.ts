/** A chain that this browser knows from before retention took its oldest records away. */
import { generateKeyPairSync } from "node:crypto";
import { expect, it, vi } from "vitest";
import { recordIn } from "../../src/base/json-value.ts";
import { decodeJws } from "../../src/identity/jws.ts";
import { type ChainedRecord, makeChain } from "../support/attribution-chain.ts";
import { describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { CONSOLE, openConsole } from "../support/console.ts";
import { askHouse } from "../support/console-house.ts";
import { ALICE, hostedFiles } from "../support/hosted-agents.ts";
import { PATIENCE } from "../support/patience.ts";

const RECORDS = makeChain({ agentId: ALICE, length: 30 });

/** It had records of last year in three segments, and has that of a request. */
async function openAged() {
  const { privateKey } = generateKeyPairSync("ed25519");
  const segment = (from: number): string =>
    RECORDS.slice(from, from + 10)
      .map(({ jws }) => `${jws}\n`)
      .join("");
  const tables = {
    ...{ ...CONSOLE, store: { driver: "sqlite" }, signing: { key: "signing.pem" } },
    attribution: { retention: { days: 1 } },
  };
  const files = {
    "handlers.mjs": "export const echo = ({ input }) => ({ body: input });",
    "signing.pem": String(privateKey.export({ format: "pem", type: "pkcs8" })),
    ".agtp/journal/00000001.jws": segment(0),
    ".agtp/journal/00000002.jws": segment(10),
    ".agtp/journal/00000003.jws": segment(20),
  };
  const house = await openConsole(hostedFiles({}, tables, files));
  const events = (): readonly unknown[] => house.log.map(({ event }) => event);
  await vi.waitFor(() => expect(events()).toContain("journal-cut"), PATIENCE);
  await askHouse(house, ALICE, { method: "QUERY", path: "/lists" });
  return house;
}

/** As a browser remembers a record that it has verified. */
function seen({ auditId, jws }: ChainedRecord) {
  return { auditId, issuedAt: recordIn(decodeJws(jws)?.payload)["issued_at"] };
}

describeInBrowser("a chain whose oldest records retention took", () => {
  it("holds for who has seen one of them, and not for who misses a later one", async () => {
    const house = await openAged();
    const page = await openPage();
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/records/${ALICE}`);
    await page.getByRole("button", { name: "Pin key" }).click();
    const heads = "agtpd.heads.test";
    const verify = async (head: unknown): Promise<string> => {
      const kept = JSON.stringify({ [ALICE]: head });
      await page.reload();
      await page.evaluate(`localStorage.setItem("${heads}", ${JSON.stringify(kept)})`);
      await page.getByRole("table", { name: "Records" }).waitFor();
      await page.getByRole("button", { name: "Verify chain" }).click();
      return page.getByText(/^Chain (verified|broken)/).innerText();
    };
    const newest = (await (await house.signIn()).get(`/api/records/${ALICE}`)).body.head;
    for (const record of [5, 15, 19].flatMap((place) => RECORDS[place] ?? [])) {
      expect(await verify(seen(record))).toMatch(
        /^Chain verified: \d+ records; those before were taken away/,
      );
      // From now on the newest is looked for.
      const kept = JSON.parse(String(await page.evaluate(`localStorage.getItem("${heads}")`)));
      expect(kept[ALICE].auditId).toBe(newest);
    }
    const missed = { auditId: "f".repeat(64), issuedAt: new Date().toISOString() };
    const cut = "was in the chain and is not any more: the chain was cut";
    expect(await verify(missed)).toBe(`Chain broken at ${missed.auditId}: ${cut}`);
    expect(page.faults).toEqual([]);
  });
});
