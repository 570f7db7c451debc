/**
 * Batches the replies of a turn of the event loop: those of all connections that were read in it leave
 * together. To wake a peer costs as much as to answer it, and one that finds several replies is woken
 * once for all of them.
 */

/** A connection whose replies wait. */
export interface BatchedWriter {
  /** Sends what was answered so far. */
  writeBatch(): void;
}

/**
 * So many leave before the turn has ended, or all once the first has waited for so long: nobody
 * waits for a thousand others, nor for handlers that take their time.
 */
const MAX_WAITING = 64;
const MAX_WAIT_MS = 1;

/** There is one for each listener. */
export class WriteBatcher {
  #waiting: BatchedWriter[] = [];
  /** Since when the first of them waits. */
  #since = 0;

  /**
   * Notes that a connection writes when the turn ends; it does not ask again before then. `now` is of
   * `performance.now()`, no older than the work that it has done.
   */
  add(one: BatchedWriter, now: number): void {
    const waiting = this.#waiting.push(one);
    if (waiting === 1) {
      this.#since = now;
      setImmediate(() => this.#write());
    } else if (waiting === MAX_WAITING || now - this.#since > MAX_WAIT_MS) this.#write();
  }

  #write(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) one.writeBatch();
  }
}
