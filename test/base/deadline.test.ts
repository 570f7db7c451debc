/** Signals that end together, and with time; whatever the garbage collector does in between. */

import { getEventListeners, getMaxListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished } from "vitest";
import { Deadline, raceAbort, within } from "../../src/base/deadline.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const ended = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));

describe("a deadline", () => {
  it("ends with any of its signals, and says why", () => {
    for (const which of [0, 1]) {
      const sources = [new AbortController(), new AbortController()];
      const deadline = new Deadline({ signals: sources.map(({ signal }) => signal) });
      expect(deadline.signal.aborted).toBe(false);
      sources[which]?.abort("enough");
      expect(deadline.signal.reason).toBe("enough");
      expect(deadline.isTimeOver).toBe(false);
    }
  });

  it("is over at once when a signal is, or when there is no time", () => {
    const left = new Deadline({ signals: [AbortSignal.abort("gone")], timeoutMs: 0 });
    expect([left.signal.reason, left.isTimeOver]).toEqual(["gone", false]);
    const late = new Deadline({ signals: [], timeoutMs: 0 });
    expect([late.signal.aborted, late.isTimeOver]).toEqual([true, true]);
  });

  it("ends with time though nobody holds it but who listens", async () => {
    const over = ended(new Deadline({ signals: [], timeoutMs: 20 }).signal);
    collectGarbage();
    await expect(over).resolves.toMatchObject({ name: "TimeoutError" });
  });

  it("waits as long as a timer can where it is given more time than that", async () => {
    const deadline = new Deadline({ signals: [], timeoutMs: 2 ** 40 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(deadline.signal.aborted).toBe(false);
    deadline.clear();
  });

  it("is ended by signals alone once its clock was stopped", async () => {
    const source = new AbortController();
    const deadline = new Deadline({ signals: [source.signal], timeoutMs: 1 });
    deadline.stopClock();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(deadline.signal.aborted).toBe(false);
    source.abort();
    expect(deadline.signal.aborted).toBe(true);
  });

  it("leaves signals such that an HTTP client can still listen to them", () => {
    // Node's own bound, which is another one in each of its versions.
    const usual = getMaxListeners(new AbortController().signal);
    const followed = new AbortController().signal;
    new Deadline({ signals: [followed], timeoutMs: 1_000 }).clear();
    expect(getMaxListeners(followed)).toBe(Number.POSITIVE_INFINITY);
    new Deadline({ signals: [], timeoutMs: 1_000 }).clear();
    expect(getMaxListeners(new AbortController().signal)).toBe(usual);
  });

  it("may follow a signal with a hundred others", () => {
    const warnings: unknown[] = [];
    const warn = (warning: unknown): number => warnings.push(warning);
    process.on("warning", warn);
    onTestFinished(() => void process.off("warning", warn));
    const source = new AbortController();
    const all = Array.from({ length: 100 }, () => new Deadline({ signals: [source.signal] }));
    source.abort();
    expect(all.every(({ signal }) => signal.aborted)).toBe(true);
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() =>
      expect(warnings).toEqual([]),
    );
  });

  it("leaves nothing behind in a signal that lasts", async () => {
    const { signal } = new AbortController();
    const listeners = (): number => getEventListeners(signal, "abort").length;
    const result = await within({ signals: [signal], timeoutMs: 60_000 }, () => {
      expect(listeners()).toBe(1);
      return Promise.resolve("done");
    });
    expect(result).toBe("done");
    const failing = within({ signals: [signal] }, () => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    new Deadline({ signals: [signal] }).abort();
    await ended(new Deadline({ signals: [signal], timeoutMs: 1 }).signal);
    expect(listeners()).toBe(0);
  });
});

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
