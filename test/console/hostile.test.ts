/** What strangers write, in every field that an agent can fill: text, whole, and nothing else. */
import { expect, it } from "vitest";
import { booking } from "../support/approving.ts";
import { describeInBrowser, goWithin, openPage, signIn } from "../support/browser.ts";
import type { TestConsole } from "../support/console.ts";
import { askHouse, MALLORY, openHouse } from "../support/console-house.ts";
import { DECEPTIVE, HARM, HARMLESS, MARKS, PROGRAMS } from "../support/hostile-text.ts";

const PAYLOADS = {
  "programs of every kind, and marks of direction": `${PROGRAMS} ${MARKS}`,
  "a long address that is a program": `javascript:window.hacked=1//${"W".repeat(10_000)}`,
} as const;
/** Has an agent write it wherever it can; answers the pages that show something of it. */
async function fillAll(house: TestConsole, text: string): Promise<readonly string[]> {
  const ask = async (body: object, method = "ESCALATE", path = "/") =>
    (await askHouse(house, MALLORY, { method, path, body })).body;
  const operator = await house.signIn({ name: text.slice(0, 128) });
  const decide = (id: string, decision: string) =>
    operator.post(`/api/approvals/${id}`, { decision, reason: some });
  const call = async (guest: string): Promise<string> => {
    const { body } = await askHouse(house, MALLORY, booking("7", { body: { guest } }));
    return String(body["escalation_id"]);
  };
  const some = text.slice(0, 1000);
  // The first is approved, so that the next has a difference to it.
  const first = await call(`before ${text}`);
  expect((await decide(first, "accepted")).status).toBe(200);
  const second = await call(`now ${text}`);
  const asked = await ask({
    ...{ task_id: "task-7", reason: "ambiguous_instruction" },
    context: { [text.slice(0, 200)]: some, nested: [{ some }] },
  });
  const question = String(asked["result"]?.["escalation_id"]);
  expect(question).toMatch(/^esc-/);
  const plain = await ask({ task_id: "task-8", reason: "scope_limit", context: some });
  const rejected = String(plain["result"]?.["escalation_id"]);
  expect((await decide(rejected, "rejected")).status).toBe(200);
  const encoded = encodeURIComponent(text)
    .slice(0, 2_000)
    .replace(/%[^%]?$/, "");
  await ask({}, "QUERY", `/free/${encoded}`);
  await ask({}, "QUERY", `/nowhere/${encoded}?q=${encoded}`);
  const action = { action: "suspend", reason: some };
  expect((await operator.post(`/api/agents/${MALLORY}`, action)).status).toBe(200);
  const { entries } = (await operator.get("/api/traffic")).body;
  const last = entries.find(({ path }: { readonly path: string }) => path.startsWith("/nowhere"));
  return [
    ...["/", "/traffic", `/traffic/${last.response_id}`, "/approvals", `/approvals/${first}`],
    ...[`/approvals/${second}`, `/approvals/${question}`, `/approvals/${rejected}`],
    ...["/agents", `/agents/${MALLORY}`, "/records", `/records/${MALLORY}`, "/account"],
  ];
}

describeInBrowser("no page is harmed by", () => {
  it.each(Object.entries(PAYLOADS))("%s", async (_, payload) => {
    const house = await openHouse();
    const paths = await fillAll(house, payload);
    const page = await openPage({ viewport: { width: 360, height: 800 } });
    await signIn(page, await house.link({ name: payload.slice(0, 128) }));
    await goWithin(page, "/nodes");
    for (const path of paths) {
      await goWithin(page, path);
      expect([path, await page.evaluate(HARM)]).toEqual([path, HARMLESS]);
    }
    // It is there, to the last character, with what would deceive written out.
    const shown = payload.replace(new RegExp(DECEPTIVE, "gu"), (one) => {
      return `\\u{${one.codePointAt(0)?.toString(16)}}`;
    });
    await goWithin(page, String(paths[5]));
    await page.locator("dl.input").waitFor();
    const [input] = await page.locator("dl.input dd").allInnerTexts();
    expect(input?.replaceAll(/\s+/g, " ")).toContain(shown.replaceAll(/\s+/g, " "));
    expect(page.faults).toEqual([]);
  });
});
