/** The public key of a passkey as a JWK, which every library of signatures reads.   RFC 9052, RFC 7517 */
import { decodeCredentialPublicKey } from "@simplewebauthn/server/helpers";
import type { JsonRecord } from "../../base/json-value.ts";

/** Labels of COSE_Key.   RFC 9053 */
const LABEL = { alg: 3, crv: -1, x: -2, y: -3, n: -1, e: -2 } as const;

/** Undefined for a kind of key that is none of those that are asked for. */
export function jwkOfCose(cose: Uint8Array<ArrayBuffer>): JsonRecord | undefined {
  const key = decodeCredentialPublicKey(cose) as unknown as ReadonlyMap<number, unknown>;
  const text = (label: number): string => {
    const value = key.get(label);
    return value instanceof Uint8Array ? Buffer.from(value).toString("base64url") : "";
  };
  switch (key.get(LABEL.alg)) {
    case -7:
      return { kty: "EC", crv: "P-256", alg: "ES256", x: text(LABEL.x), y: text(LABEL.y) };
    case -8:
      return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", x: text(LABEL.x) };
    case -257:
      return { kty: "RSA", alg: "RS256", n: text(LABEL.n), e: text(LABEL.e) };
    default:
      return undefined;
  }
}
