import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mayBeJson } from "../../src/base/json-octets.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// RFC 8259
describe("mayBeJson", () => {
  const piece = fc.constantFrom(
    ...[
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"',
      "\\",
      " ",
      "\t",
      "\n",
      "\u00a0",
      "\ufeff",
      "\u0001",
      "é",
    ],
    ...["true", "false", "null", "tru", "NaN", "0", "1", "-", "+", ".", "e", "E", "12", "01", "-0"],
    ...[
      '"a"',
      '"a":',
      '"\\u00e9"',
      '"\\u00"',
      '"\\x"',
      '"\\/"',
      "\\u",
      "1e5",
      "1.5E-3",
      "[]",
      "{}",
    ],
  );

  it("takes for JSON exactly what the platform reads", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join("");
        expect([text, mayBeJson(Buffer.from(text), 64)]).toEqual([text, isJson(text)]);
      }),
      { numRuns: 3_000 },
    );
  });

  it("takes for JSON what is cut, or changed, only where it still is some", () => {
    const changed = fc.tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.nat(), piece);
    fc.assert(
      fc.property(changed, ([json, from, length, put]) => {
        const at = from % (json.length + 1);
        const text = json.slice(0, at) + put + json.slice(at + (length % 3));
        for (const one of [json, text, json.slice(0, at)]) {
          expect([one, mayBeJson(Buffer.from(one), 64)]).toEqual([one, isJson(one)]);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("leaves to the platform what is nested too deeply to be followed", () => {
    expect(mayBeJson(Buffer.from("[".repeat(65)), 64)).toBe(true);
    expect(mayBeJson(Buffer.from("[".repeat(64)), 64)).toBe(false);
  });
});
