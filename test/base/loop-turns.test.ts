import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LONG_OCTETS } from "../../src/base/json-bounds.ts";
import { inLongTurn, LoopTurns } from "../../src/base/loop-turns.ts";

/** Ends after so many further turns of the loop. */
async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("LoopTurns", () => {
  it("begins the first at once, and each of the others in a turn of its own, in their order", async () => {
    const queue = new LoopTurns();
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
    const queue = new LoopTurns();
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

describe("LoopTurns with a share", () => {
  /** Pieces of a millisecond each, some of which leave so many more for the end of their callback. */
  function startPieces(leave: number) {
    let now = performance.now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const begun: number[] = [];
    const queue = new LoopTurns(4);
    const piece = (number: number) => (): void => {
      begun.push(number);
      now += 1;
      process.nextTick(() => {
        now += leave;
      });
    };
    for (let number = 0; number < 20; number += 1) queue.take(piece(number));
    return { begun, queue };
  }

  it("begins so much in a turn, and the rest in the next ones, in its order", async () => {
    const { begun } = startPieces(0);
    expect(begun).toEqual([0, 1, 2, 3]);
    const lengths: number[] = [];
    while (begun.length < 20) {
      await turns(1);
      lengths.push(begun.length);
    }
    expect(begun).toEqual(Array.from({ length: 20 }, (_, number) => number));
    const [first = 0] = lengths;
    expect(first).toBeLessThanOrEqual(8);
    expect(lengths.length).toBeGreaterThanOrEqual(4);
  });

  it("counts what a piece leaves for the end of its callback", async () => {
    const { begun } = startPieces(10);
    const before = begun.length;
    for (let turn = 1; begun.length < 20; turn += 1) {
      await turns(1);
      expect(begun.length - before).toBeLessThanOrEqual(turn);
    }
  });

  it("lets nobody in before those that wait, though a share is left", () => {
    const { begun, queue } = startPieces(0);
    queue.take(() => begun.push(-1));
    expect(begun).not.toContain(-1);
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
