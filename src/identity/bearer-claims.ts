/**
 * A token under one key of its issuer: does the signature verify, and do the claims hold here and
 * now? Whoever the token speaks for must be nameable in a record and in a log line.
 * RFC 7519 §4.1, AGTP "Authorization"
 */
import type { KeyObject } from "node:crypto";
import { errors, type JWTPayload, jwtVerify } from "jose";
import { isScopeToken } from "./authority-scope.ts";
import { SIGNATURE_ALGORITHMS, type TokenClaims, type TokenFault } from "./bearer-syntax.ts";

/** The claims that tokens must have. */
export interface TokenPolicy {
  readonly issuer: string;
  /** Undefined: for whom a token was issued is not looked at. */
  readonly audience?: string;
  /** The claim that names the principal. */
  readonly principalClaim: string;
  /** The claim that holds an Agent-ID. */
  readonly agentClaim?: string;
}

/** The most that the clocks of issuer and server may differ. */
const CLOCK_TOLERANCE_S = 30;
/** The last second that a Date can hold. */
const MAX_TIME_S = 8_640_000_000_000;

/** Printable ASCII and Latin-1, no blank at either end: nothing that could break or forge a line. */
const PRINCIPAL = /^[\x21-\x7e\xa1-\xff](?:[\x20-\x7e\xa0-\xff]{0,254}[\x21-\x7e\xa1-\xff])?$/;

/** Verifies a token under the first of some keys that made its signature. */
export async function verifyClaims(
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

/** The claims beyond those that every verifier of tokens looks at. */
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
  const principal = claimOf(payload, principalClaim);
  if (typeof principal !== "string" || !PRINCIPAL.test(principal)) {
    return "the token names no usable principal";
  }
  const agent = agentClaim === undefined ? undefined : claimOf(payload, agentClaim);
  const audiences = [payload.aud ?? []].flat();
  const scopes = scopesOf(payload);
  return {
    ...{ principalId: principal, expiresAt: Math.floor(exp * 1000) },
    ...(audiences.length === 0 ? {} : { audiences }),
    ...(typeof agent === "string" ? { agentId: agent } : {}),
    ...(scopes.length === 0 ? {} : { scopes }),
  };
}

/** The names that an issuer may choose are also those of what every object has. */
function claimOf(payload: JWTPayload, name: string): unknown {
  return Object.hasOwn(payload, name) ? payload[name] : undefined;
}

/** Issuers write scopes as one text or as a list; those of other protocols narrow nothing here. */
function scopesOf(payload: JWTPayload): readonly string[] {
  const written = claimOf(payload, "scope") ?? claimOf(payload, "scp");
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

/** The library's messages may quote a claim; its codes do not. */
function faultOf(error: unknown): TokenFault {
  if (error instanceof errors.JWTExpired) return "the token has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    return CLAIM_FAULTS.get(error.claim) ?? "the token is no signed JWT";
  }
  return "the token is no signed JWT";
}
