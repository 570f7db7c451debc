/** Waiting no longer than somebody wants it. */
import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { raceAbort } from "../../src/base/deadline.ts";

const never = (): Promise<string> => new Promise(() => undefined);

describe("racing a signal", () => {
  it("comes to what the promise comes to, and leaves nothing on the signal", async () => {
    const { signal } = new AbortController();
    expect(await raceAbort(Promise.resolve("done"), signal)).toBe("done");
    await expect(raceAbort(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("is aborted as soon as the signal is, and at once where it was before", async () => {
    const stop = new AbortController();
    const waiting = raceAbort(never(), stop.signal);
    stop.abort();
    expect(await waiting).toBe("aborted");
    expect(await raceAbort(never(), stop.signal)).toBe("aborted");
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });

  it("takes no fault for one that gives up because it was told to", async () => {
    const stop = new AbortController();
    const told = raceAbort(
      new Promise((_, reject) => stop.signal.addEventListener("abort", () => reject(new Error()))),
      stop.signal,
    );
    stop.abort();
    expect(await told).toBe("aborted");
    expect(await raceAbort(Promise.reject(new Error("late")), stop.signal)).toBe("aborted");
  });
});
