/** Compact JWS with Ed25519, the signature of records and manifests. RFC 7515 §7.1, RFC 8037 */
import type { KeyObject } from "node:crypto";
import { isRecord, type JsonRecord, parseRecord } from "../base/json-value.ts";
import { decodeExactUtf8 } from "../base/utf8.ts";
import { type Ed25519PublicKey, publicKeyOf, readPublicKey, verifyDetached } from "./ed25519.ts";

/** A parsed compact JWS, not yet verified. */
interface DecodedJws {
  readonly header: JsonRecord;
  readonly payload: JsonRecord;
  /** The octets that are signed. */
  readonly input: string;
  /** base64url; empty when unsigned. */
  readonly signature: string;
}

const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/;

/** Parses a compact JWS; undefined unless header and payload are JSON objects. */
export function decodeJws(jws: string): DecodedJws | undefined {
  const [, header = "", payload = "", signature = ""] = COMPACT.exec(jws) ?? [];
  const decodedHeader = decodeObject(header);
  const decodedPayload = decodeObject(payload);
  if (decodedHeader === undefined || decodedPayload === undefined) return undefined;
  const input = `${header}.${payload}`;
  return { header: decodedHeader, payload: decodedPayload, input, signature };
}

/** The `kid` of a key: `ed25519-` and the first 16 hex digits of its fingerprint. */
export function keyId({ fingerprint }: Ed25519PublicKey): string {
  return `ed25519-${fingerprint.slice(0, 16)}`;
}

/** The encoded header; it contains the public key, so that integrity can be checked without another source. */
export function compactHeader(key: KeyObject): string {
  const publicKey = publicKeyOf(key);
  if (publicKey === undefined) throw new TypeError("a JWS is signed with Ed25519 keys only");
  const jwk = { kty: "OKP", crv: "Ed25519", x: publicKey.text };
  const header = JSON.stringify({ alg: "EdDSA", kid: keyId(publicKey), typ: "JWT", jwk });
  return Buffer.from(header).toString("base64url");
}

/** The key in a header; it proves that nothing was altered, not who signed. */
export function keyOfHeader({ jwk }: JsonRecord): Ed25519PublicKey | undefined {
  if (!isRecord(jwk) || jwk["kty"] !== "OKP" || jwk["crv"] !== "Ed25519") return undefined;
  const { x } = jwk;
  return typeof x === "string" ? readPublicKey(x) : undefined;
}

/** Returns true if a decoded JWS is signed by this key; other algorithms than Ed25519 never are. */
export function isSignedBy(
  { header, input, signature }: DecodedJws,
  key: Ed25519PublicKey,
): boolean {
  const { alg } = header;
  if ((alg !== "EdDSA" && alg !== "Ed25519") || "crit" in header) return false;
  return verifyDetached(key, Buffer.from(input, "latin1"), signature);
}

function decodeObject(segment: string): JsonRecord | undefined {
  const text = decodeExactUtf8(Buffer.from(segment, "base64url"));
  return text === undefined ? undefined : parseRecord(text);
}
