/**
 * Verifies bearer tokens: whom a token identifies, or why it proves nothing. Gates are synchronous
 * and read a cached verdict; a token without one is verified first. A token is verified once
 * however many requests carry it, and the number of simultaneous verifications is bounded.
 * AGTP "Authorization", RFC 6750, RFC 8725, RFC 8705 §3
 */

import type { KeyObject } from "node:crypto";
import { hash } from "node:crypto";
import { errors, type JWTPayload, jwtVerify } from "jose";
import { memberOf, recordIn } from "../base/json-value.ts";
import { recentlyUsed } from "../base/recently-used.ts";
import { isScopeToken } from "./authority-scope.ts";
import type { KeySource } from "./bearer-keys.ts";
import {
  inspectToken,
  readAuthorization,
  SIGNATURE_ALGORITHMS,
  type TokenClaims,
  type TokenFault,
  type TokenVerdict,
  type TokenVerifier,
} from "./bearer-syntax.ts";
import { isAgentId } from "./identifiers.ts";

interface TokenVerifierParts {
  readonly oauth: TokenPolicy;
  readonly keys: KeySource;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const MAX_IN_FLIGHT = 1024;

/** Creates a verifier; closing it closes its key source. */
export function createTokenVerifier(parts: TokenVerifierParts): TokenVerifier {
  return new Verifier(parts);
}

class Verifier implements TokenVerifier {
  readonly #policy: TokenPolicy;
  readonly #keys: KeySource;
  readonly #now: () => number;
  readonly #memory = new VerdictMemory();
  /** Verifications in progress, by the hash of the token. */
  readonly #inFlight = new Map<string, Promise<TokenVerdict>>();

  constructor({ oauth, keys, now }: TokenVerifierParts) {
    this.#policy = oauth;
    this.#keys = keys;
    this.#now = now;
  }

  recall(authorization: string): TokenVerdict | undefined {
    const read = readAuthorization(authorization);
    return "fault" in read ? invalid(read.fault) : this.#recallHash(hash("sha256", read.token));
  }

  async verify(authorization: string): Promise<TokenVerdict> {
    const read = readAuthorization(authorization);
    if ("fault" in read) return invalid(read.fault);
    const tokenHash = hash("sha256", read.token);
    const known = this.#recallHash(tokenHash) ?? this.#inFlight.get(tokenHash);
    if (known !== undefined) return known;
    if (this.#inFlight.size >= MAX_IN_FLIGHT) return invalid("too many tokens are being verified");
    const verdict = this.#judge(read.token, tokenHash).finally(() =>
      this.#inFlight.delete(tokenHash),
    );
    this.#inFlight.set(tokenHash, verdict);
    return verdict;
  }

  close(): Promise<void> {
    return this.#keys.close();
  }

  #recallHash(tokenHash: string): TokenVerdict | undefined {
    return this.#memory.recall(tokenHash, this.#keys.generation, this.#now());
  }

  async #judge(token: string, tokenHash: string): Promise<TokenVerdict> {
    const inspected = inspectToken(token);
    if ("fault" in inspected) {
      const verdict = invalid(inspected.fault);
      this.#memory.remember(tokenHash, verdict, this.#now());
      return verdict;
    }
    const { header } = inspected;
    const { generation } = this.#keys;
    const set = await this.#keys.keysFor(header.kid);
    // Not cached: the issuer may be reachable again at the next request.
    if (set === undefined) return invalid("keys unavailable");
    const candidates = set.candidates(header);
    // Not cached either: the next fetch of keys may bring the token's key.
    if (candidates.length === 0) return invalid("no key of the issuer fits the token");
    const claims = await verifyClaims(token, candidates, this.#policy, this.#now());
    const verdict: TokenVerdict =
      typeof claims === "string" ? invalid(claims) : { kind: "valid", ...claims };
    // Why: a rotation during the verification may have removed the key that made the token valid.
    if (generation === this.#keys.generation)
      this.#memory.remember(tokenHash, verdict, this.#now());
    return verdict;
  }
}

function invalid(reason: TokenFault): TokenVerdict {
  return { kind: "invalid", reason };
}

interface Remembered {
  readonly verdict: TokenVerdict;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

const MAX_REMEMBERED = 10_000;
const VALID_MS = 300_000;
const INVALID_MS = 5_000;

/**
 * The cache of verdicts, keyed by the hash of a token. Valid verdicts last until the token expires
 * or for five minutes, invalid ones for seconds; a rotation of the issuer's keys clears the cache.
 * Both kinds are bounded separately, so that a flood of forged tokens cannot evict the valid ones.
 */
class VerdictMemory {
  readonly #valid = recentlyUsed<Remembered>(MAX_REMEMBERED);
  readonly #invalid = recentlyUsed<Remembered>(MAX_REMEMBERED);
  #generation: number | undefined;

  /** The cached verdict for this hash, if it was made with these keys and is still valid. */
  recall(hash: string, generation: number, now: number): TokenVerdict | undefined {
    this.#turn(generation);
    const remembered = this.#valid.get(hash) ?? this.#invalid.get(hash);
    return remembered !== undefined && now < remembered.until ? remembered.verdict : undefined;
  }

