/** Pauses between attempts: they grow to a bound, and end at once where nobody waits. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { pause, pauseAfter } from "../../src/base/back-off.ts";

describe("pauseAfter", () => {
  it("doubles up to the longest, however many attempts there were", () => {
    const backOff = { firstMs: 500, longestMs: 3000 };
    const pauses = [0, 1, 2, 3, 4, 5, 1000].map((attempts) => pauseAfter(attempts, backOff));
    expect(pauses).toEqual([500, 500, 1000, 2000, 3000, 3000, 3000]);
  });
});

describe("pause", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is over after its time, and follows its signal no longer", async () => {
    const ended = new AbortController();
    const waited = pause(1000, ended.signal);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await waited).toBe(true);
    ended.abort();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends with its signal, and leaves no timer behind", async () => {
    const ended = new AbortController();
    const waited = pause(1000, ended.signal);
    ended.abort();
    expect(await waited).toBe(false);
    expect(await pause(1000, ended.signal)).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});
