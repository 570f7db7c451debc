import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closeMatches, compileCloseMatches } from "../../src/base/close-matches.ts";

const VERBS = [
  "BOOK",
  "BLOCK",
  "QUERY",
  "RESERVE",
  "PAY",
  "BUY",
  "SUBSCRIBE",
  "NEGOTIATE",
  "AUDIT",
];

describe("closeMatches", () => {
  it.each([
    ["BOK", ["BOOK"]],
    ["BOOKK", ["BOOK", "BLOCK"]],
    ["BOKO", ["BOOK"]],
    ["QUERYY", ["QUERY"]],
    ["RESREVE", ["RESERVE"]],
    ["PYA", ["PAY"]],
    ["SUBSCRIBE_", ["SUBSCRIBE"]],
    ["X-NEGOTIATE", ["NEGOTIATE"]],
    ["FROBNICATE", []],
    ["", []],
  ])("suggests for %j the verbs %j", (name, expected) => {
    expect(closeMatches(name, VERBS)).toEqual(expected);
  });

  it("does not mind letter case", () => {
    expect(closeMatches("book", VERBS)).toEqual(["BOOK", "BLOCK"]);
    expect(closeMatches("Url", ["url", "method"])).toEqual(["url"]);
  });

  it("puts names that merely begin alike last", () => {
    expect(closeMatches("AUDITLOGS", ["AUDIT", "AUDITLOG"])).toEqual(["AUDITLOG", "AUDIT"]);
    expect(closeMatches("AUTH", ["AUTHORIZE", "AUTHENTICATE"])).toEqual([
      "AUTHENTICATE",
      "AUTHORIZE",
    ]);
  });

  it("allows a short name one edit only", () => {
    expect(closeMatches("PAX", ["PAY", "BUY"])).toEqual(["PAY"]);
  });

  it("orders by distance, then by name, and keeps to the maximum", () => {
    const candidates = ["TASK", "MASK", "ASK", "MARK", "BASK"];
    expect(closeMatches("MASK", candidates)).toEqual(["MASK", "ASK", "BASK"]);
    expect(closeMatches("MASK", candidates.toReversed(), 5)).toEqual([
      "MASK",
      "ASK",
      "BASK",
      "MARK",
      "TASK",
    ]);
    expect(closeMatches("MASK", candidates, 0)).toEqual([]);
  });

  it("has nothing to say about a name of thousands of letters", () => {
    expect(closeMatches("BOOK".repeat(2048), VERBS)).toEqual([]);
    expect(closeMatches("BOOK", ["BOOK".repeat(2048)])).toEqual([]);
  });
});

describe("compileCloseMatches", () => {
  const characters = fc
    .array(fc.nat(0xffff), { maxLength: 100 })
    .map((codes) => String.fromCharCode(...codes));
  const letters = fc.string({ unit: fc.constantFrom("A", "B", "C", "-"), maxLength: 7 });

  it("finds exactly the names within two edits, or one for the short, and those that begin alike", () => {
    fc.assert(
      fc.property(letters, letters, (name, candidate) => {
        const shorter = Math.min(name.length, candidate.length);
        const near = referenceDistance(name, candidate) <= (shorter <= 3 ? 1 : 2);
        const alike = shorter >= 4 && (name.startsWith(candidate) || candidate.startsWith(name));
        const expected = name !== "" && (near || alike) ? [candidate] : [];
        expect(compileCloseMatches([candidate])(name)).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it("never throws", () => {
    const match = compileCloseMatches(VERBS);
    fc.assert(
      fc.property(characters, (name) => {
        expect(match(name).length).toBeLessThanOrEqual(3);
      }),
    );
  });
});

/** Optimal string alignment by the textbook: the whole table, no shortcut. */
function referenceDistance(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const options = [
        table[i - 1]![j]! + 1,
        table[i]![j - 1]! + 1,
        table[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1),
      ];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        options.push(table[i - 2]![j - 2]! + 1);
      }
      table[i]![j] = Math.min(...options);
    }
  }
  return table[a.length]![b.length]!;
}
