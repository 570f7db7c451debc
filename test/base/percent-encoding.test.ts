import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodePart, plainPath } from "../../src/base/percent-encoding.ts";

describe("decodePart", () => {
  const octet = fc.nat(0xff).map((value) => `%${value.toString(16).padStart(2, "0")}`);
  const piece = fc.constantFrom("%", "a", "4", "é", "%C3%A9", "%F0%9F%98%80", "%2f", "%E2%82");

  it("decodes exactly what the platform decodes, and throws for nothing", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(octet, piece), { maxLength: 8 }), (pieces) => {
        const text = pieces.join("");
        let expected: string | undefined;
        try {
          expected = decodeURIComponent(text);
        } catch {
          expected = undefined;
        }
        expect(decodePart(text)).toBe(expected);
      }),
    );
  });
});

describe("plainPath", () => {
  it("changes no segment's text, and nothing of its own", () => {
    const piece = fc.constantFrom(
      "/",
      "a",
      "%41",
      "%2f",
      "%25",
      "%2e",
      "%c3%a9",
      "%C3%A9",
      "%40",
      "@",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const path = pieces.join("");
        const plain = plainPath(path);
        expect(plain.split("/").map(decodePart)).toEqual(path.split("/").map(decodePart));
        expect(plainPath(plain)).toBe(plain);
        expect(plain).not.toMatch(/%(?:4|2e|[0-9A-F]?[a-f])/);
      }),
    );
  });
});
