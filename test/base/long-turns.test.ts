import { describe, expect, it } from "vitest";
import { LONG_OCTETS } from "../../src/base/json-bounds.ts";
import { inLongTurn, LongTurns } from "../../src/base/long-turns.ts";

/** Ends after so many further turns of the loop. */
async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("LongTurns", () => {
  it("begins the first at once, and each of the others in a turn of its own, in their order", async () => {
    const queue = new LongTurns();
    let turn = 0;
    const begun: (readonly [string, number])[] = [];
    for (const name of ["a", "b", "c"]) queue.take(() => begun.push([name, turn]));
    expect(begun).toEqual([["a", 0]]);
    for (turn = 1; turn < 5; turn += 1) await turns(1);
    const at = begun.map(([, when]) => when);
    expect(begun.map(([name]) => name)).toEqual(["a", "b", "c"]);
    expect(new Set(at).size).toBe(3);
  });

  it("lets nobody in before those that wait", async () => {
    const queue = new LongTurns();
    expect(queue.begin()).toBe(true);
    const begun: string[] = [];
    queue.take(() => begun.push("waited"));
    queue.take(() => begun.push("waited, too"));
    expect(queue.begin()).toBe(false);
    await turns(1);
    expect(queue.begin()).toBe(false);
    await turns(4);
    expect(begun).toEqual(["waited", "waited, too"]);
    expect(queue.begin()).toBe(true);
  });
});

describe("inLongTurn", () => {
  it("does what is short at once, however much long work was begun", async () => {
    const done: string[] = [];
    inLongTurn(LONG_OCTETS + 1, () => done.push("long"));
    inLongTurn(LONG_OCTETS + 1, () => done.push("long, too"));
    inLongTurn(LONG_OCTETS, () => done.push("short"));
    expect(done).toEqual(["long", "short"]);
    await turns(2);
    expect(done).toEqual(["long", "short", "long, too"]);
  });
});
