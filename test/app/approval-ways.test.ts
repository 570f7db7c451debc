/** One approval, one call, whichever way the call comes: attacked over each.   docs/approvals.md */

import { afterEach, describe, expect, it, vi } from "vitest";
import {
  makeOperator,
  openWays,
  WAYS,
  type Way,
  type WayAnswer,
  type WaysServer,
} from "../support/approval-ways.ts";
import { BORIS, booking, ranIn } from "../support/approving.ts";
import { askOnce } from "../support/daemon.ts";
import { refusalOf } from "../support/waiting.ts";

afterEach(() => void vi.useRealTimers());

const OPERATOR = makeOperator();
const CALL = { room: "7", guest: "Ada" };
const open = (): Promise<WaysServer> => openWays(OPERATOR);

async function questionOver(server: WaysServer, way: Way): Promise<string> {
  const { outcome, escalationId, record } = await way.ask(server, CALL);
  expect(outcome).toBe("approval-required");
  expect(record).toMatchObject({ escalation_id: escalationId });
  return String(escalationId);
}

async function approvedOver(server: WaysServer, way: Way): Promise<string> {
  const id = await questionOver(server, way);
  expect((await server.decide(id, "accepted")).status).toBe(200);
  return id;
}

/** The refusal is in the record, by the escalation that was brought, and nothing ran. */
function expectRefused(answer: WayAnswer, code: string, id: string): void {
  expect(answer.outcome).toBe(code);
  expect(answer.record).toMatchObject({ escalation_id: id });
}

// formats §9: over AGTP, HTTP, MCP, compositions and EXECUTE alike.
describe.each(WAYS)("an approval over $name", (way) => {
  it("is asked for, waited for, and good for one call", async () => {
    const server = await open();
    const id = await questionOver(server, way);
    expectRefused(await way.ask(server, CALL, id), "approval-required", id);
    expect(ranIn(server)).toEqual([]);
    await server.decide(id, "accepted");
    const done = await way.ask(server, CALL, id);
    expectRefused(done, "done", id);
    expect(ranIn(server)).toEqual(["book 7 Ada"]);
    expectRefused(await way.ask(server, CALL, id), "approval-used", id);
    expect(ranIn(server)).toHaveLength(1);
  });

  it("lets one of 50 that come at once run", async () => {
    const server = await open();
    const id = await approvedOver(server, way);
    const answers = await Promise.all(Array.from({ length: 50 }, () => way.ask(server, CALL, id)));
    const outcomes = answers.map(({ outcome }) => outcome).toSorted();
    expect(outcomes).toEqual([...Array.from({ length: 49 }, () => "approval-used"), "done"]);
    expect(ranIn(server)).toHaveLength(1);
  });

  it.each([
    ["arguments", { room: "7", guest: "Bob" }],
    ["path", { room: "8", guest: "Ada" }],
  ])("is not for other %s, which use nothing up", async (_, altered) => {
    const server = await open();
    const id = await approvedOver(server, way);
    expectRefused(await way.ask(server, altered, id), "approval-mismatch", id);
    expect(ranIn(server)).toEqual([]);
    expect((await way.ask(server, CALL, id)).outcome).toBe("done");
  });

  it("is not for another agent", async () => {
    const server = await open();
    const request = booking("7", { headers: { "Agent-ID": BORIS } });
    const asked = await askOnce(server, request);
    expect(refusalOf(asked)).toEqual([262, "approval-required"]);
    const id = String(asked.body["escalation_id"]);
    await server.decide(id, "accepted");
    expectRefused(await way.ask(server, CALL, id), "approval-mismatch", id);
    expect(ranIn(server)).toEqual([]);
  });

  it.each(["endpoint", "policy"] as const)("is not for another %s", async (what) => {
    const server = await open();
    const id = await approvedOver(server, way);
    await server.change(what, way);
    expectRefused(await way.ask(server, CALL, id), "approval-mismatch", id);
    expect(ranIn(server)).toEqual([]);
    const fresh = await approvedOver(server, way);
    expect((await way.ask(server, CALL, fresh)).outcome).toBe("done");
  });

  it("is over when its time is", async () => {
    const server = await open();
    const id = await approvedOver(server, way);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_601_000 });
    expectRefused(await way.ask(server, CALL, id), "approval-expired", id);
    expect(ranIn(server)).toEqual([]);
  });

  it.each(["refused", "withdrawn"])("is none once it was %s", async (how) => {
    const server = await open();
    const id = await questionOver(server, way);
    if (how === "withdrawn") await server.decide(id, "accepted");
    expect((await server.decide(id, "rejected")).status).toBe(200);
    expectRefused(await way.ask(server, CALL, id), "approval-rejected", id);
    expect(ranIn(server)).toEqual([]);
  });
});

describe("an approval that is brought over all ways at once", () => {
  it("lets one of 50 run", async () => {
    const server = await open();
    const ways = WAYS.filter(({ endpoint }) => endpoint === "book");
    const [first] = ways;
    const id = await approvedOver(server, first as Way);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => (ways[at % ways.length] as Way).ask(server, CALL, id)),
    );
    expect(answers.filter(({ outcome }) => outcome === "done")).toHaveLength(1);
    expect(answers.filter(({ outcome }) => outcome === "approval-used")).toHaveLength(49);
    expect(ranIn(server)).toEqual(["book 7 Ada"]);
  });
});
