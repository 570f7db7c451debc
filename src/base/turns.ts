/** Runs work in sequence, one piece after the other, even after a failure. */

/** A single sequence of work. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Runs work after all earlier work has settled. */
  run<Done>(work: () => Done | Promise<Done>): Promise<Done> {
    const done = this.#last.then(work);
    this.#last = done.then(nothing, nothing);
    return done;
  }

  /** Resolves once all work so far has settled. */
  settled(): Promise<void> {
    return this.#last;
  }
}

/** A sequence of work for each name; different names run concurrently. */
export class KeyedTurns {
  /** By name, settled once its last piece of work is. */
  readonly #ends = new Map<string, Promise<void>>();

  /** Runs work after all earlier work with the same name has settled. */
  run<Done>(name: string, work: () => Promise<Done>): Promise<Done> {
    const done = (this.#ends.get(name) ?? Promise.resolve()).then(work);
    const end = done.then(nothing, nothing);
    this.#ends.set(name, end);
    void end.then(() => {
      if (this.#ends.get(name) === end) this.#ends.delete(name);
    });
    return done;
  }

  /** The number of names with pending work. */
  get size(): number {
    return this.#ends.size;
  }
}

function nothing(): void {}
