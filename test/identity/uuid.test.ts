import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isRequestId } from "../../src/identity/identifiers.ts";
import { continueIdsAfter, uuidv7 } from "../../src/identity/uuid.ts";

/** Later than any id that this process made before. */
const LATER = Date.parse("2100-01-01T00:00:00Z");

describe("uuidv7", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());

  it("is a lower-case UUID of version 7 and variant 10", () => {
    for (let count = 0; count < 5000; count += 1) {
      const id = uuidv7();
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(isRequestId(id)).toBe(true);
    }
  });

  it("begins with the milliseconds since the epoch", () => {
    vi.setSystemTime(LATER);
    const digits = LATER.toString(16).padStart(12, "0");
    expect(uuidv7().replace("-", "").slice(0, 12)).toBe(digits);
  });

  it("sorts in the order of making within a millisecond, and never repeats", () => {
    const ids = Array.from({ length: 20_000 }, () => uuidv7());
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });

  // RFC 9562 §6.1
  it("sorts in the order of making though the clock steps back", () => {
    const ids = [0, 5000, -3_600_000, -3_599_999, 5001].map((step) => {
      vi.setSystemTime(LATER + 60_000 + step);
      return uuidv7();
    });
    expect(ids).toEqual(ids.toSorted());
  });

  it("sorts behind the ids of an earlier process whose clock was ahead", () => {
    vi.setSystemTime(LATER + 120_000);
    const earlier = uuidv7();
    continueIdsAfter(LATER + 7_200_000);
    const digits = (LATER + 7_200_000).toString(16).padStart(12, "0");
    const id = uuidv7();
    expect(id > earlier).toBe(true);
    expect(id.replace("-", "").slice(0, 12)).toBe(digits);
  });

  it("ends in randomness", () => {
    const tails = Array.from({ length: 5000 }, () => uuidv7().slice(-12));
    expect(new Set(tails).size).toBe(tails.length);
  });
});
