import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createResponseCounter } from "../../../tools/bench/response-counter.ts";

const START = "AGTP/1.0 200";
const FIRST = Buffer.from(`${START} OK\r\nSupported-Methods: QUERY\r\n\r\n`);
const LATER = Buffer.from(`${START} OK\r\n\r\n`);
const RESPONSES = {
  start: START,
  firstResponseBytes: FIRST.length,
  responseBytes: LATER.length,
};

/** The counts of each chunk, for octets cut at the places given. */
function countOf(octets: Buffer, cuts: readonly number[]): number[] {
  const count = createResponseCounter(RESPONSES);
  const places = [0, ...cuts.toSorted((a, b) => a - b), octets.length];
  return places.slice(1).map((end, i) => {
    const chunk = octets.subarray(places[i], end);
    return count(chunk, chunk.length);
  });
}

describe("the count of a connection's responses", () => {
  it("is that of the whole responses, however they are cut", () => {
    const stream = fc.nat({ max: 6 }).chain((later) => {
      const octets = Buffer.concat([FIRST, ...Array.from({ length: later }, () => LATER)]);
      const cuts = fc.array(fc.nat({ max: octets.length }), { maxLength: 8 });
      return fc.record({ octets: fc.constant(octets), cuts, later: fc.constant(later) });
    });
    fc.assert(
      fc.property(stream, ({ octets, cuts, later }) => {
        const counts = countOf(octets, cuts);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(later + 1);
      }),
    );
  });

  it("leaves out a response that is not whole", () => {
    const octets = Buffer.concat([FIRST, LATER]);
    expect(countOf(octets.subarray(0, -1), [])).toEqual([1]);
    expect(countOf(octets.subarray(0, FIRST.length - 1), [])).toEqual([0]);
  });

  it.each([
    ["first", [Buffer.from("AGTP/1.0 503 Busy"), LATER], -1],
    ["later", [FIRST, Buffer.from("AGTP/1.0 503 Busy"), LATER], -1],
  ])("is refused for a %s response that begins otherwise", (_, responses, refused) => {
    expect(countOf(Buffer.concat(responses), [])).toEqual([refused]);
  });
});