  /** Caches a verdict that was made with the keys of the last recall. */
  remember(hash: string, verdict: TokenVerdict, now: number): void {
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

/** The policy on the claims of tokens. */
export interface TokenPolicy {
  readonly issuer: string;
  /** Undefined if the audience is not checked. */
  readonly audience?: string;
  /** The claim that names the principal. */
  readonly principalClaim: string;
  /** The claim that holds an Agent-ID. */
  readonly agentClaim?: string;
}

/** The maximum difference between the issuer's and this server's clock. */
const CLOCK_TOLERANCE_S = 30;
/** The last second that a Date can represent. */
const MAX_TIME_S = 8_640_000_000_000;

/** Printable ASCII and Latin-1, without a blank at either end, so that it can neither break nor forge a line. */
const PRINCIPAL = /^[\x21-\x7e\xa1-\xff](?:[\x20-\x7e\xa0-\xff]{0,254}[\x21-\x7e\xa1-\xff])?$/;

/** Verifies a token with the first of the candidate keys that made its signature. */
async function verifyClaims(
  token: string,
  keys: readonly KeyObject[],
  policy: TokenPolicy,
  now: number,
): Promise<TokenClaims | TokenFault> {
  const { issuer, audience } = policy;
  const options = {
    algorithms: [...SIGNATURE_ALGORITHMS],
    issuer,
    ...(audience === undefined ? {} : { audience }),
    requiredClaims: ["exp"],
    clockTolerance: CLOCK_TOLERANCE_S,
    currentDate: new Date(now),
  };
  for (const key of keys) {
    try {
      const { payload } = await jwtVerify(token, key, options);
      return readClaims(payload, policy, now);
    } catch (error) {
      const isOtherKey = error instanceof errors.JWSSignatureVerificationFailed;
      if (!isOtherKey) return faultOf(error);
    }
  }
  return "the token's signature does not verify";
}

/** Reads the claims that the JWT library does not check. */
function readClaims(
  payload: JWTPayload,
  { principalClaim, agentClaim }: TokenPolicy,
  now: number,
): TokenClaims | TokenFault {
  const { exp, iat } = payload;
  if (exp === undefined || exp > MAX_TIME_S) return "the token has no usable expiry time";
  if (iat !== undefined && !isPlausibleIssueTime(iat, exp, now)) {
    return "the token's issue time is not plausible";
  }
  const principal = memberOf(payload, principalClaim);
  if (typeof principal !== "string" || !PRINCIPAL.test(principal)) {
    return "the token names no usable principal";
  }
  const agent = agentClaim === undefined ? undefined : memberOf(payload, agentClaim);
  const certificate = certificateIn(payload);
  if (certificate === null) return "the token is bound to a key that only other protocols prove";
  const audiences = [payload.aud ?? []].flat();
  const scopes = scopesOf(payload);
  return {
    ...{ principalId: principal, expiresAt: Math.floor(exp * 1000) },
    ...(audiences.length === 0 ? {} : { audiences }),
    ...(agent === undefined ? {} : { agentId: agentIdIn(agent) }),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(certificate === undefined ? {} : { certificate }),
  };
}

const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;

/**
 * The certificate that a token is bound to; undefined if it is unbound; null if it is bound to
 * something else, such as a DPoP key, and so is no bearer token.   RFC 7800 §3, RFC 8705 §3.1, RFC 9449 §6
 */
function certificateIn(payload: JWTPayload): string | undefined | null {
  const confirmation = memberOf(payload, "cnf");
  if (confirmation === undefined) return undefined;
  const { "x5t#S256": thumbprint, ...others } = recordIn(confirmation);
  const isKnown = typeof thumbprint === "string" && THUMBPRINT.test(thumbprint);
  if (!isKnown || Object.keys(others).length > 0) return null;
  return Buffer.from(thumbprint, "base64url").toString("hex");
}

function agentIdIn(claim: unknown): string | null {
  return typeof claim === "string" && isAgentId(claim) ? claim : null;
}

/** Some issuers use `scp`, even beside a `scope` of other protocols. */
function scopesOf(payload: JWTPayload): readonly string[] {
  const scopes = scopesIn(memberOf(payload, "scope"));
  return scopes.length > 0 ? scopes : scopesIn(memberOf(payload, "scp"));
}

/** The scope tokens of a claim, a string or a list; scopes of other protocols are dropped, so they narrow nothing. */
function scopesIn(written: unknown): readonly string[] {
  const tokens = typeof written === "string" ? written.split(" ") : written;
  if (!Array.isArray(tokens)) return [];
  return tokens.filter((token) => typeof token === "string" && isScopeToken(token));
}

function isPlausibleIssueTime(iat: unknown, exp: number, now: number): boolean {
  if (typeof iat !== "number") return false;
  return iat >= 0 && iat <= exp && iat <= now / 1000 + CLOCK_TOLERANCE_S;
}

const CLAIM_FAULTS: ReadonlyMap<string, TokenFault> = new Map<string, TokenFault>([
  ["iss", "the token's issuer is not the expected one"],
  ["aud", "the token is for another audience"],
  ["exp", "the token has no usable expiry time"],
  ["nbf", "the token is not valid yet"],
  ["iat", "the token's issue time is not plausible"],
]);

/** Why codes: the library's messages may quote a claim. */
function faultOf(error: unknown): TokenFault {
  if (error instanceof errors.JWTExpired) return "the token has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    return CLAIM_FAULTS.get(error.claim) ?? "the token is no signed JWT";
  }
  return "the token is no signed JWT";
}
