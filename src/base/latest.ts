/**
 * Something that takes long to make, made anew when what it is made from has changed. Whoever asks
 * meanwhile waits for one that was begun no earlier than the question; one is made at a time.
 */

/** The source that it is made from; with equal members nothing has changed. */
type Stamp = readonly unknown[];

export class Latest<T> {
  readonly #make: () => Promise<T>;
  readonly #stampOf: () => Stamp;
  #made: { readonly stamp: Stamp; readonly value: T } | undefined;
  #making: { readonly stamp: Stamp; readonly promise: Promise<T> } | undefined;
  /** Begun when the one before it is done, however many wait for it. */
  #next: Promise<T> | undefined;

  constructor(make: () => Promise<T>, stampOf: () => Stamp = () => []) {
    this.#make = make;
    this.#stampOf = stampOf;
  }

  /** At once where nothing has changed. */
  get(): T | Promise<T> {
    const stamp = this.#stampOf();
    if (this.#made !== undefined && isSame(this.#made.stamp, stamp)) return this.#made.value;
    if (this.#making === undefined) return this.#begin(stamp);
    if (isSame(this.#making.stamp, stamp)) return this.#making.promise;
    this.#next ??= this.#making.promise
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.get();
      });
    return this.#next;
  }

  #begin(stamp: Stamp): Promise<T> {
    const promise = this.#finish(stamp);
    this.#making = { stamp, promise };
    return promise;
  }

  async #finish(stamp: Stamp): Promise<T> {
    // A fault in the first step is a rejection as well, after `#making` is set.
    await undefined;
    try {
      const value = await this.#make();
      this.#made = { stamp, value };
      return value;
    } finally {
      this.#making = undefined;
    }
  }
}

function isSame(one: Stamp, other: Stamp): boolean {
  return one.length === other.length && one.every((member, index) => member === other[index]);
}
