/**
 * Changes one after another: each sees what the one before it has stored, so that of two that
 * exclude each other exactly one is made, and what is in memory is what is in the store.
 */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs work once everything before it is settled. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
