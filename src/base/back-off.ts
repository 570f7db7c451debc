/**
 * Pauses: between one attempt and the next, between the beats of work that is done again and again,
 * and between reports that come too often.
 */

/** Pauses that double. */
export interface BackOff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** The pause after so many attempts. */
export function pauseAfter(attempts: number, { firstMs, longestMs }: BackOff): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(attempts, 1) - 1, 20));
}

/** Resolves with true after so long, with false once the signal aborts; keeps no process alive. */
export function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const leave = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", leave);
      resolve(true);
    }, ms).unref();
    signal.addEventListener("abort", leave, { once: true });
  });
}

/** Work that is done again and again: after so long, or as soon as it is woken. */
export class Pulse {
  readonly #everyMs: number;
  readonly #beat: () => Promise<void>;
  #isAwake = false;
  #isStopped = false;
  #wake: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();

  /** `beat` never rejects. */
  constructor(everyMs: number, beat: () => Promise<void>) {
    this.#everyMs = everyMs;
    this.#beat = beat;
  }

  /** Begins with a rest. */
  start(): void {
    this.#running = this.#run();
  }

  /** Ends the rest, or the one that comes next. */
  wake(): void {
    this.#isAwake = true;
    this.#wake();
  }

  /** Resolves once the beat that is under way is over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await this.#rest();
      if (this.#isStopped) return;
      await this.#beat();
    }
  }

  async #rest(): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.#everyMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isAwake = false;
  }
}

const QUIET_MS = 1_000;

/** The report, at most once a second. */
export function quietened<Details extends readonly unknown[]>(
  report: (...details: Details) => void,
): (...details: Details) => void {
  let quietUntil = 0;
  return (...details) => {
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + QUIET_MS;
    report(...details);
  };
}
