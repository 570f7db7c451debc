import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SpreadMap } from "../../src/base/spread-map.ts";

describe("SpreadMap", () => {
  it("keeps what a Map keeps", () => {
    const pairs = fc.array(fc.tuple(fc.string({ maxLength: 60 }), fc.nat()));
    fc.assert(
      fc.property(pairs, fc.string(), (entries, other) => {
        const plain = new Map(entries);
        const spread = new SpreadMap<number>();
        for (const [key, value] of entries) spread.set(key, value);
        expect(spread.size).toBe(plain.size);
        for (const key of [...plain.keys(), other]) expect(spread.get(key)).toBe(plain.get(key));
        expect(new Map(spread.entries())).toEqual(plain);
        for (const key of [...[...plain.keys()].slice(1), other]) {
          spread.delete(key);
          plain.delete(key);
        }
        expect([...spread.entries()]).toEqual([...plain]);
        expect(spread.size).toBe(plain.size);
      }),
    );
  });
});
