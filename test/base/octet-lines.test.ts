import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OctetLines } from "../../src/base/line-reader.ts";

const tooLong = () => new Error("too long");

function linesOf(pieces: readonly Buffer[], maxOctets: number): readonly string[] {
  const lines = new OctetLines(maxOctets, tooLong);
  return pieces.flatMap((piece) => [...lines.take(piece)].map((line) => line.toString("latin1")));
}

describe("OctetLines", () => {
  it("finds the same lines wherever the octets are cut", () => {
    const piece = fc.constantFrom("", "a", "\n", "bc\n", "\n\n", "def", "g\nh\ni");
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const whole = pieces.join("").split("\n").slice(0, -1);
        expect(
          linesOf(
            pieces.map((one) => Buffer.from(one)),
            1_000,
          ),
        ).toEqual(whole);
      }),
    );
  });

  it("throws for a line that is longer than it may be, once that is known", () => {
    const pieces = (...texts: readonly string[]) => texts.map((text) => Buffer.from(text));
    expect(linesOf(pieces("abcd", "\nabc"), 4)).toEqual(["abcd"]);
    expect(() => linesOf(pieces("abc", "de"), 4)).toThrow("too long");
  });
});
