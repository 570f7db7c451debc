/** One timer for many things that are over at a time of their own; it keeps no process alive. */

/** The longest that a timer of Node's can wait. */
const MAX_DELAY_MS = 2_147_483_647;

/** Calls back with what is over. */
export class ExpiryTimer {
  readonly #now: () => number;
  readonly #over: (key: string) => void;
  readonly #times = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #firesAt = Number.POSITIVE_INFINITY;
  #isStopped = false;

  constructor(now: () => number, over: (key: string) => void) {
    this.#now = now;
    this.#over = over;
  }

  /** When it is over, in milliseconds since the epoch; infinity: never, as far as is known. */
  set(key: string, at: number): void {
    if (at === Number.POSITIVE_INFINITY) this.#times.delete(key);
    else this.#times.set(key, at);
    if (at < this.#firesAt) this.#arm(at);
  }

  /** Calls back no more. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #arm(at: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#firesAt = at;
    const delay = Math.min(Math.max(at - this.#now(), 1), MAX_DELAY_MS);
    this.#timer = setTimeout(() => this.#fire(), delay);
    this.#timer.unref();
  }

  #fire(): void {
    this.#firesAt = Number.POSITIVE_INFINITY;
    const now = this.#now();
    const due = [...this.#times].filter(([, at]) => at <= now);
    const over = due.sort(([, one], [, other]) => one - other).map(([key]) => key);
    for (const key of over) this.#times.delete(key);
    const next = Math.min(...this.#times.values());
    if (next !== Number.POSITIVE_INFINITY) this.#arm(next);
    for (const key of over) this.#over(key);
  }
}
