/** A journal that was changed while no daemon ran: the console alone names the record. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { ALMA } from "../support/approving.ts";
import { accessibilityFaults, describeInBrowser, openPage, signIn } from "../support/browser.ts";
import { look, openHouse } from "../support/console-house.ts";
import { openInspection, statusIn } from "../support/inspection.ts";
import { readJournal } from "../support/records.ts";

describeInBrowser("a journal that is inspected", () => {
  it("is whole, and nothing can be changed", async () => {
    const directory = await journalOf(4);
    const place = await openInspection(directory);
    expect(await statusIn(directory)).toMatchObject({ ready: false, inspect_only: true });
    const page = await openPage();
    await signIn(page, await place.link({ name: "Nina" }));
    await page.getByText("The daemon was not started.").waitFor();
    expect(await page.getByRole("navigation").getByRole("link").allTextContents()).toEqual([
      "Overview",
      "Records",
    ]);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole("navigation").getByRole("link", { name: "Records" }).click();
    await page.getByRole("link", { name: "alma" }).click();
    expect(await verified(page)).toBe("Chain verified: 4 records");
    const visitor = await place.signIn();
    for (const path of ["/api/agents", `/api/agents/${ALMA}`, "/api/traffic"]) {
      const { status, body } = await visitor.get(path);
      expect([path, status, body.error.code]).toEqual([path, 503, "inspect-only"]);
    }
    const posted = await visitor.post(`/api/agents/${ALMA}`, { action: "suspend" });
    expect([posted.status, posted.body.error.code]).toEqual([503, "inspect-only"]);
    expect((await place.ask("/api/records")).status).toBe(401);
    expect(page.faults).toEqual([]);
  });

  it("names the record that was changed, wherever in the line", async () => {
    const directory = await journalOf(5);
    const victim = ofAlma(directory)[2];
    // One character in the middle of the text, in a line as long.
    rewrite(directory, (line) => {
      if (line !== victim?.jws) return line;
      const at = line.indexOf(".") + 400;
      return line.slice(0, at) + (line[at] === "A" ? "B" : "A") + line.slice(at + 1);
    });
    const page = await pageOver(directory);
    expect(await verified(page)).toMatch(
      new RegExp(`^Chain broken at ${victim?.auditId}: was altered, its hash is [0-9a-f]{64}$`),
    );
  });

  it("names the record that was taken out, and shows where", async () => {
    const directory = await journalOf(5);
    const [, , victim, next] = ofAlma(directory);
    rewrite(directory, (line) => (line === victim?.jws ? undefined : line));
    const page = await pageOver(directory);
    await page.getByText("Here the chain breaks").waitFor();
    const said = await verified(page);
    expect(said.startsWith(`Chain broken at ${victim?.auditId}: `)).toBe(true);
    expect(said).toContain(`is missing, record ${next?.auditId} names it`);
    expect(next?.payload["previous_audit_id"]).toBe(victim?.auditId);
    // Both sides of the gap are there, the older one for what it is.
    const rows = page.getByRole("row").filter({ hasText: "/free/" });
    await rows.filter({ hasText: "/free/1" }).waitFor();
    expect(await rows.allInnerTexts()).toEqual([
      ...[/free\/5/, /free\/4/, /free\/2[\s\S]*not verified/, /free\/1[\s\S]*not verified/].map(
        (one) => expect.stringMatching(one),
      ),
    ]);
    await page
      .getByRole("row")
      .filter({ hasText: String(victim?.auditId) })
      .waitFor();
  });

  it("names every record that was taken out, however many, and the file has the others", async () => {
    const directory = await journalOf(9);
    const records = ofAlma(directory);
    const gone = [1, 2, 4, 7, 8].map((at) => records[at]);
    rewrite(directory, (line) => (gone.some((one) => one?.jws === line) ? undefined : line));
    const page = await pageOver(directory);
    const rows = page.getByRole("row").filter({ hasText: "/free/" });
    await rows.filter({ hasText: "/free/1" }).waitFor();
    const paths = (await rows.allInnerTexts()).map((text) => /\/free\/\d/.exec(text)?.[0]);
    expect(paths).toEqual(["/free/7", "/free/6", "/free/4", "/free/1"]);
    // One is the head, and two that stood side by side make one gap.
    const told = page.getByText("Here the chain breaks: record");
    const named = [8, 4, 2].map((at) => expect.stringContaining(String(records[at]?.auditId)));
    expect(await told.allTextContents()).toEqual(named);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export chain" }).click();
    const text = readFileSync(await (await saved).path(), "utf8");
    const left = records.filter((one) => !gone.includes(one)).map(({ jws }) => jws);
    expect(text.trimEnd().split("\n")).toEqual(left);
    expect(page.faults).toEqual([]);
  });

  it("names the newest record where that is gone", async () => {
    const directory = await journalOf(3);
    const victim = ofAlma(directory).at(-1);
    rewrite(directory, (line) => (line === victim?.jws ? undefined : line));
    const page = await pageOver(directory);
    expect((await verified(page)).startsWith(`Chain broken at ${victim?.auditId}: `)).toBe(true);
    await page.getByRole("navigation").getByRole("link", { name: "Overview" }).click();
    await page.getByRole("table").getByText(`lacks record ${victim?.auditId}`).waitFor();
  });
});

/** The directory of a house that has been left, with so many records of Alma. */
async function journalOf(count: number): Promise<string> {
  const house = await openHouse();
  for (let room = 1; room <= count; room += 1) await look(house, String(room));
  await house.close();
  return house.directory;
}

function ofAlma(directory: string) {
  const records = readJournal(join(directory, ".agtp/journal"));
  return records.filter(({ payload }) => payload["agent_id"] === ALMA);
}

/** Every line of the journal anew; undefined takes one out. */
function rewrite(directory: string, change: (line: string) => string | undefined): void {
  const journal = join(directory, ".agtp/journal");
  for (const name of readdirSync(journal).filter((one) => one.endsWith(".jws"))) {
    const lines = readFileSync(join(journal, name), "latin1").split("\n");
    const changed = lines.flatMap((line) => change(line) ?? []);
    writeFileSync(join(journal, name), changed.join("\n"), "latin1");
  }
}

async function pageOver(directory: string): Promise<Page & { readonly faults: readonly string[] }> {
  const place = await openInspection(directory);
  const page = await openPage();
  await signIn(page, await place.link());
  await page.goto(`${place.origin}/records/${ALMA}`);
  return page;
}

async function verified(page: Page): Promise<string> {
  const pin = page.getByRole("button", { name: "Pin key" });
  await pin.click();
  await page.getByRole("button", { name: "Verify chain" }).click();
  const result = page.getByText(/^Chain (?:verified|broken)/);
  await result.waitFor();
  return (await result.textContent()) ?? "";
}
