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

/** So many leave at once, before the turn has ended: nobody waits for a thousand others. */
const MAX_WAITING = 64;

/** One a listener. */
export class Departures {
  #waiting: Departing[] = [];

  /** Has `one` depart when the turn ends; it does not ask again before then. */
  add(one: Departing): void {
    const waiting = this.#waiting.push(one);
    if (waiting === 1) setImmediate(() => this.#leave());
    else if (waiting === MAX_WAITING) this.#leave();
  }

  #leave(): void {
    const leaving = this.#waiting;
    this.#waiting = [];
    for (const one of leaving) one.depart();
  }
}
