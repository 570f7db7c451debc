/** Work that must not overlap: one piece after the other, whatever becomes of the one before. */

/** Pieces of work in one order. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Runs work once all that was given before it has ended, well or not. */
  run<Done>(work: () => Done | Promise<Done>): Promise<Done> {
    const done = this.#last.then(work);
    this.#last = done.then(nothing, nothing);
    return done;
  }

  /** Resolves once all that was given so far has ended. */
  settled(): Promise<void> {
    return this.#last;
  }
}

/** Work under a name, one piece after the other; work under different names runs side by side. */
export class KeyedTurns {
  /** By name: settled once its last piece of work is. */
  readonly #ends = new Map<string, Promise<void>>();

  /** Runs work once all that was given before it under the name has ended, well or not. */
  run<Done>(name: string, work: () => Promise<Done>): Promise<Done> {
    const done = (this.#ends.get(name) ?? Promise.resolve()).then(work);
    const end = done.then(nothing, nothing);
    this.#ends.set(name, end);
    void end.then(() => {
      if (this.#ends.get(name) === end) this.#ends.delete(name);
    });
    return done;
  }

  /** The number of names under which there is work. */
  get size(): number {
    return this.#ends.size;
  }
}

function nothing(): void {}
