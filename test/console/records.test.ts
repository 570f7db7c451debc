/** A chain that is verified in the browser, with a key that the operator pinned there. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { ALMA, BORIS } from "../support/approving.ts";
import { describeInBrowser, failRequests, openPage, signIn } from "../support/browser.ts";
import type { TestConsole } from "../support/console.ts";
import { look, MALLORY, shareHouse } from "../support/console-house.ts";
import { makeKeysProgram } from "../support/keys-program.ts";

describeInBrowser("a chain of records", () => {
  const opened = shareHouse();
  /** The chain's page, signed in, after so many more requests of its agent. */
  const chainOf = async (agent: string, count: number) => {
    const house = opened();
    for (let room = 1; room <= count; room += 1) await look(house, String(room), agent);
    const page = await openPage({ acceptDownloads: true });
    await signIn(page, await house.link());
    await page.goto(`${house.origin}/records/${agent}`);
    await page.getByRole("table", { name: "Records" }).waitFor();
    return { house, page };
  };

  it("is verified under the key that was pinned, and only then", async () => {
    const { house, page } = await chainOf(ALMA, 3);
    await page.getByRole("button", { name: "Verify chain" }).click();
    await page.getByText("No key is pinned in this browser: pin one first.").waitFor();
    await page.getByRole("button", { name: "Pin key" }).click();
    expect(await verified(page)).toBe("Chain verified: 3 records");
    await look(house, "4");
    expect(await verified(page)).toBe("Chain verified: 4 records");
    await page.reload();
    expect(await verified(page)).toBe("Chain verified: 4 records");
    expect(page.faults).toEqual([]);
  });

  it("longer than a page is walked to its end", async () => {
    const { page } = await chainOf(MALLORY, 203);
    await page.getByRole("button", { name: "Pin key" }).click();
    expect(await verified(page)).toBe("Chain verified: 203 records");
  });

  it("is broken at a record that somebody changed", async () => {
    const { house, page } = await chainOf(BORIS, 5);
    await page.getByRole("button", { name: "Pin key" }).click();
    const { body } = await (await house.signIn()).get(`/api/records/${BORIS}`);
    const victim = body.records[2];
    change(house, victim.jws);
    const said = await verified(page);
    expect(said).toContain(`Chain broken at ${victim.audit_id}: `);
    // It and what it vouched for are there to be looked at, for what they are.
    const marked = page.getByRole("row").filter({ hasText: "not verified" });
    await marked.first().waitFor();
    expect(await page.getByRole("row").count()).toBe(1 + 5);
    expect(await marked.count()).toBe(3);
    // Seen for the first time, the list has both sides of it.
    await page.reload();
    await page.getByText(`Here the chain breaks: record ${victim.audit_id}`).waitFor();
    const rows = page.getByRole("row").filter({ hasText: "/free/" });
    await rows.filter({ hasText: "/free/1" }).waitFor();
    const paths = (await rows.allInnerTexts()).map((text) => /\/free\/\d/.exec(text)?.[0]);
    expect(paths).toEqual(["/free/5", "/free/4", "/free/2", "/free/1"]);
  });

  it("signed with a key that was not pinned is broken at its head, and says so before", async () => {
    const { house, page } = await chainOf(ALMA, 2);
    const pin = { kid: "ed25519-0", fingerprint: "0", x: "A".repeat(43), pinnedAt: "2026-01-01" };
    const text = JSON.stringify(JSON.stringify([pin]));
    await page.evaluate(`localStorage.setItem("agtpd.pins.test", ${text})`);
    await page.reload();
    await page.getByText("signs with a key that is not pinned in this browser").waitFor();
    const { body } = await (await house.signIn()).get(`/api/records/${ALMA}`);
    expect(await verified(page)).toMatch(
      new RegExp(`^Chain broken at ${body.head}: is signed with a key that is not pinned`),
    );
  });

  it("is exported as a file that agtp-keys verify reads", async () => {
    const { house, page } = await chainOf(ALMA, 3);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export chain" }).click();
    const file = await (await saved).path();
    const visitor = await house.signIn();
    const { records } = (await visitor.get(`/api/records/${ALMA}`)).body;
    expect(records.length).toBeGreaterThanOrEqual(3);
    const text = readFileSync(file, "utf8");
    const jws = records.map((one: { readonly jws: string }) => one.jws);
    expect(text.trimEnd().split("\n")).toEqual(jws.toReversed());
    const { keys } = (await visitor.get("/api/keys")).body;
    const program = makeKeysProgram({ "chain.jws": text });
    const run = await program.run("verify", "chain.jws", "--key", keys[0].jwk.x);
    expect([run.exitCode, run.out]).toEqual([
      0,
      expect.stringContaining(`${records.length} records: by ${keys[0].kid}`),
    ]);
  });

  it("goes on with a chain whose next page did not come", async () => {
    const house = opened();
    await look(house, "1");
    const page = await openPage();
    await signIn(page, await house.link());
    const stop = await failRequests(page, /\/api\/records\//);
    await page.goto(`${house.origin}/records/${ALMA}`);
    await page.getByText("cannot be reached").waitFor();
    await stop();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("table", { name: "Records" }).getByText("/free/1").first().waitFor();
    expect(await page.getByText("cannot be reached").count()).toBe(0);
  });
});

/** Presses the button, and waits for its sentence. */
async function verified(page: Page): Promise<string> {
  await page.getByRole("button", { name: "Verify chain" }).click();
  const result = page.getByText(/^Chain (?:verified|broken)/);
  await result.waitFor();
  return (await result.textContent()) ?? "";
}

/** Changes a record where the journal has it: one character of its payload, in a line as long. */
function change({ directory }: TestConsole, jws: string): void {
  const journal = join(directory, ".agtp/journal");
  const at = jws.indexOf(".") + 40;
  const other = jws[at] === "A" ? "B" : "A";
  const changed = jws.slice(0, at) + other + jws.slice(at + 1);
  for (const name of readdirSync(journal).filter((one) => one.endsWith(".jws"))) {
    const file = join(journal, name);
    writeFileSync(file, readFileSync(file, "utf8").replace(jws, changed));
  }
}
