/**
 * Whatever the interface may answer: hostile text in every member of every answer, beyond what agents,
 * upstreams and providers can bring about today. It stays text on every page, at a desk and on a telephone.
 */
import type { Page, Route } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { ALMA, booking } from "../support/approving.ts";
import { describeInBrowser, goWithin, openPage, signIn } from "../support/browser.ts";
import type { TestConsole } from "../support/console.ts";
import { askHouse, look, shareHouse } from "../support/console-house.ts";
import { HARM, HARMLESS, MARKS, PROGRAMS } from "../support/hostile-text.ts";

const TEXTS = {
  "programs of every kind, marks of direction, and controls": `${PROGRAMS} ${MARKS} \u0007\u001b[31m\u0000`,
  "a name of the language, which no table has": "constructor",
  "four thousand letters without a space": `javascript:window.hacked=1//${"W".repeat(4_000)}`,
} as const;

/** Members by whose values a page is chosen, and no stranger writes. */
const KEPT: ReadonlySet<string> = new Set(["role", "csrf", "status_code"]);
/** Tables whose names strangers write as well. */
const NAMED: ReadonlySet<string> = new Set(["by_gate", "input", "document"]);

const T = "text";
const TIME = "2026-01-01T00:00:00Z";
const TOOL = { tool: T, endpoint: T, pin: T, state: "changed", difference: [T], escalation_id: T };
const AGENT = { name: T, version: T, base: T, url: T, state: T, reason: T };
/** Answers of which this house has nothing to show. */
const MADE: Readonly<Record<string, object>> = {
  "/api/upstreams": {
    http: [{ url: T, endpoints: 1, state: T, calls: 1, faults: 1, last_at: TIME }],
    mcp: [{ server: T, state: T, tools: [TOOL, { ...TOOL, tool: "other" }] }],
    agents: [{ ...AGENT, dependencies: [{ name: T, status: T, reason: T }] }],
    processes: [
      {
        ...{ name: T, state: T, count: 1, ready: 0, calls: 1, waiting: 1, restarts: 9 },
        latency_ms: 1,
      },
    ],
  },
  "/api/contracts": {
    contracts: [
      {
        ...{ synthesis_id: T, agent_id: T, status: T, method: T, path: T, description: T },
        ...{ created_at: TIME, expires_at: TIME },
      },
    ],
  },
  "/api/nodes": {
    nodes: [{ node: T, address: T, version: T, since: TIME, state: T, lease_ms: 5 }],
  },
  "/api/passkeys": {
    ...{ origin: T, usable: true },
    passkeys: [{ id: T, name: T, created_at: TIME, used_at: TIME }],
  },
};

/** A value with the text in the place of each of its texts. */
function altered(value: unknown, text: string, member = ""): unknown {
  if (typeof value === "string") return KEPT.has(member) ? value : text;
  if (Array.isArray(value)) return value.map((one) => altered(one, text, member));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [name, altered(one, text, name)]);
  const named = NAMED.has(member) ? [[text, 1]] : [];
  return Object.fromEntries([...entries, ...named]);
}

/** Has the browser get such answers in the place of the daemon's. */
async function alterAnswers(page: Page, text: string): Promise<void> {
  await page.route("**/api/**", async (route: Route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === "/api/events") return route.fulfill({ status: 204 });
    const made = MADE[pathname];
    if (made !== undefined) return route.fulfill({ json: altered(made, text) });
    const response = await route.fetch();
    return route.fulfill({ response, json: altered(await response.json(), text) });
  });
}

/** A page of each kind that shows something. */
async function pathsOf(house: TestConsole): Promise<readonly string[]> {
  const operator = await house.signIn();
  const ids: string[] = [];
  for (const guest of ["Ada", "Grace"]) {
    const asked = await askHouse(house, ALMA, booking("7", { body: { guest } }));
    const id = String(asked.body["escalation_id"]);
    expect(id).toMatch(/^esc-/);
    ids.push(id);
    if (ids.length === 1) await operator.post(`/api/approvals/${id}`, { decision: "accepted" });
  }
  await look(house, "1");
  await operator.post(`/api/agents/${ALMA}`, { action: "suspend", reason: "audit" });
  await askHouse(house, ALMA, { method: "FROBNICATE", path: "/x" });
  const { entries } = (await operator.get("/api/traffic")).body;
  return [
    ...["/", "/traffic", `/traffic/${entries[0].response_id}`, "/approvals"],
    ...ids.map((id) => `/approvals/${id}`),
    ...["/agents", `/agents/${ALMA}`, "/endpoints", "/endpoints/BOOK/rooms/%7Broom%7D"],
    ...["/contracts", "/records", `/records/${ALMA}`, "/upstreams", "/account", "/nodes"],
  ];
}

describeInBrowser("no page is harmed by answers that are full of", () => {
  const opened = shareHouse();
  let paths: readonly string[] = [];
  beforeAll(async () => {
    paths = await pathsOf(opened());
  });

  it.each(Object.entries(TEXTS))("%s", async (_, text) => {
    const house = opened();
    const page = await openPage({ viewport: { width: 360, height: 800 } });
    await signIn(page, await house.link({ name: "Nina" }));
    await alterAnswers(page, text);
    // The session is asked for anew, and everything else as it is gone to.
    await page.goto(`${house.origin}/nodes`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    for (const path of paths) {
      await goWithin(page, path);
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        expect([path, width, await page.evaluate(HARM)]).toEqual([path, width, HARMLESS]);
      }
      const failed = page.getByRole("heading", { name: "This page failed" });
      expect([path, await failed.count()]).toEqual([path, 0]);
      const bodies = page.locator("main tbody tr, main .list-row");
      const heights = await bodies.evaluateAll((rows) => rows.map((row) => row.clientHeight));
      // A row stays one that can be looked over.
      for (const height of heights) expect([path, height < 1_600]).toEqual([path, true]);
    }
    expect(page.faults).toEqual([]);
  });
});
