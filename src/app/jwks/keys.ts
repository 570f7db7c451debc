/**
 * The issuer's keys, kept: asked for again when their time is over or a token names a key that is
 * not among them, and used on for a day while the issuer does not answer. Asking in vain makes the
 * next time wait, so that a flood of invented key ids reaches the issuer twice a minute at most.
 * RFC 7517, AGTP "Authorization"
 */
import type { CallLog } from "../../handlers/handler.ts";
import type { KeySet, KeySource } from "../../identity/bearer-keys.ts";
import { type AnsweredKeys, KeyCache } from "../../identity/key-cache.ts";
import type { FetchedKeys, JwksSource } from "./source.ts";

/** The parts that keeping the keys takes. */
interface JwksKeysParts {
  readonly source: JwksSource;
  /** In milliseconds, from any beginning. */
  readonly now: () => number;
  readonly log: Pick<CallLog, "info" | "warn">;
}

const STALE_MS = 86_400_000;
/** After no vain attempt, after one, after two, and after any more. */
const COOL_DOWN_MS = [0, 1_000, 5_000, 30_000] as const;

export class JwksKeys implements KeySource {
  readonly #source: JwksSource;
  readonly #log: JwksKeysParts["log"];
  readonly #cache: KeyCache<KeySet>;
  #fingerprint: string | undefined;
  #generation = 0;
  #isClosed = false;

  constructor({ source, now, log }: JwksKeysParts) {
    this.#source = source;
    this.#log = log;
    this.#cache = new KeyCache({
      ask: () => this.#ask(),
      now,
      staleMs: STALE_MS,
      pauseAfter: (vain) => COOL_DOWN_MS[Math.min(vain, COOL_DOWN_MS.length - 1)] ?? 0,
    });
  }

  get generation(): number {
    return this.#generation;
  }

  /** Begins to fetch; nobody waits for it. */
  start(): void {
    void this.#renew(undefined);
  }

  async keysFor(kid: string | undefined): Promise<KeySet | undefined> {
    const { usable, fresh, fault } = this.#cache;
    const isKnown = usable !== undefined && (kid === undefined || usable.has(kid));
    if (isKnown && fresh !== undefined) return fresh;
    const renewed = this.#renew(kid);
    // An issuer that did not answer last time keeps nobody waiting whose key is known.
    if (isKnown && fault !== undefined) return usable;
    await renewed;
    return this.#cache.usable;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#source.close();
    await this.#cache.settled();
  }

  async #renew(kid: string | undefined): Promise<void> {
    if (this.#isClosed) return;
    await this.#cache.renew((keys) => kid === undefined || keys.has(kid));
  }

  async #ask(): Promise<AnsweredKeys<KeySet>> {
    const fetched = await this.#source.fetch();
    if (fetched.fault === undefined) {
      this.#report(fetched);
      return { keys: fetched.set, lifetimeMs: fetched.lifetimeMs };
    }
    const event = "issuer-keys";
    const outcome = this.#cache.usable === undefined ? "had" : "renewed";
    const message = `the token issuer's keys cannot be ${outcome}`;
    if (!this.#isClosed) this.#log.warn({ event, reason: fetched.fault }, message);
    return fetched;
  }

  #report({ set, ignored }: FetchedKeys): void {
    if (set.fingerprint === this.#fingerprint) return;
    this.#fingerprint = set.fingerprint;
    this.#generation += 1;
    const event = "issuer-keys";
    this.#log.info({ event, keys: set.size }, "the token issuer's keys are known");
    if (set.size === 0) this.#log.warn({ event }, "the token issuer publishes no usable key");
    for (const reason of ignored) this.#log.warn({ event, reason }, "a key is not used");
  }
}
