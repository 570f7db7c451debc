import { describe, expect, it } from "vitest";
import { Holdings } from "../../src/tasks/holdings.ts";

const LIMITS = { openPerAgent: 2, perAgent: 3, open: 4, all: 6 };

/** Holdings of so many for each agent, and which of them are closed with what rank. */
function hold(
  counts: Readonly<Record<string, number>>,
  closed: Readonly<Record<string, number>> = {},
) {
  const holdings = new Holdings(LIMITS);
  for (const [agent, count] of Object.entries(counts)) {
    for (let index = 0; index < count; index += 1) holdings.add(agent, `${agent}${index}`);
  }
  return (agent: string) => holdings.surplus(agent, (id) => closed[id]);
}

describe("Holdings", () => {
  it("has room for an agent that has nothing", () => {
    expect(hold({})("a")).toEqual([]);
  });

  it("has no room for an agent that waits for as much as one may", () => {
    const surplus = hold({ a: 2 });
    expect(surplus("a")).toBeUndefined();
    expect(surplus("b")).toEqual([]);
  });

  it("has room for what is over from the start, whatever else is waited for", () => {
    const holdings = new Holdings(LIMITS);
    for (const id of ["one", "two"]) holdings.add("a", id);
    expect(holdings.surplus("a", () => undefined)).toBeUndefined();
    expect(holdings.surplus("a", () => undefined, false)).toEqual([]);
  });

  it("lets the lowest rank of the agent go first, then the oldest", () => {
    expect(hold({ a: 3 }, { a0: 1, a1: 0, a2: 0 })("a")).toEqual(["a1"]);
    expect(hold({ a: 3 }, { a0: 1, a1: 1 })("a")).toEqual(["a0"]);
  });

  it("lets nothing that is waited for go, however much there is of it in all", () => {
    const surplus = hold({ a: 2, b: 2 });
    expect(surplus("c")).toBeUndefined();
  });

  it("lets what is over go, whoever's, once there is too much in all", () => {
    const closed = { a1: 1, a2: 1, b1: 0, b2: 1 };
    expect(hold({ a: 3, b: 3 }, closed)("c")).toEqual(["b1"]);
  });

  it("forgets what was deleted", () => {
    const holdings = new Holdings(LIMITS);
    holdings.add("a", "one");
    holdings.add("a", "two");
    holdings.delete("one");
    holdings.delete("none");
    expect(holdings.surplus("a", () => undefined)).toEqual([]);
  });
});
