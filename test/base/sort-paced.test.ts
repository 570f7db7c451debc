import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce, sortPaced } from "../../src/base/paced.ts";

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
