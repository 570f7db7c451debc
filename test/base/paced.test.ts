import { describe, expect, it } from "vitest";
import { atOnce, mapPaced } from "../../src/base/paced.ts";

describe("paced work", () => {
  it("can be interrupted after each part of a list", () => {
    const work = mapPaced([1, 2, 3], (value) => value * 2);
    let steps = 0;
    while (work.next().done !== true) steps += 1;
    expect(steps).toBe(3);
  });

  it("is the same done at once", () => {
    expect(atOnce(mapPaced([1, 2, 3], (value) => value * 2))).toEqual([2, 4, 6]);
  });
});
