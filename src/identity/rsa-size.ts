/**
 * The size of RSA keys that strangers send. Node computes the exponent of a key when it is asked for its modulus,
 * in time that grows with its square: seconds for one as long as a certificate may be, minutes as a key set.
 */
import type { KeyObject } from "node:crypto";

/** The sizes that are believed, in bits. */
export const RSA_BITS = { min: 2048, max: 8192 } as const;

/** Modulus and exponent of the largest key, and what stands around them.   RFC 8017 A.1.1, RFC 5280 §4.1 */
const MAX_OCTETS = (2 * RSA_BITS.max) / 8 + 64;

/** Tells whether an RSA key has more octets than one of the largest size, which nobody should compute with. */
export function isOversizedRsa(key: KeyObject): boolean {
  return key.export({ type: "spki", format: "der" }).length > MAX_OCTETS;
}
