/** What a client brings back with the answer to a question.   MCP "Multi Round-Trip Requests" */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestStates } from "../../../../src/modules/mcp/contracts/front-contracts.ts";
import { openSecret } from "../../../../src/state/kept-secret.ts";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";

const ASKED = { caller: "a for ada", tool: "book_rooms", arguments: { room: "double", n: [1, 2] } };
const LATE = Number.MAX_SAFE_INTEGER;
const PLACE = { collection: "secrets", key: "one" };

function statesAt(clock: { now: number }, secret = "s"): RequestStates {
  return new RequestStates(Buffer.alloc(32, secret), () => clock.now);
}

function issue(states: RequestStates, offeredUntil: number): string {
  return states.issue(ASKED, "syn-1", offeredUntil) ?? "";
}

describe("RequestStates", () => {
  it("names the contract to whoever was asked, for ten minutes", () => {
    const clock = { now: 1_000 };
    const states = statesAt(clock);
    const state = issue(states, LATE);
    clock.now += 599_999;
    expect(states.read(state, ASKED)).toBe("syn-1");
    clock.now += 1;
    expect(states.read(state, ASKED)).toBeUndefined();
  });

  it("names it no longer than it is offered", () => {
    const clock = { now: 1_000 };
    const states = statesAt(clock);
    const state = issue(states, 2_000);
    expect(states.read(state, ASKED)).toBe("syn-1");
    clock.now = 2_000;
    expect(states.read(state, ASKED)).toBeUndefined();
  });

  it.each([
    ["another caller", { ...ASKED, caller: "a for eve" }],
    ["another tool", { ...ASKED, tool: "book_room" }],
    ["other arguments", { ...ASKED, arguments: { room: "double", n: [2, 1] } }],
    ["further arguments", { ...ASKED, arguments: { ...ASKED.arguments, x: null } }],
    ["parts cut elsewhere", { ...ASKED, caller: "a for adab", tool: "ook_rooms" }],
  ])("names it to nobody for %s", (_, asked) => {
    const states = statesAt({ now: 0 });
    expect(states.read(issue(states, LATE), asked)).toBeUndefined();
  });

  it("takes the same arguments in any order of members", () => {
    const states = statesAt({ now: 0 });
    const state = issue(states, LATE);
    const { room, n } = ASKED.arguments;
    expect(states.read(state, { ...ASKED, arguments: { n, room } })).toBe("syn-1");
  });

  it("has none for arguments without a canonical form, and takes none with them", () => {
    const states = statesAt({ now: 0 });
    const asked = { ...ASKED, arguments: { room: "\ud800" } };
    expect(states.issue(asked, "syn-1", LATE)).toBeUndefined();
    expect(states.read(issue(states, LATE), asked)).toBeUndefined();
  });

  it("takes nothing that another server has signed", () => {
    const state = issue(statesAt({ now: 0 }, "t"), LATE);
    expect(statesAt({ now: 0 }).read(state, ASKED)).toBeUndefined();
  });

  it("takes no text that was not issued, and throws for none", () => {
    const states = statesAt({ now: 0 });
    const state = issue(states, LATE);
    const [payload = "", signature = ""] = state.split(".");
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: "binary" }).map((text) => `${payload}.${text}`),
      fc.string({ unit: "binary" }).map((text) => `${text}.${signature}`),
      fc.nat(state.length - 1).map((at) => state.slice(0, at)),
    );
    fc.assert(fc.property(texts, (text) => states.read(text, ASKED) === undefined));
  });
});

describe("openSecret", () => {
  it("gives the same secret of a store to whoever opens it, however they meet", async () => {
    const store = createMemoryStore();
    const both = await Promise.all([openSecret(store, PLACE), openSecret(store, PLACE)]);
    const secrets = [...both, await openSecret(store, PLACE)].map((one) => one.toString("hex"));
    expect(new Set(secrets).size).toBe(1);
    expect(secrets[0]).toMatch(/^[0-9a-f]{64}$/);
    const other = await openSecret(store, { ...PLACE, key: "two" });
    expect(other.toString("hex")).not.toBe(secrets[0]);
  });
});
