/**
 * A delegation token: one hop as a JWT, signed with the delegating server's Ed25519 key. `chain.ts` decides which
 * servers may vouch.   AGTP "DELEGATE", RFC 7519, RFC 8725
 */
import type { KeyObject } from "node:crypto";
import { given, isRecord } from "../../base/json-value.ts";
import { type LateLoad, loadLate } from "../../base/late-load.ts";
import { inspectHeader, takeApart } from "../../identity/bearer-syntax.ts";
import { type Ed25519PublicKey, publicKeyOf } from "../../identity/ed25519.ts";
import { isAgentId, isOpaqueId, isSha256 } from "../../identity/identifiers.ts";
import { keyId } from "../../identity/jws.ts";
import { Collection } from "../../state/collection.ts";
import { MAX_NAME_BYTES } from "../../state/entry-limits.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";
import { readScopes } from "./scopes.ts";

/** The claims of a token; times are milliseconds since the epoch. */
export interface TokenClaims {
  /** The server that signs the token. */
  readonly issuer: string;
  /** The delegating agent. */
  readonly subject: string;
  /** The server that the task is sent to. */
  readonly audience: string;
  /** The agent that the task is delegated to. */
  readonly target: string;
  readonly scopes: readonly string[];
  /** SHA-256 of the earlier hops' tokens, oldest first. */
  readonly chain: readonly string[];
  readonly deadline: number;
  readonly id: string;
  readonly taskHash: string;
  /** The governance zone that the work stays in; undefined: any. */
  readonly zone?: string;
}

interface TokenFault {
  readonly fault: "malformed" | "unknown-issuer" | "signature" | "expired";
  readonly message: string;
  /** The issuer claim, unverified. */
  readonly issuer?: string;
}

/** Loaded between the start and the first task, where there are peers. */
export const loadJose: LateLoad<typeof import("jose")> = loadLate(() => import("jose"));

/** The token type, which no attribution record or other JWT has. */
const TYPE = "agtp-delegation+jwt";
const DELEGATION = /^(?:application\/)?agtp-delegation\+jwt$/i;
const MAX_TOKEN_LENGTH = 16_384;
/** The largest difference between the clocks of two servers. */
const CLOCK_TOLERANCE_S = 5;
/** The longest lifetime of a token. */
const MAX_LIFETIME_S = 86_400;

/** Signs a token. */
export async function signToken(claims: TokenClaims, key: KeyObject, now: number): Promise<string> {
  const { SignJWT } = await loadJose();
  const publicKey = publicKeyOf(key);
  if (publicKey === undefined) throw new TypeError("tokens are signed with Ed25519 keys only");
  return new SignJWT({
    target: claims.target,
    scopes: [...claims.scopes],
    chain: [...claims.chain],
    deadline: new Date(claims.deadline).toISOString(),
    task_hash: claims.taskHash,
    ...given({ zone: claims.zone }),
  })
    .setProtectedHeader({ alg: "EdDSA", kid: keyId(publicKey), typ: TYPE })
    .setIssuer(claims.issuer)
    .setSubject(claims.subject)
    .setAudience(claims.audience)
    .setIssuedAt(Math.floor(now / 1000))
    .setExpirationTime(Math.ceil(claims.deadline / 1000))
    .setJti(claims.id)
    .sign(key);
}

/** Returns the claims of a token, verified with its issuer's key, or its fault; never rejects. */
export async function verifyToken(
  token: string,
  keyFor: (issuer: string) => Ed25519PublicKey | undefined,
  now: number,
): Promise<TokenClaims | TokenFault> {
  if (token.length > MAX_TOKEN_LENGTH) return { fault: "malformed", message: "it is too long" };
  const { header, claims } = takeApart(token) ?? {};
  if (header === undefined) return { fault: "malformed", message: "it is no signed JWT" };
  const issuer = claims?.["iss"];
  if (typeof issuer !== "string") return { fault: "malformed", message: "it names no issuer" };
  const key = keyFor(issuer);
  if (key === undefined) {
    return { fault: "unknown-issuer", message: "its issuer is no peer of this server", issuer };
  }
  if ("fault" in inspectHeader(header, DELEGATION)) {
    return { fault: "malformed", message: MALFORMED, issuer };
  }
  const { errors, jwtVerify } = await loadJose();
  try {
    const { payload } = await jwtVerify(token, key.key, {
      algorithms: ["EdDSA", "Ed25519"],
      typ: TYPE,
      requiredClaims: ["iss", "sub", "aud", "exp", "iat", "jti"],
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: new Date(now),
    });
    return readClaims(payload, now) ?? { fault: "malformed", message: MALFORMED, issuer };
  } catch (error) {
    if (error instanceof errors.JWTExpired) {
      return { fault: "expired", message: "it has expired", issuer };
    }
    if (error instanceof errors.JWSSignatureVerificationFailed) {
      return { fault: "signature", message: "its signature does not verify", issuer };
    }
    return { fault: "malformed", message: MALFORMED, issuer };
  }
}

