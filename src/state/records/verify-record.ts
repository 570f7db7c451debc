/**
 * Verifies one Attribution-Record: a compact JWS, signed with Ed25519 by a known key, or explicitly unsigned.
 * Anything else is rejected.   AGTP-IDENTIFIERS "Attribution-Record", RFC 8037, RFC 9864
 */

import { type JsonRecord, quoteValue } from "../../base/json-value.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { decodeJws, isSignedBy, keyId } from "../../identity/jws.ts";

export type RecordVerdict =
  | { readonly kind: "verified"; readonly payload: JsonRecord; readonly kid: string }
  /** `alg` is none, so anybody could have written it. */
  | { readonly kind: "unsigned"; readonly payload: JsonRecord }
  /** It is signed, but no key was given to check it. */
  | { readonly kind: "unchecked"; readonly payload: JsonRecord }
  | {
      readonly kind: "malformed-record" | "bad-signature" | "unknown-key";
      /** Continues a sentence that begins with the record. */
      readonly fault: string;
    };

const ALGORITHMS: readonly unknown[] = ["EdDSA", "Ed25519"];

/** Verifies a record; without keys, signatures are not checked. */
export function verifyRecord(jws: string, keys: readonly Ed25519PublicKey[]): RecordVerdict {
  const decoded = decodeJws(jws);
  if (decoded === undefined) return malformed("is no compact JWS of a JSON object");
  const { header, payload, signature } = decoded;
  const { alg, kid } = header;
  // RFC 7515 §4.1.11: critical header members that are not understood must not be ignored.
  if ("crit" in header) return malformed("has a critical header member that is not understood");
  if (alg === "none") {
    if (signature === "") return { kind: "unsigned", payload };
    return malformed('has a signature, though its alg is "none"');
  }
  if (!ALGORITHMS.includes(alg)) return malformed(`has the alg ${quoteValue(alg)}, not "EdDSA"`);
  if (keys.length === 0) return { kind: "unchecked", payload };
  const candidates = keys.filter((key) => kid === undefined || kid === keyId(key));
  if (candidates.length === 0) {
    return { kind: "unknown-key", fault: `is signed with another key, ${quoteValue(kid)}` };
  }
  const signer = candidates.find((key) => isSignedBy(decoded, key));
  if (signer !== undefined) return { kind: "verified", payload, kid: keyId(signer) };
  return { kind: "bad-signature", fault: "has a signature that does not verify" };
}

function malformed(fault: string): RecordVerdict {
  return { kind: "malformed-record", fault };
}
