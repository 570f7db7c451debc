/** Pauses between attempts, between beats of periodic work, and between frequent reports. */

/** A pause that doubles up to a limit. */
export interface BackOff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Returns the pause after this number of attempts. */
export function pauseAfter(attempts: number, { firstMs, longestMs }: BackOff): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(attempts, 1) - 1, 20));
}

/** Resolves to true after the time, or to false once the signal aborts; does not keep the process alive. */
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

/** Periodic work, which runs at intervals and when it is woken. */
export class Pulse {
  readonly #everyMs: number;
  readonly #beat: () => Promise<void>;
  #isAwake = false;
  #isStopped = false;
  #wake: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();

  /** Takes a `beat` that never rejects. */
  constructor(everyMs: number, beat: () => Promise<void>) {
    this.#everyMs = everyMs;
    this.#beat = beat;
  }

  /** Starts with a pause. */
  start(): void {
    this.#running = this.#run();
  }

  /** Ends the current pause, or the next one during a beat. */
  wake(): void {
    this.#isAwake = true;
    this.#wake();
  }

  /** Stops; resolves once the running beat is done. */
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

/** Limits a report to once a second. */
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
