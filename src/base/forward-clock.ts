/**
 * The clock by which authority expires. It never goes back when the machine's clock does, so that
 * an expired token, contract or nonce stays expired.
 */
export class ForwardClock {
  readonly #read: () => number;
  #latest = Number.NEGATIVE_INFINITY;

  constructor(read: () => number = () => Date.now()) {
    this.#read = read;
  }

  /** Returns milliseconds since the epoch; bound, so that it can be passed on. */
  readonly now = (): number => {
    this.reach(this.#read());
    return this.#latest;
  };

  /** Moves the clock forward to a time that an earlier process has seen. */
  reach(at: number): void {
    this.#latest = Math.max(this.#latest, at);
  }
}
