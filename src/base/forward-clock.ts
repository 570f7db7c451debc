/**
 * The time by which authority ends: it stands still where the machine's clock steps back, so that a
 * token, a contract or a nonce that was over once is never good again.
 */
export class ForwardClock {
  readonly #read: () => number;
  #latest = Number.NEGATIVE_INFINITY;

  constructor(read: () => number = () => Date.now()) {
    this.#read = read;
  }

  /** Milliseconds since the epoch; bound, to be handed on. */
  readonly now = (): number => {
    this.reach(this.#read());
    return this.#latest;
  };

  /** Is never earlier than this from now on: an earlier process saw it. */
  reach(at: number): void {
    this.#latest = Math.max(this.#latest, at);
  }
}
