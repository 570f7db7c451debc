/**
 * Caches a publisher's keys for the lifetime of its answer. Callers share one fetch, and a pause
 * follows it, so that a flood of signatures by unknown keys does not become a flood of
 * fetches.   RFC 7517 §5, RFC 9111 §5.2.2.1
 */

/** The keys of a fetch with their lifetime, or its fault. */
export type AnsweredKeys<Keys> =
  | { readonly keys: Keys; readonly lifetimeMs: number; readonly fault?: undefined }
  | { readonly fault: string };

/** The fetch, the clock and the times of a cache. */
interface KeyCacheOptions<Keys> {
  /** Fetches the keys; never rejects. */
  ask(): Promise<AnsweredKeys<Keys>>;
  /** A monotonic clock in milliseconds. */
  now(): number;
  /** How long keys remain usable without a newer answer. */
  readonly staleMs: number;
  /** The pause before the next fetch: after this many failures, or if the wanted key was not found. */
  pauseAfter(faults: number, isFound: boolean): number;
}

/** The maximum number of callers that wait for a fetch; others use the keys at hand. */
const MAX_WAITING = 256;

export class KeyCache<Keys> {
  readonly #options: KeyCacheOptions<Keys>;
  #held:
    | { readonly keys: Keys; readonly answeredAt: number; readonly freshUntil: number }
    | undefined;
  #asking: Promise<AnsweredKeys<Keys>> | undefined;
  #waiting = 0;
  #faults = 0;
  #quietUntil = Number.NEGATIVE_INFINITY;
  #fault: string | undefined;

  constructor(options: KeyCacheOptions<Keys>) {
    this.#options = options;
  }

  /** The keys within their lifetime; undefined if they have to be fetched again. */
  get fresh(): Keys | undefined {
    const held = this.#held;
    return held && this.#options.now() < held.freshUntil ? held.keys : undefined;
  }

  /** The keys while they are usable, stale or not. */
  get usable(): Keys | undefined {
    const held = this.#held;
    return held && this.#options.now() < held.answeredAt + this.#options.staleMs
      ? held.keys
      : undefined;
  }

  /** The reason the last fetch failed. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Fetches the keys; undefined during a pause, or if too many callers wait. */
  async renew(isFound: (keys: Keys) => boolean): Promise<AnsweredKeys<Keys> | undefined> {
    const isQuiet = this.#asking === undefined && this.#options.now() < this.#quietUntil;
    return isQuiet || this.#waiting >= MAX_WAITING ? undefined : this.obtain(isFound);
  }

  /** Fetches the keys even during a pause, or joins the fetch in progress. */
  async obtain(isFound: (keys: Keys) => boolean = () => true): Promise<AnsweredKeys<Keys>> {
    this.#asking ??= this.#ask(isFound).finally(() => {
      this.#asking = undefined;
    });
    this.#waiting += 1;
    try {
      return await this.#asking;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Resolves once no fetch is in progress. */
  async settled(): Promise<void> {
    await this.#asking;
  }

  async #ask(isFound: (keys: Keys) => boolean): Promise<AnsweredKeys<Keys>> {
    const { ask, now, pauseAfter } = this.#options;
    const answer = await ask();
    this.#fault = answer.fault;
    if (answer.fault === undefined) {
      const answeredAt = now();
      this.#held = { keys: answer.keys, answeredAt, freshUntil: answeredAt + answer.lifetimeMs };
    }
    this.#faults = answer.fault === undefined ? 0 : this.#faults + 1;
    const hasFound = answer.fault === undefined && isFound(answer.keys);
    this.#quietUntil = now() + pauseAfter(this.#faults, hasFound);
    return answer;
  }
}
