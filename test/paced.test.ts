import { describe, expect, it } from "vitest";
import { atOnce, mapPaced, type Paced, Pacer } from "../src/paced.ts";
import { countTurns } from "./support/event-loop.ts";

function* count(steps: number, log: string[] = [], name = ""): Paced<number> {
  for (let step = 0; step < steps; step += 1) {
    log.push(name);
    yield;
  }
  return steps;
}

/** A pacer to which every look at the clock is a millisecond. */
function countingPacer(sliceMs: number): Pacer {
  let now = 0;
  return new Pacer({ sliceMs, now: () => now++ });
}

describe("a pacer", () => {
  it("gives others their turn after each slice, and does all of the work", async () => {
    const others = countTurns();
    expect(await countingPacer(10).run(count(200))).toBe(200);
    others.stop();
    expect(others.turns).toBeGreaterThanOrEqual(20);
    expect(others.turns).toBeLessThan(40);
  });

  it("does one slice of one work a round, however many there are", async () => {
    const pacer = countingPacer(4);
    const log: string[] = [];
    await Promise.all(["a", "b", "c"].map((name) => pacer.run(count(8, log, name))));
    expect(log.join("").slice(0, 12)).toBe("aaaabbbbcccc");
  });

  it("ends with the fault of the work, and goes on with the next", async () => {
    const pacer = countingPacer(4);
    const broken = pacer.run(
      mapPaced([1], () => {
        throw new Error("broken");
      }),
    );
    const next = pacer.run(count(3));
    await expect(broken).rejects.toThrow("broken");
    expect(await next).toBe(3);
  });

  it("stops where nobody waits any more", async () => {
    const gone = new AbortController();
    const log: string[] = [];
    const work = countingPacer(1).run(count(1000, log), gone.signal);
    setImmediate(() => gone.abort(new Error("gone")));
    await expect(work).rejects.toThrow("gone");
    expect(log.length).toBeLessThan(100);
  });
});

describe("atOnce", () => {
  it("does the same without a pause", () => {
    expect(atOnce(mapPaced([1, 2, 3], (value) => value * 2))).toEqual([2, 4, 6]);
  });
});
