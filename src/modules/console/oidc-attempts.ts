/**
 * Sign-ins that somebody has begun at a provider: what the answer is checked against travels in a
 * cookie of the browser that began, sealed with a key of this process, so that nothing is kept for
 * whoever begins and never comes back. Each is good once, and for ten minutes.
 */
import { randomBytes } from "node:crypto";
import { EncryptJWT, jwtDecrypt } from "jose";
import { LRUCache } from "lru-cache";
import { isRecord } from "../../base/json-value.ts";

/** The parts that one answer is checked against. */
export interface OidcAttempt {
  readonly state: string;
  readonly nonce: string;
  /** PKCE's, RFC 7636. */
  readonly verifier: string;
}

const TTL_S = 600;
const MAX_USED = 4_096;
const HEADER = { alg: "dir", enc: "A256GCM" } as const;

export class OidcAttempts {
  readonly #key = randomBytes(32);
  readonly #used = new LRUCache<string, true>({ max: MAX_USED, ttl: TTL_S * 1_000 });

  /** Begins one, and answers the value of its cookie. */
  async begin(): Promise<{ readonly attempt: OidcAttempt; readonly cookie: string }> {
    const attempt = { state: secret(), nonce: secret(), verifier: secret() };
    const cookie = await new EncryptJWT({ ...attempt })
      .setProtectedHeader(HEADER)
      .setExpirationTime(`${TTL_S} seconds`)
      .encrypt(this.#key);
    return { attempt, cookie };
  }

  /** The attempt of a cookie that an answer is to, which is used up; undefined: it is to none. */
  async take(cookie: string | undefined, state: string | null): Promise<OidcAttempt | undefined> {
    const attempt = cookie === undefined ? undefined : await this.#open(cookie);
    if (attempt === undefined || attempt.state !== state) return undefined;
    if (this.#used.has(attempt.state)) return undefined;
    this.#used.set(attempt.state, true);
    return attempt;
  }

  async #open(cookie: string): Promise<OidcAttempt | undefined> {
    try {
      const { payload } = await jwtDecrypt(cookie, this.#key, {
        keyManagementAlgorithms: [HEADER.alg],
        contentEncryptionAlgorithms: [HEADER.enc],
        requiredClaims: ["exp"],
      });
      return readAttempt(payload);
    } catch {
      return undefined;
    }
  }
}

function readAttempt(payload: unknown): OidcAttempt | undefined {
  if (!isRecord(payload)) return undefined;
  const { state, nonce, verifier } = payload;
  const isWhole =
    typeof state === "string" && typeof nonce === "string" && typeof verifier === "string";
  return isWhole ? { state, nonce, verifier } : undefined;
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}
