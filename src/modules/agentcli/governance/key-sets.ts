/**
 * The public keys that proofs are verified with, asked for where a profile says and kept for as long as
 * the answer may be. A proof by a key that is not among them has them asked for again.
 * RFC 7517 §5, RFC 9111 §5.2.2.1
 */
import type { JWTVerifyGetKey } from "jose";
import { isRecord } from "../../../base/json-value.ts";
import type { AskJson, KeySet } from "../world.ts";
import { loadJose } from "./load-jose.ts";

interface KeptKeys {
  readonly keys: JWTVerifyGetKey;
  /** When they were asked for last, whatever came of it. */
  askedAt: number;
  readonly goodUntil: number;
}

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
  readonly #kept = new Map<string, KeptKeys>();
  readonly #asking = new Map<string, Promise<KeySet>>();

  /** `now` only measures: a key must not be good for longer because a clock was set back. */
  constructor(ask: AskJson, now: () => number = () => performance.now()) {
    this.#ask = ask;
    this.#now = now;
  }

  /** The keys at a URL. */
  async find(url: string): Promise<KeySet> {
    const kept = this.#kept.get(url);
    if (kept === undefined || kept.goodUntil <= this.#now()) return this.#load(url);
    const { errors } = await loadJose();
    const keys: JWTVerifyGetKey = async (header, token) => {
      try {
        return await kept.keys(header, token);
      } catch (error) {
        const isRecent = !this.#asking.has(url) && this.#now() - kept.askedAt < PAUSE_MS;
        if (isRecent || !(error instanceof errors.JWKSNoMatchingKey)) throw error;
        kept.askedAt = this.#now();
        const loaded = await this.#load(url);
        if (loaded.kind === "fault") throw error;
        return loaded.keys(header, token);
      }
    };
    return { kind: "keys", keys };
  }

  /** One question at a time for each set, whoever waits for the answer. */
  #load(url: string): Promise<KeySet> {
    const known = this.#asking.get(url);
    if (known !== undefined) return known;
    const asking = this.#loadNow(url).finally(() => this.#asking.delete(url));
    this.#asking.set(url, asking);
    return asking;
  }

  async #loadNow(url: string): Promise<KeySet> {
    const answer = await this.#ask(url);
    if (answer.kind === "fault") return { kind: "fault", message: `the key set ${answer.message}` };
    const { value, maxAgeSeconds } = answer;
    if (!isRecord(value) || !Array.isArray(value["keys"])) {
      return { kind: "fault", message: "the key set is none" };
    }
    const { createLocalJWKSet } = await loadJose();
    const keys: JWTVerifyGetKey = createLocalJWKSet({ keys: value["keys"] });
    const askedAt = this.#now();
    const usableMs = maxAgeSeconds === undefined ? USUAL_MS : maxAgeSeconds * 1000;
    const [oldest] = this.#kept.keys();
    const isFull = this.#kept.size >= MAX_SETS && !this.#kept.has(url);
    if (isFull && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(url, { keys, askedAt, goodUntil: askedAt + Math.min(usableMs, LONGEST_MS) });
    return { kind: "keys", keys };
  }
}
