/**
 * One signal for several reasons to stop: signals of others, and time. `AbortSignal.any` is not
 * used for it: on Node 20 a timeout that it joins never fires once it was collected as garbage, and
 * every signal that lasts keeps a trace of each one that it was ever joined with.
 */
import { setMaxListeners } from "node:events";

/** The causes that end something. */
export interface Ends {
  readonly signals: readonly AbortSignal[];
  /** Counted from the beginning; 0 is over at once. */
  readonly timeoutMs?: number;
}

/** The longest that a timer of the platform waits; beyond it, one would not wait at all. */
export const MAX_TIMER_MS = 2_147_483_647;

/** Works as long as nothing ends it; the work hears of it and answers as it likes. */
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

/** Any number may follow a signal that lasts. Not 0: Node 20 takes a signal with that for no emitter. */
export function allowManyListeners(signal: AbortSignal): void {
  setMaxListeners(Number.POSITIVE_INFINITY, signal);
}

/** Starts counting when it is made; clear it, whatever the work came to. */
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

  /** True when time ended it. */
  get isTimeOver(): boolean {
    return this.#isTimeOver;
  }

  /** From now on only the signals end it. */
  stopClock(): void {
    clearTimeout(this.#timer);
  }

  /** Nothing ends it any more. */
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

/**
 * Resolves like a promise, or to "aborted" as soon as the signal fires; a later result is dropped.
 */
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
    // Work that gives up because it was told to has not failed.
    if (signal.aborted) return "aborted";
    throw error;
  } finally {
    if (stop !== undefined) signal.removeEventListener("abort", stop);
  }
}
