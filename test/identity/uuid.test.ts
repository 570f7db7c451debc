import { describe, expect, it } from "vitest";
import { isRequestId } from "../../src/identity/identifiers.ts";
import { uuidv7 } from "../../src/identity/uuid.ts";

describe("uuidv7", () => {
  it("is a lower-case UUID of version 7 and variant 10", () => {
    for (let count = 0; count < 5000; count += 1) {
      const id = uuidv7();
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(isRequestId(id)).toBe(true);
    }
  });

  it("begins with the milliseconds since the epoch", () => {
    // The example of RFC 9562, appendix A.6.
    expect(uuidv7(0x017f22e279b0)).toMatch(/^017f22e2-79b0-7/);
    expect(uuidv7(0)).toMatch(/^00000000-0000-7/);
  });

  it("sorts in the order of making within a millisecond, and never repeats", () => {
    const ids = Array.from({ length: 20_000 }, () => uuidv7(1_700_000_000_000));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("ends in randomness", () => {
    const tails = Array.from({ length: 5000 }, () => uuidv7().slice(-12));
    expect(new Set(tails).size).toBe(tails.length);
  });
});
