import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce, filterPaced, findPaced, mapPaced, sortPaced } from "../../src/base/paced.ts";

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

describe("sorting in steps", () => {
  it("gives what sorting at once gives, equals in their order", () => {
    const items = fc.array(fc.record({ key: fc.integer({ min: 0, max: 40 }), id: fc.nat() }), {
      maxLength: 3000,
      size: "max",
    });
    fc.assert(
      fc.property(items, (list) => {
        const compare = (one: { key: number }, other: { key: number }) => one.key - other.key;
        expect(atOnce(sortPaced(list, compare))).toEqual(list.toSorted(compare));
      }),
      { numRuns: 20 },
    );
  });

  it("compares no more than a few thousand times between two steps", () => {
    const list = Array.from({ length: 50_000 }, (_, at) => (at * 7919) % 50_021);
    let compared = 0;
    let most = 0;
    const work = sortPaced(list, (one, other) => {
      compared += 1;
      return one - other;
    });
    for (let step = work.next(); step.done !== true; step = work.next()) {
      most = Math.max(most, compared);
      compared = 0;
    }
    expect(most).toBeLessThan(8000);
  });
});
