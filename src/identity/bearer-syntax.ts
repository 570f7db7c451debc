/**
 * The checks of a bearer token before any key is used: the Authorization header's form, and the
 * token's own header and claims as far as they can be refused unverified. It refuses everything by
 * which a token could choose its own verification: no algorithm, a symmetric one, an embedded key,
 * critical extensions.   AGTP "Authorization", RFC 6750 §2.1, RFC 7515 §4, RFC 8725 §3
 */
import { isRecord, type JsonRecord } from "../base/json-value.ts";
import { decodeExactUtf8 } from "../base/utf8.ts";
import { parseBoundedJson } from "./json-document.ts";

/** The claims of a valid token. */
export interface TokenClaims {
  /** The value of the configured claim. */
  readonly principalId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The audiences of the token; undefined if it has no such claim. */
  readonly audiences?: readonly string[];
  /** The Agent-ID in `agent_claim`; null if the claim holds something else, undefined if it is absent. */
  readonly agentId?: string | null;
  /** The token's scopes that have the form of a scope token; undefined if it has no scope claim that applies here. */
  readonly scopes?: readonly string[];
  /**
   * SHA-256 of the only client certificate that may present the token, lower-case hex; undefined if
   * it is not bound.   RFC 8705 §3.1
   */
  readonly certificate?: string;
}

export type TokenVerdict =
  | ({ readonly kind: "valid" } & TokenClaims)
  | {
      readonly kind: "invalid";
      /** The reason, for the log and the caller; it quotes nothing of the token. */
      readonly reason: string;
    };

/** Verifies whole Authorization header values. */
export interface TokenVerifier {
  /** Returns a cached verdict that is still valid, without waiting. */
  recall(authorization: string): TokenVerdict | undefined;
  /** Verifies the token; never rejects, because an unverifiable token is invalid. */
  verify(authorization: string): Promise<TokenVerdict>;
  close(): Promise<void>;
}

/** The reasons a token is refused; none quotes it. */
export type TokenFault =
  | "the Authorization scheme must be Bearer, with one token"
  | "the token is too long"
  | "the token is no signed JWT"
  | "the token is signed by an algorithm that is not accepted"
  | "the token brings a key of its own"
  | "the token has critical header parameters"
  | "the token is of another type than an access token"
  | "no key of the issuer fits the token"
  | "the token's signature does not verify"
  | "the token's issuer is not the expected one"
  | "the token is for another audience"
  | "the token has no usable expiry time"
  | "the token has expired"
  | "the token is not valid yet"
  | "the token's issue time is not plausible"
  | "the token names no usable principal"
  | "the token is bound to a key that only other protocols prove"
  | "the token is bound to another client certificate"
  | "the token is another agent's"
  | "too many tokens are being verified"
  | "keys unavailable";

/**
 * The fault of a token bound to a certificate, if the peer presents another one or none.   RFC 8705 §3
 */
export function bindingFault(
  { certificate }: TokenClaims,
  presented: { readonly fingerprint: string } | undefined,
): TokenFault | undefined {
  if (certificate === undefined || certificate === presented?.fingerprint) return undefined;
  return "the token is bound to another client certificate";
}

/** The fault of a token whose `agent_claim` names another agent than the caller, or is no Agent-ID. */
export function agentFault(
  { agentId }: TokenClaims,
  asking: string | undefined,
): TokenFault | undefined {
  if (agentId === undefined || asking === undefined || agentId === asking) return undefined;
  return "the token is another agent's";
}

/** A token's header: the algorithm and key that signed it. */
export interface TokenHeader {
  readonly alg: SignatureAlgorithm;
  readonly kid: string | undefined;
}

/** Only asymmetric algorithms: a public key must never be taken for a shared secret. */
export const SIGNATURE_ALGORITHMS = [
  "EdDSA",
  // The fully specified name of EdDSA with this curve, RFC 9864.
  "Ed25519",
  "ES256",
  "ES384",
  "ES512",
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
] as const;
export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number];

/** The maximum length of a token in characters; longer ones are refused unread. */
const MAX_TOKEN_LENGTH = 16_384;
const MAX_SCHEME_LENGTH = 16;

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/;
/** The accepted types: ID tokens and logout tokens are signed by the same keys, and other types say so. */
const ACCESS_TOKEN = /^(?:application\/)?(?:at\+)?jwt$/i;
const OWN_KEYS = ["jwk", "jku", "x5c", "x5u"] as const;

/** Extracts the token from the whole value of an Authorization header. */
export function readAuthorization(
  value: string,
): { readonly token: string } | { readonly fault: TokenFault } {
  if (value.length > MAX_TOKEN_LENGTH + MAX_SCHEME_LENGTH)
    return { fault: "the token is too long" };
  const token = BEARER.exec(value)?.[1];
  if (token === undefined) {
    return { fault: "the Authorization scheme must be Bearer, with one token" };
  }
  return token.length > MAX_TOKEN_LENGTH ? { fault: "the token is too long" } : { token };
}

/**
 * The algorithm and key that the token names, or the reason it is refused regardless of its signer.
 */
export function inspectToken(
  token: string,
): { readonly header: TokenHeader } | { readonly fault: TokenFault } {
  const parts = takeApart(token);
  return parts === undefined ? NO_JWT : inspectHeader(parts.header, ACCESS_TOKEN);
}

const NO_JWT = { fault: "the token is no signed JWT" } as const;

/**
 * The header and claims of a token, both unverified. Undefined for text that is not a JWT, and for
 * duplicate claims, which different parsers read differently.
 */
export function takeApart(
  token: string,
): { readonly header: JsonRecord; readonly claims: JsonRecord } | undefined {
  const [, encodedHeader = "", encodedClaims = ""] = COMPACT.exec(token) ?? [];
  const header = readPart(encodedHeader);
  const claims = header && readPart(encodedClaims);
  return header && claims && { header, claims };
}

/** Checks the header of a token of one type; returns it, or the reason no signature with it is accepted. */
export function inspectHeader(
  header: JsonRecord,
  type: RegExp,
): { readonly header: TokenHeader } | { readonly fault: TokenFault } {
  const { alg, kid, typ } = header;
  if (!isAccepted(alg))
    return { fault: "the token is signed by an algorithm that is not accepted" };
  if (OWN_KEYS.some((name) => Object.hasOwn(header, name))) {
    return { fault: "the token brings a key of its own" };
  }
  if (Object.hasOwn(header, "crit") || Object.hasOwn(header, "b64")) {
    return { fault: "the token has critical header parameters" };
  }
  if (typ !== undefined && !(typeof typ === "string" && type.test(typ))) {
    return { fault: "the token is of another type than an access token" };
  }
  if (kid === undefined || typeof kid === "string") return { header: { alg, kid } };
  return NO_JWT;
}

function isAccepted(alg: unknown): alg is SignatureAlgorithm {
  return (SIGNATURE_ALGORITHMS as readonly unknown[]).includes(alg);
}

/** Decodes a part of a token into its JSON object; only the canonical base64url form is accepted. */
function readPart(encoded: string): JsonRecord | undefined {
  const octets = Buffer.from(encoded, "base64url");
  if (octets.toString("base64url") !== encoded) return undefined;
  const text = decodeExactUtf8(octets);
  if (text === undefined) return undefined;
  const parsed = parseBoundedJson(text);
  return parsed.fault === undefined && isRecord(parsed.value) ? parsed.value : undefined;
}
