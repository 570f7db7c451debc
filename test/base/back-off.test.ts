/** Pauses between attempts: they grow to a bound, and end at once where nobody waits. */
import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Pulse, pause, pauseAfter } from "../../src/base/back-off.ts";

describe("pauseAfter", () => {
  it("doubles up to the longest, however many attempts there were", () => {
    const backOff = { firstMs: 500, longestMs: 3000 };
    const pauses = [0, 1, 2, 3, 4, 5, 1000].map((attempts) => pauseAfter(attempts, backOff));
    expect(pauses).toEqual([500, 500, 1000, 2000, 3000, 3000, 3000]);
  });
});

describe("pause", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it("is over after its time, and follows its signal no longer", async () => {
    const ended = new AbortController();
    const waited = pause(1000, ended.signal);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await waited).toBe(true);
    expect(getEventListeners(ended.signal, "abort")).toEqual([]);
  });

  it("ends with its signal, and leaves no timer behind", async () => {
    const ended = new AbortController();
    // Others in this process have timers, too.
    const set = vi.spyOn(globalThis, "setTimeout");
    const clear = vi.spyOn(globalThis, "clearTimeout");
    const waited = pause(1000, ended.signal);
    const [timer] = set.mock.results.map(({ value }) => value);
    ended.abort();
    expect(clear).toHaveBeenCalledWith(timer);
    expect(await waited).toBe(false);
    set.mockClear();
    const late = pause(1000, ended.signal);
    expect(set).not.toHaveBeenCalled();
    expect(await late).toBe(false);
  });
});

/** Longer than any test waits. */
const NEVER_MS = 600_000;

/** Something that is waited for. */
function gate() {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

describe("Pulse", () => {
  it("beats once it is woken, and again where it was woken meanwhile", async () => {
    let beats = 0;
    const done = gate();
    const pulse = new Pulse(NEVER_MS, async () => {
      beats += 1;
      if (beats === 1) pulse.wake();
      else done.open();
    });
    pulse.start();
    expect(beats).toBe(0);
    pulse.wake();
    await done.passed;
    expect(beats).toBe(2);
    await pulse.stop();
  });

  it("beats by itself after its rest", async () => {
    const done = gate();
    const pulse = new Pulse(1, async () => done.open());
    pulse.start();
    await done.passed;
    await pulse.stop();
  });

  it("stops behind the beat that is under way, and beats no more", async () => {
    const begun = gate();
    const release = gate();
    const said: string[] = [];
    const pulse = new Pulse(NEVER_MS, async () => {
      begun.open();
      await release.passed;
      said.push("beat");
    });
    pulse.start();
    pulse.wake();
    await begun.passed;
    const stopped = pulse.stop().then(() => said.push("stopped"));
    release.open();
    await stopped;
    pulse.wake();
    expect(said).toEqual(["beat", "stopped"]);
  });
});
