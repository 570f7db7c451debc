/**
 * A value that is expensive to make, made again when its source has changed. A caller waits for one
 * that was started after the call or from the same source; only one is made at a time.
 */

/** The state of the source; equal members mean that nothing has changed. */
type Stamp = readonly unknown[];

export class Latest<T> {
  readonly #make: () => Promise<T>;
  readonly #stampOf: () => Stamp;
  #made: { readonly stamp: Stamp; readonly value: T } | undefined;
  #making: { readonly stamp: Stamp; readonly promise: Promise<T> } | undefined;
  /** The next one, shared by all who wait, which starts when the present one is done. */
  #next: Promise<T> | undefined;

  constructor(make: () => Promise<T>, stampOf: () => Stamp = () => []) {
    this.#make = make;
    this.#stampOf = stampOf;
  }

  /** Returns the value at once if nothing has changed. */
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
    // Deferred, so that a fault in the first step rejects after `#making` is set.
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
