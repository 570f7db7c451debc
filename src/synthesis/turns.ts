/**
 * Whoever wants something synthesized waits for a turn of its own: one proposal is looked into
 * between two rounds of everything else, however many were sent at once.   AGTP-API §10.6
 */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when it is this one's turn. */
  take(): Promise<void> {
    this.#last = this.#last.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.#last;
  }
}
