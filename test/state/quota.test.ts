import { describe, expect, it } from "vitest";
import { Holdings, type Quota } from "../../src/state/quota.ts";
import { growthOf } from "../support/growth.ts";

const QUOTA: Quota = { openPerOwner: 2, perOwner: 3, open: 4, all: 6 };

/** Holdings of so many for each owner, and which of them can be done without, with what rank. */
function hold(
  counts: Readonly<Record<string, number>>,
  closed: Readonly<Record<string, number>> = {},
  quota: Quota = QUOTA,
) {
  const holdings = new Holdings(quota);
  for (const [owner, count] of Object.entries(counts)) {
    for (let index = 0; index < count; index += 1) holdings.set(`${owner}${index}`, owner, 10);
  }
  return (owner: string, wanted = {}) =>
    holdings.surplus({ owner, characters: 10, rank: undefined, ...wanted }, (key) => closed[key]);
}

describe("Holdings", () => {
  it("have room for an owner that has nothing", () => {
    expect(hold({})("a")).toEqual([]);
  });

  it("have no room for an owner that waits for as much as one may", () => {
    const surplus = hold({ a: 2 });
    expect(surplus("a")).toBeUndefined();
    expect(surplus("b")).toEqual([]);
  });

  it("have room for what is over from the start, whatever else is waited for", () => {
    const surplus = hold({ a: 2 });
    expect(surplus("a", { rank: 0 })).toEqual([]);
  });

  it("let the lowest rank of the owner go first, then the oldest", () => {
    expect(hold({ a: 3 }, { a0: 1, a1: 0, a2: 0 })("a")).toEqual(["a1"]);
    expect(hold({ a: 3 }, { a0: 1, a1: 1 })("a")).toEqual(["a0"]);
  });

  it("let nothing that is waited for go, however much there is of it in all", () => {
    expect(hold({ a: 2, b: 2 })("c")).toBeUndefined();
  });

  it("let what is over go, whoever's, once there is too much in all", () => {
    const closed = { a1: 1, a2: 1, b1: 0, b2: 1 };
    expect(hold({ a: 3, b: 3 }, closed)("c")).toEqual(["b1"]);
  });

  it("spare others where the quota says so, and use the owner's own", () => {
    const closed = { a0: 0, a1: 0, b0: 0 };
    const quota = { perOwner: 2, all: 3, sparesOthers: true };
    expect(hold({ a: 2, b: 1 }, closed, quota)("c")).toBeUndefined();
    expect(hold({ a: 2, b: 1 }, closed, quota)("a")).toEqual(["a0"]);
  });

  it("bound the characters of all, whoever's they are", () => {
    const closed = { a0: 1, b0: 0 };
    expect(hold({ a: 1, b: 1 }, closed, { characters: 30 })("c")).toEqual([]);
    expect(hold({ a: 1, b: 1 }, closed, { characters: 20 })("c")).toEqual(["b0"]);
    expect(hold({ a: 1, b: 1 }, closed, { characters: 15 })("c")).toEqual(["b0", "a0"]);
    expect(hold({ a: 1, b: 1 }, {}, { characters: 20 })("c")).toBeUndefined();
  });

  it("bound the characters of an owner, but for one item that is too large alone", () => {
    const closed = { a0: 0, a1: 0, a2: 0 };
    const quota = { charactersPerOwner: 30 };
    expect(hold({ a: 2 }, closed, quota)("a")).toEqual([]);
    expect(hold({ a: 3 }, closed, quota)("a")).toEqual(["a0"]);
    expect(hold({ a: 3 }, closed, quota)("a", { characters: 20 })).toEqual(["a0", "a1"]);
    expect(hold({ a: 3 }, closed, quota)("a", { characters: 99 })).toEqual(["a0", "a1", "a2"]);
  });

  it.each<Quota>([{ charactersPerOwner: 30 }, { characters: 30 }])(
    "within %j give back what went, and what was made smaller",
    (quota) => {
      const holdings = new Holdings(quota);
      const hasRoom = (characters: number): boolean =>
        holdings.surplus({ owner: "a", characters, rank: undefined }, () => undefined) !==
        undefined;
      for (const key of ["a0", "a1", "a2"]) holdings.set(key, "a", 10);
      expect(hasRoom(1)).toBe(false);
      holdings.delete("a0");
      holdings.set("a1", "a", 5);
      expect([15, 16].map(hasRoom)).toEqual([true, false]);
    },
  );

  it("let whoever has most make room, where the quota says so, by count or by size", () => {
    const closed = { a0: 0, b0: 0, b1: 0, b2: 0 };
    const counts = { a: 1, b: 3 };
    expect(hold(counts, closed, { all: 4, takesFromLargest: true })("c")).toEqual(["b0"]);
    const large = new Holdings({ characters: 100, takesFromLargest: true });
    large.set("a0", "a", 80);
    for (const key of ["b0", "b1", "b2"]) large.set(key, "b", 5);
    const wanted = { owner: "b", characters: 10, rank: 0 };
    expect(large.surplus(wanted, () => 0)).toEqual(["a0"]);
    expect(large.surplus({ ...wanted, characters: 100 }, () => 0)).toEqual([
      "a0",
      "b0",
      "b1",
      "b2",
    ]);
  });

  it("take no longer to find who has most among very many, by count or by size", async () => {
    const AT_ONCE = 200;
    const find = (bound: "all" | "characters", owners: number) => {
      const quota: Quota = bound === "all" ? { all: owners } : { characters: owners * 10 };
      const holdings = new Holdings({ ...quota, takesFromLargest: true });
      for (let owner = 0; owner < owners; owner += 1) holdings.set(`${owner}`, `of ${owner}`, 10);
      return (): void => {
        for (let count = 0; count < AT_ONCE; count += 1) {
          const wanted = { owner: "new", characters: 10, rank: 0 };
          expect(holdings.surplus(wanted, () => 0)).toEqual(["0"]);
        }
      };
    };
    for (const bound of ["all", "characters"] as const) {
      const made = new Map([1_000, 8_000].map((owners) => [owners, find(bound, owners)]));
      const work = (owners: number) => made.get(owners)?.();
      expect(await growthOf(work, 1_000, 0.5)).toBeLessThan(0.5);
    }
  });

  it("look at one of all that may go, where as many as may be are there, for one that never goes", () => {
    const holdings = new Holdings({ all: 1_000 });
    for (let index = 0; index < 1_000; index += 1) holdings.set(`${index}`, "a", 10);
    const looked = new Set<string>();
    const surplus = holdings.surplus({ owner: "b", characters: 10, rank: undefined }, (key) => {
      looked.add(key);
      return 0;
    });
    expect(surplus).toEqual(["0"]);
    expect([...looked]).toEqual(["0"]);
  });

  it("refuse nothing, where the quota says so, and let go what may", () => {
    const quota = { ...QUOTA, refusesNothing: true };
    expect(hold({ a: 3, b: 3 }, {}, quota)("a")).toEqual([]);
    expect(hold({ a: 3, b: 3 }, { b1: 0 }, quota)("c")).toEqual(["b1"]);
  });

  it("let others of its owner go for one that grows, and neither itself nor what has no size", () => {
    const holdings = new Holdings({ perOwner: 3, charactersPerOwner: 30 });
    for (const [key, size] of [
      ["none", 0],
      ["old", 10],
      ["new", 10],
    ] as const) {
      holdings.set(key, "a", size);
    }
    const grow = (growing: string, characters: number) =>
      holdings.surplus({ owner: "a", characters, rank: 0, growing }, () => 0);
    expect(grow("new", 10)).toEqual([]);
    expect(grow("new", 15)).toEqual(["old"]);
    expect(grow("old", 99)).toEqual(["new"]);
  });

  it("forget what was deleted, and count anew what has another size or owner", () => {
    const holdings = new Holdings({ perOwner: 2, charactersPerOwner: 100 });
    const surplus = (owner: string, characters = 10) =>
      holdings.surplus({ owner, characters, rank: 0 }, () => undefined);
    holdings.set("one", "a", 10);
    holdings.set("two", "a", 10);
    expect(surplus("a")).toBeUndefined();
    holdings.delete("one");
    holdings.delete("none");
    expect(surplus("a")).toEqual([]);
    holdings.set("two", "a", 95);
    expect(surplus("a")).toBeUndefined();
    holdings.set("two", "b", 95);
    expect(surplus("a")).toEqual([]);
    expect([...holdings.keysOf("a")]).toEqual([]);
    expect([...holdings.keysOf("b")]).toEqual(["two"]);
  });
});
