import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Placed, PlacedSet } from "../../src/base/placed-set.ts";

interface Named extends Placed {
  readonly name: number;
}

function named(name: number): Named {
  return { name, place: -1 };
}

describe("PlacedSet", () => {
  it("has the members of a Set, whatever comes and goes", () => {
    const step = fc.record({ name: fc.nat(12), isAdded: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const members = Array.from({ length: 13 }, (_, name) => named(name));
        const placed = new PlacedSet<Named>();
        const set = new Set<number>();
        for (const { name, isAdded } of steps) {
          const member = members[name] ?? named(name);
          if (isAdded && !set.has(name)) placed.add(member);
          if (!isAdded) placed.delete(member);
          if (isAdded) set.add(name);
          else set.delete(name);
          expect(placed.size).toBe(set.size);
          expect(new Set([...placed].map((one) => one.name))).toEqual(set);
        }
      }),
    );
  });

  it("lets nobody else go for a member of another set", () => {
    const placed = new PlacedSet<Named>();
    const other = new PlacedSet<Named>();
    const [own, stranger] = [named(1), named(2)];
    placed.add(own);
    other.add(stranger);
    placed.delete(stranger);
    expect([...placed]).toEqual([own]);
    expect([...other]).toEqual([stranger]);
  });

  it("goes through those that were there when it began", () => {
    const placed = new PlacedSet<Named>();
    for (let name = 0; name < 5; name += 1) placed.add(named(name));
    const seen: number[] = [];
    for (const member of placed) {
      seen.push(member.name);
      placed.delete(member);
    }
    expect(seen).toEqual([0, 1, 2, 3, 4]);
    expect(placed.size).toBe(0);
  });
});
