/**
 * Ends work that exceeds its time. All entries of one instance have the same timeout, so one timer
 * serves them in insertion order. An entry that waited before it was added may end that much later.
 */

/** Work that can be told that its time is up. */
export interface Expiring {
  readonly startedAt: number;
  expire(): void;
  /** Called if the process ends first. */
  giveUp(): void;
}

/** The running calls of a process, across all its deployments. */
export class RunningCalls {
  readonly #byTimeout = new Map<number, Deadlines>();

  /** Returns the deadlines for this timeout. */
  within(timeoutMs: number): Deadlines {
    const deadlines = this.#byTimeout.get(timeoutMs) ?? new Deadlines(timeoutMs);
    this.#byTimeout.set(timeoutMs, deadlines);
    return deadlines;
  }

  /** Gives up all running calls, since the process ends before their outcome is known. */
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