const MALFORMED = "its header or claims are not those of a delegation token";
const MAX_HOPS = 16;

function readClaims(
  payload: Readonly<Record<string, unknown>>,
  now: number,
): TokenClaims | undefined {
  const { iss, sub, aud, jti, iat, exp, target, chain, deadline, task_hash: taskHash } = payload;
  const scopes = readScopes(payload["scopes"]);
  const { zone } = payload;
  const texts = [iss, sub, aud, jti, target, deadline, taskHash, zone ?? ""];
  if (!texts.every((text) => typeof text === "string" && text.length <= 512)) return undefined;
  // The subject must be an Agent-ID, because a name is not unique.
  if (!isAgentId(String(sub)) || !isKeepable(String(iss), String(jti))) return undefined;
  if (typeof scopes === "string" || !isHashList(chain)) return undefined;
  if (typeof iat !== "number" || typeof exp !== "number") return undefined;
  const at = Date.parse(String(deadline));
  const isPlausible =
    iat <= now / 1000 + CLOCK_TOLERANCE_S &&
    // `iat` and `exp` are rounded outwards to whole seconds.
    exp - iat <= MAX_LIFETIME_S + 1 &&
    at <= exp * 1000;
  if (!isPlausible) return undefined;
  return {
    ...{ issuer: String(iss), subject: String(sub), audience: String(aud), id: String(jti) },
    ...{ target: String(target), scopes, chain, deadline: at, taskHash: String(taskHash) },
    ...(typeof zone === "string" ? { zone } : {}),
  };
}

/** Tells whether a token's id can be stored. */
function isKeepable(issuer: string, id: string): boolean {
  return isOpaqueId(id) && Buffer.byteLength(seenKey(issuer, id)) <= MAX_NAME_BYTES;
}

function isHashList(value: unknown): value is readonly string[] {
  if (!Array.isArray(value) || value.length >= MAX_HOPS) return false;
  return value.every((one) => typeof one === "string" && isSha256(one));
}

/** Tells whether a verdict is a fault. */
export function isTokenFault(verdict: TokenClaims | TokenFault): verdict is TokenFault {
  return isRecord(verdict) && "fault" in verdict;
}

interface SeenToken {
  readonly issuer: string;
  /** The time after which the token is not accepted anyway, in milliseconds since the epoch. */
  readonly until: number;
}

const MAX_PER_ISSUER = 10_000;
/**
 * The clock never steps back, but after a kill it may resume earlier than it had come. Tokens are kept this much
 * longer than needed, so that a forgotten one is not accepted again.
 */
const CLOCK_STEP_MS = 3_600_000;

type Taken = "fresh" | "seen" | "full";

/**
 * The tokens that were taken: each is good for one task, even across restarts. Only verified tokens of peers are
 * stored, while they could be replayed, up to a quota for each peer.
 */
export class SeenTokens {
  readonly #seen: Collection<SeenToken>;

  private constructor(seen: Collection<SeenToken>) {
    this.#seen = seen;
  }

  /** Opens the register of a store; `now` decides both acceptance and removal of tokens. */
  static async open(store: Store, now: () => number): Promise<SeenTokens> {
    const seen = await Collection.open(store, {
      name: "delegation-tokens",
      read: recordReader<SeenToken>({ issuer: "string", until: "number" }),
      ownerOf: ({ issuer }) => issuer,
      orderOf: ({ until }) => until,
      forgottenAt: ({ until }) => until + CLOCK_STEP_MS,
      quota: { perOwner: MAX_PER_ISSUER },
      // A token that could be replayed is never evicted.
      rankOf: ({ until }, at) => (until < at ? 0 : undefined),
      now,
    });
    return new SeenTokens(seen);
  }

  /** Takes a token, and resolves once it is stored; it is not accepted after `until` anyway. */
  async take(issuer: string, id: string, until: number): Promise<Taken> {
    const { kind } = await this.#seen.add(seenKey(issuer, id), { issuer, until });
    if (kind === "taken") return "seen";
    return kind === "full" ? "full" : "fresh";
  }
}

function seenKey(issuer: string, id: string): string {
  return `${issuer} ${id}`;
}
