import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import { LargestFirst } from "../../src/state/largest-first.ts";

interface Thing {
  size: number;
  readonly number: number;
}

const largest = (one: Thing, other: Thing): number =>
  other.size - one.size || one.number - other.number;

describe("LargestFirst", () => {
  it("has all in their order, whatever was changed and deleted before", () => {
    const act = record({
      kind: constantFrom("set", "delete"),
      number: integer({ min: 0, max: 20 }),
      size: integer({ min: 0, max: 5 }),
    });
    assert(
      property(array(act, { maxLength: 60 }), (acts) => {
        const things = Array.from({ length: 21 }, (_, number): Thing => ({ number, size: 0 }));
        const there = new Set<Thing>();
        const inOrder = new LargestFirst<Thing>(largest);
        for (const { kind, number, size } of acts) {
          const thing = things[number] as Thing;
          if (kind === "delete") {
            there.delete(thing);
            inOrder.delete(thing);
          } else {
            thing.size = size;
            there.add(thing);
            inOrder.set(thing);
          }
          expect([...inOrder]).toEqual([...there].toSorted(largest));
        }
      }),
    );
  });

  it("compares few of many for a change, and for the first", () => {
    let compared = 0;
    const inOrder = new LargestFirst<Thing>((one, other) => {
      compared += 1;
      return largest(one, other);
    });
    const things = Array.from({ length: 10_000 }, (_, number): Thing => ({ number, size: number }));
    for (const thing of things) inOrder.set(thing);
    compared = 0;
    const [first] = inOrder;
    expect(first).toBe(things.at(-1));
    (first as Thing).size = -1;
    inOrder.set(first as Thing);
    const [second] = inOrder;
    expect(second).toBe(things.at(-2));
    expect(compared).toBeLessThan(50);
  });
});
