/**
 * Challenges that passkeys are to sign: each for one session and one subject, good once and for five
 * minutes. They are in memory alone, as many as a person can be in the middle of.
 */
import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { JsonRecord } from "../../base/json-value.ts";
import { challengeOf, type SignedDecision } from "../../identity/passkey-attestation.ts";

/** A challenge that waits for its signature. */
export interface Challenge {
  /** Base64url, as WebAuthn has it. */
  readonly challenge: string;
  readonly nonce: string;
}

const TTL_MS = 5 * 60_000;
const MAX_CHALLENGES = 1_024;

interface Waiting {
  readonly session: string;
  readonly nonce: string;
}

export class PasskeyChallenges {
  readonly #waiting = new LRUCache<string, Waiting>({ max: MAX_CHALLENGES, ttl: TTL_MS });

  /** A new one; `session` is the session's token. */
  create(session: string, subject: SignedDecision | JsonRecord): Challenge {
    const nonce = randomBytes(32).toString("base64url");
    const challenge = challengeOf(subject, nonce);
    this.#waiting.set(challenge, { session, nonce });
    return { challenge, nonce };
  }

  /** The one that was signed, if it is this session's and about this; it is used up in any case. */
  take(
    challenge: string,
    session: string,
    subject: SignedDecision | JsonRecord,
  ): Challenge | undefined {
    const waiting = this.#waiting.get(challenge);
    this.#waiting.delete(challenge);
    if (waiting === undefined || waiting.session !== session) return undefined;
    const { nonce } = waiting;
    return challengeOf(subject, nonce) === challenge ? { challenge, nonce } : undefined;
  }
}
