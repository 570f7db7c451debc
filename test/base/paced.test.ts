import { describe, expect, it } from "vitest";
import { atOnce, filterPaced, findPaced, mapPaced } from "../../src/base/paced.ts";

describe("paced work", () => {
  it("can be interrupted after each part of a list", () => {
    const work = mapPaced([1, 2, 3], (value) => value * 2);
    let steps = 0;
    while (work.next().done !== true) steps += 1;
    expect(steps).toBe(3);
  });

  it("filters as a list does, and looks at nothing behind what it was to find", () => {
    const looked: number[] = [];
    const isEven = (value: number): boolean => {
      looked.push(value);
      return value % 2 === 0;
    };
    expect(atOnce(filterPaced([1, 2, 3, 4], isEven))).toEqual([2, 4]);
    expect(looked.splice(0)).toEqual([1, 2, 3, 4]);
    expect(atOnce(findPaced([1, 2, 3, 4], isEven))).toBe(2);
    expect(looked).toEqual([1, 2]);
    expect(atOnce(findPaced([1], isEven))).toBeUndefined();
  });

  it("is the same done at once", () => {
    expect(atOnce(mapPaced([1, 2, 3], (value) => value * 2))).toEqual([2, 4, 6]);
  });
});
