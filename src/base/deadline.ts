/**
 * Combines several reasons to stop, other signals and time, into one signal. `AbortSignal.any` is
 * not used: on Node 20 a timeout that it combines never fires once it is garbage collected, and a
 * long-lived signal leaks a trace of each signal that it was combined into.
 */
import { setMaxListeners } from "node:events";

/** The reasons to stop. */
export interface Ends {
  readonly signals: readonly AbortSignal[];
  /** The time from the start; 0 stops at once. */
  readonly timeoutMs?: number;
}

/** The platform's longest timer; a longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/** Runs work with a signal that aborts at the first reason to stop; the work's result counts. */
export async function within<T>(
  ends: Ends,
  work: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  const deadline = new Deadline(ends);
  try {
    return await work(deadline.signal);
  } finally {
    deadline.clear();
  }
}

/**
 * Lifts the listener limit of a long-lived signal. Not 0, since Node 20 then rejects the signal as
 * no emitter.
 */
export function allowManyListeners(signal: AbortSignal): void {
  setMaxListeners(Number.POSITIVE_INFINITY, signal);
}

/** Starts when it is created, and must be cleared in any case. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #signals: readonly AbortSignal[];
  readonly #timer: NodeJS.Timeout | undefined;
  #isTimeOver = false;

  constructor({ signals, timeoutMs }: Ends) {
    this.#signals = signals;
    const ended = signals.find(({ aborted }) => aborted);
    if (ended !== undefined) {
      this.abort(ended.reason);
      return;
    }
    if (timeoutMs !== undefined && timeoutMs <= 0) {
      this.#endTime();
      return;
    }
    for (const signal of signals) {
      allowManyListeners(signal);
      signal.addEventListener("abort", this.#follow);
    }
    if (timeoutMs === undefined) return;
    this.#timer = setTimeout(this.#endTime, Math.min(timeoutMs, MAX_TIMER_MS));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if the time caused the end. */
  get isTimeOver(): boolean {
    return this.#isTimeOver;
  }

  /** Stops the timer, so that only the signals can end it. */
  stopClock(): void {
    clearTimeout(this.#timer);
  }

  /** Releases the timer and the signals. */
  clear(): void {
    this.stopClock();
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#follow);
  }

  abort(reason?: unknown): void {
    this.clear();
    this.#controller.abort(reason);
  }

  readonly #follow = (event: Event): void => this.abort((event.target as AbortSignal).reason);

  readonly #endTime = (): void => {
    this.#isTimeOver = true;
    this.abort(new DOMException("the time is over", "TimeoutError"));
  };
}

/** Resolves like the promise, or to "aborted" as soon as the signal fires; a later result is dropped. */
export async function raceAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal,
): Promise<T | "aborted"> {
  promise.catch(() => undefined);
  if (signal.aborted) return "aborted";
  let stop: (() => void) | undefined;
  const aborted = new Promise<"aborted">((resolve) => {
    stop = () => resolve("aborted");
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } catch (error) {
    // Work that was told to stop has not failed.
    if (signal.aborted) return "aborted";
    throw error;
  } finally {
    if (stop !== undefined) signal.removeEventListener("abort", stop);
  }
}
