/**
 * The end of a turn of the event loop, at which replies leave: those of all connections that were
 * read in it, together. To wake a peer costs as much as to answer it, and one that finds several
 * replies is woken once for all of them.
 */

/** Whose replies wait. */
export interface Departing {
  /** Sends what was answered so far. */
  depart(): void;
}

/**
 * Before the turn has ended leave so many, or those of whom one has waited for so long: nobody
 * waits for a thousand others, nor for handlers that take their time.
 */
const MAX_WAITING = 64;
const MAX_WAIT_MS = 1;

/** One a listener. */
export class Departures {
  #waiting: Departing[] = [];
  /** Since when the first of them waits. */
  #since = 0;

  /** Lets `one` depart when the turn ends; it does not ask again before then. */
  add(one: Departing): void {
    const waiting = this.#waiting.push(one);
    const now = performance.now();
    if (waiting === 1) {
      this.#since = now;
      setImmediate(() => this.#leave());
    } else if (waiting === MAX_WAITING || now - this.#since > MAX_WAIT_MS) this.#leave();
  }

  #leave(): void {
    const leaving = this.#waiting;
    this.#waiting = [];
    for (const one of leaving) one.depart();
  }
}
