/**
 * The issuer's keys, kept: asked for again when their time is over or a token names a key that is
 * not among them, and used on for a day while the issuer does not answer. Asking in vain makes the
 * next time wait, so that a flood of invented key ids reaches the issuer twice a minute at most.
 * RFC 7517, AGTP "Authorization"
 */
import type { CallLog } from "../handlers/handler.ts";
import type { KeySet, KeySource } from "../identity/bearer-keys.ts";
import type { FetchedKeys, JwksSource } from "./jwks-source.ts";

/** What keeping the keys takes. */
export interface JwksKeysParts {
  readonly source: JwksSource;
  /** In milliseconds, from any beginning. */
  readonly now: () => number;
  readonly log: Pick<CallLog, "info" | "warn">;
}

interface HeldKeys {
  readonly set: KeySet;
  readonly fetchedAt: number;
  readonly freshUntil: number;
}

const STALE_MS = 86_400_000;
/** After one vain attempt, after two, and after any more. */
const COOL_DOWN_MS = [1_000, 5_000, 30_000] as const;
/** Whoever comes later is answered with the keys at hand. */
const MAX_WAITING = 256;

export class JwksKeys implements KeySource {
  readonly #source: JwksSource;
  readonly #now: () => number;
  readonly #log: JwksKeysParts["log"];
  #held: HeldKeys | undefined;
  #generation = 0;
  #running: Promise<void> | undefined;
  #waiting = 0;
  #vainAttempts = 0;
  /** Whether the last attempt had no answer. */
  #isSilent = false;
  #quietUntil = 0;
  #isClosed = false;

  constructor({ source, now, log }: JwksKeysParts) {
    this.#source = source;
    this.#now = now;
    this.#log = log;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Begins to fetch; nobody waits for it. */
  start(): void {
    void this.#refresh(undefined);
  }

  async keysFor(kid: string | undefined): Promise<KeySet | undefined> {
    const held = this.#heldSet();
    const isFresh = this.#held !== undefined && this.#now() < this.#held.freshUntil;
    const isKnown = held !== undefined && (kid === undefined || held.has(kid));
    if (isKnown && isFresh) return held;
    if (isKnown && this.#isSilent) {
      // An issuer that did not answer last time keeps nobody waiting whose key is known.
      void this.#refresh(kid);
      return held;
    }
    await this.#refresh(kid);
    return this.#heldSet();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#source.close();
    await this.#running;
  }

  #heldSet(): KeySet | undefined {
    if (this.#held === undefined) return undefined;
    return this.#now() < this.#held.fetchedAt + STALE_MS ? this.#held.set : undefined;
  }

  async #refresh(kid: string | undefined): Promise<void> {
    if (this.#isClosed || this.#waiting >= MAX_WAITING) return;
    if (this.#running === undefined) {
      if (this.#now() < this.#quietUntil) return;
      this.#running = this.#fetch(kid).finally(() => {
        this.#running = undefined;
      });
    }
    this.#waiting += 1;
    try {
      await this.#running;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #fetch(kid: string | undefined): Promise<void> {
    const fetched = await this.#source.fetch();
    if (fetched.fault === undefined) this.#adopt(fetched);
    else if (!this.#isClosed) this.#reportFault(fetched.fault);
    this.#isSilent = fetched.fault !== undefined;
    const isVain = fetched.fault !== undefined || (kid !== undefined && !fetched.set.has(kid));
    this.#vainAttempts = isVain ? this.#vainAttempts + 1 : 0;
    const last = COOL_DOWN_MS.length - 1;
    const coolDownMs = COOL_DOWN_MS[Math.min(this.#vainAttempts - 1, last)] ?? 0;
    this.#quietUntil = this.#now() + coolDownMs;
  }

  #adopt({ set, ignored, lifetimeMs }: FetchedKeys): void {
    const now = this.#now();
    const isSame = set.fingerprint === this.#held?.set.fingerprint;
    this.#held = { set, fetchedAt: now, freshUntil: now + lifetimeMs };
    if (isSame) return;
    this.#generation += 1;
    const event = "issuer-keys";
    this.#log.info({ event, keys: set.size }, "the token issuer's keys are known");
    if (set.size === 0) this.#log.warn({ event }, "the token issuer publishes no usable key");
    for (const reason of ignored) this.#log.warn({ event, reason }, "a key is not used");
  }

  #reportFault(reason: string): void {
    const hasKeys = this.#heldSet() !== undefined;
    const message = hasKeys
      ? "the token issuer's keys cannot be renewed"
      : "the token issuer's keys cannot be had";
    this.#log.warn({ event: "issuer-keys", reason }, message);
  }
}
