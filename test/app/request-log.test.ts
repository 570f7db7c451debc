import fc from "fast-check";
import { expect, it } from "vitest";
import { milliseconds } from "../../src/app/observer.ts";

it("writes durations as JSON writes them, to the microsecond", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e7, noNaN: true }), (duration) => {
      expect(milliseconds(duration)).toBe(JSON.stringify(Math.round(duration * 1000) / 1000));
    }),
    { numRuns: 2_000 },
  );
});
