/**
 * Ends what takes longer than allowed. All entries of one instance have the same time to live: one timer serves
 * them in the order in which they were added. One that waited before that may end as much later.
 */

/** Something that can be told that its time is over. */
export interface Expiring {
  readonly startedAt: number;
  expire(): void;
  /** The process ends before it does. */
  giveUp(): void;
}

/** The calls that run in a process, of whichever deployment. */
export class RunningCalls {
  readonly #byTimeout = new Map<number, Deadlines>();

  /** Those that may take so long. */
  within(timeoutMs: number): Deadlines {
    const deadlines = this.#byTimeout.get(timeoutMs) ?? new Deadlines(timeoutMs);
    this.#byTimeout.set(timeoutMs, deadlines);
    return deadlines;
  }

  /** Answers for all of them: nobody will learn what becomes of them. */
  giveUp(): void {
    for (const deadlines of this.#byTimeout.values()) deadlines.giveUp();
  }
}

/** The running handlers, oldest first. */
export class Deadlines {
  readonly #timeoutMs: number;
  readonly #entries = new Set<Expiring>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  add(entry: Expiring): void {
    this.#entries.add(entry);
    this.#timer ??= this.#arm(this.#timeoutMs);
  }

  delete(entry: Expiring): void {
    this.#entries.delete(entry);
  }

  giveUp(): void {
    for (const entry of this.#entries) entry.giveUp();
  }

  #arm(delayMs: number): NodeJS.Timeout {
    // A deadline alone never keeps the process alive.
    return setTimeout(() => this.#sweep(), delayMs).unref();
  }

  #sweep(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const entry of this.#entries) {
      const remaining = entry.startedAt + this.#timeoutMs - now;
      // A timer may fire a fraction of a millisecond early.
      if (remaining > 1) {
        this.#timer = this.#arm(remaining);
        return;
      }
      this.#entries.delete(entry);
      entry.expire();
    }
  }
}
