/** Counts of what there is now, by key. */
import { describe, expect, it } from "vitest";
import { Tally } from "../../src/base/tally.ts";

describe("Tally", () => {
  it("counts each key by itself, and up and down", () => {
    const tally = new Tally();
    for (const key of ["a", "b", "a"]) tally.add(key);
    expect([tally.of("a"), tally.of("b"), tally.of("c")]).toEqual([2, 1, 0]);
    tally.remove("a");
    expect([tally.of("a"), tally.of("b")]).toEqual([1, 1]);
  });

  it("has none of what was taken away as often as it came, nor fewer than none", () => {
    const tally = new Tally();
    tally.add("a");
    for (let time = 0; time < 3; time += 1) tally.remove("a");
    expect(tally.of("a")).toBe(0);
    tally.add("a");
    expect(tally.of("a")).toBe(1);
  });
});
