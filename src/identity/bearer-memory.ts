/**
 * Verdicts on tokens, remembered by the hash of the token and never by the token. What was valid is
 * believed until it expires or for five minutes, what was not for seconds; a rotation of the
 * issuer's keys makes all of it forgotten. Both kinds are bounded, each for itself, so that a flood
 * of forged tokens cannot push out the good ones.
 */
import { LRUCache } from "lru-cache";
import type { TokenVerdict } from "./bearer-tokens.ts";

interface Remembered {
  readonly verdict: TokenVerdict;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

const MAX_REMEMBERED = 10_000;
const VALID_MS = 300_000;
const INVALID_MS = 5_000;

export class VerdictMemory {
  readonly #valid = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  readonly #invalid = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  #generation: number | undefined;

  /** The verdict on the token with this hash, if it was given under these keys and still holds. */
  recall(hash: string, generation: number, now: number): TokenVerdict | undefined {
    this.#turn(generation);
    const remembered = this.#valid.get(hash) ?? this.#invalid.get(hash);
    return remembered !== undefined && now < remembered.until ? remembered.verdict : undefined;
  }

  /** Remembers a verdict that was given under the keys of a generation. */
  remember(hash: string, verdict: TokenVerdict, generation: number, now: number): void {
    this.#turn(generation);
    if (verdict.kind === "invalid") {
      this.#valid.delete(hash);
      this.#invalid.set(hash, { verdict, until: now + INVALID_MS });
    } else {
      this.#invalid.delete(hash);
      this.#valid.set(hash, { verdict, until: Math.min(verdict.expiresAt, now + VALID_MS) });
    }
  }

  #turn(generation: number): void {
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#valid.clear();
    this.#invalid.clear();
  }
}
