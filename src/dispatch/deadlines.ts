/**
 * Ends what takes longer than allowed. All entries of one instance have the same time to live: one timer serves
 * them in the order in which they were added. One that waited before that may end as much later.
 */

/** Something that can be told that its time is over. */
export interface Expiring {
  readonly startedAt: number;
  expire(): void;
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
