import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareKeys, compileRange } from "../../src/state/key-range.ts";

const text = fc.string({ unit: fc.constantFrom("a", "b", "\ud7ff", "\uffff", "😀", "\u{10ffff}") });

const octets = (left: string, right: string): number =>
  Buffer.compare(Buffer.from(left), Buffer.from(right));

describe("compareKeys", () => {
  it("orders texts as their UTF-8 octets", () => {
    const anyText = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(fc.oneof(text, anyText), fc.oneof(text, anyText), (left, right) => {
        expect(Math.sign(compareKeys(left, right))).toBe(octets(left, right));
      }),
    );
  });
});

describe("compileRange", () => {
  it("covers just the keys that the range is about", () => {
    const range = fc.record(
      { prefix: text, after: text, isReversed: fc.boolean() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(range, text, (given, key) => {
        const { from, below } = compileRange(given);
        const isCovered = octets(key, from) >= 0 && (below === undefined || octets(key, below) < 0);
        const { prefix = "", after, isReversed } = given;
        const isBeyond =
          after === undefined || (isReversed ? octets(key, after) < 0 : octets(key, after) > 0);
        expect(isCovered).toBe(key.startsWith(prefix) && isBeyond);
      }),
      { numRuns: 500 },
    );
  });
});
