/**
 * Keys that somebody publishes, kept for as long as the answer may be: one question at a time, whoever
 * waits for it, and a pause after it, so that a flood of signatures by unknown keys does not become a
 * flood of questions.   RFC 7517 §5, RFC 9111 §5.2.2.1
 */

/** The keys as they were published just now, and how long they may be used without asking again. */
export type AnsweredKeys<Keys> =
  | { readonly keys: Keys; readonly lifetimeMs: number; readonly fault?: undefined }
  | { readonly fault: string };

/** The parts that keeping keys takes. */
interface KeyCacheOptions<Keys> {
  /** Asks for the keys; never rejects. */
  ask(): Promise<AnsweredKeys<Keys>>;
  /** In milliseconds, from any beginning. */
  now(): number;
  /** The longest that keys are used while there are no newer ones. */
  readonly staleMs: number;
  /** For how long nobody asks again: after so many questions without an answer, or for keys that it lacks. */
  pauseAfter(faults: number, isFound: boolean): number;
}

/** The most callers that wait for newer keys; others go on with the keys at hand. */
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

  /** The keys, as long as they may be used without asking again. */
  get fresh(): Keys | undefined {
    const held = this.#held;
    return held && this.#options.now() < held.freshUntil ? held.keys : undefined;
  }

  /** The keys, as long as they may be used at all. */
  get usable(): Keys | undefined {
    const held = this.#held;
    return held && this.#options.now() < held.answeredAt + this.#options.staleMs
      ? held.keys
      : undefined;
  }

  /** Why the last question had no answer. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Asks unless it is too soon, or many wait; undefined then. */
  async renew(isFound: (keys: Keys) => boolean): Promise<AnsweredKeys<Keys> | undefined> {
    const isQuiet = this.#asking === undefined && this.#options.now() < this.#quietUntil;
    return isQuiet || this.#waiting >= MAX_WAITING ? undefined : this.obtain(isFound);
  }

  /** Asks in any case, or waits for the answer that somebody else has asked for. */
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

  /** Resolves once no question is under way. */
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
