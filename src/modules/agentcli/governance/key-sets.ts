/**
 * The public keys that proofs are verified with, asked for where a profile says. A proof by a key that
 * is not among them has them asked for again.   RFC 7517 §5, RFC 9111 §5.2.2.1
 */
import type { JWTVerifyGetKey } from "jose";
import { isRecord } from "../../../base/json-value.ts";
import { type AnsweredKeys, KeyCache } from "../../../identity/key-cache.ts";
import type { AskJson, KeySet } from "../world.ts";
import { loadJose } from "./key-source.ts";

const USUAL_MS = 300_000;
/** A key that was taken back must not be good for ever. */
const LONGEST_MS = 3_600_000;
/** Proofs by unknown keys make nobody ask more often than this. */
const PAUSE_MS = 10_000;
const MAX_SETS = 64;

/** The key sets of one process. */
export class KeySets {
  readonly #ask: AskJson;
  readonly #now: () => number;
  /** By URL, the oldest first. */
  readonly #caches = new Map<string, KeyCache<JWTVerifyGetKey>>();

  /** `now` only measures: a key must not be good for longer because a clock was set back. */
  constructor(ask: AskJson, now: () => number = () => performance.now()) {
    this.#ask = ask;
    this.#now = now;
  }

  /** The keys at a URL. */
  async find(url: string): Promise<KeySet> {
    const cache = this.#cacheOf(url);
    if (cache.fresh !== undefined)
      return { kind: "keys", keys: await renewing(cache, cache.fresh) };
    const answer = await cache.obtain();
    if (answer.fault === undefined) return { kind: "keys", keys: answer.keys };
    if (this.#caches.get(url) === cache) this.#caches.delete(url);
    return { kind: "fault", message: `the key set ${answer.fault}` };
  }

  #cacheOf(url: string): KeyCache<JWTVerifyGetKey> {
    const known = this.#caches.get(url);
    if (known !== undefined) return known;
    const cache = new KeyCache<JWTVerifyGetKey>({
      ask: () => askFor(url, this.#ask),
      now: this.#now,
      staleMs: 0,
      pauseAfter: () => PAUSE_MS,
    });
    const [oldest] = this.#caches.keys();
    if (this.#caches.size >= MAX_SETS && oldest !== undefined) this.#caches.delete(oldest);
    this.#caches.set(url, cache);
    return cache;
  }
}

async function askFor(url: string, ask: AskJson): Promise<AnsweredKeys<JWTVerifyGetKey>> {
  const answer = await ask(url);
  if (answer.kind === "fault") return { fault: answer.message };
  const { value, maxAgeSeconds } = answer;
  if (!isRecord(value) || !Array.isArray(value["keys"])) return { fault: "is none" };
  const { createLocalJWKSet } = await loadJose();
  const usableMs = maxAgeSeconds === undefined ? USUAL_MS : maxAgeSeconds * 1000;
  const keys: JWTVerifyGetKey = createLocalJWKSet({ keys: value["keys"] });
  return { keys, lifetimeMs: Math.min(usableMs, LONGEST_MS) };
}

/** Looks for a key once more in what is published now. */
async function renewing(
  cache: KeyCache<JWTVerifyGetKey>,
  keys: JWTVerifyGetKey,
): Promise<JWTVerifyGetKey> {
  const { errors } = await loadJose();
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const answer = await cache.renew(() => true);
      if (answer === undefined || answer.fault !== undefined) throw error;
      return answer.keys(header, token);
    }
  };
}
