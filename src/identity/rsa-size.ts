/**
 * The size limit of untrusted RSA keys. Node computes a key's exponent when asked for its modulus,
 * in quadratic time: seconds for the longest certificate, minutes for a key set.
 */
import type { KeyObject } from "node:crypto";

/** The accepted sizes in bits. */
export const RSA_BITS = { min: 2048, max: 8192 } as const;

/** Modulus and exponent of the largest key, with their encoding.   RFC 8017 A.1.1, RFC 5280 §4.1 */
const MAX_OCTETS = (2 * RSA_BITS.max) / 8 + 64;

/** Returns true if an RSA key is longer than the largest accepted one, without computing with it. */
export function isOversizedRsa(key: KeyObject): boolean {
  return key.export({ type: "spki", format: "der" }).length > MAX_OCTETS;
}
