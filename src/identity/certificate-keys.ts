/** Keys that certificates are made for, and signed with.   RFC 5280 §4.1.1.2 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { encodeElement, encodeOid, encodeSequence } from "./certificate-der.ts";
import type { CertificateFault } from "./certificate-fields.ts";

/** The kind of key that is made for an agent. */
export type KeyKind = "p256" | "ed25519";

/** Signs certificates. */
export interface CertificateSigner {
  readonly key: KeyObject;
  /** The AlgorithmIdentifier of its signatures, in DER. */
  readonly algorithm: Buffer;
  sign(octets: Buffer): Buffer;
}

const ECDSA: ReadonlyMap<string, readonly [oid: string, hash: string]> = new Map([
  ["prime256v1", ["1.2.840.10045.4.3.2", "sha256"]],
  ["secp384r1", ["1.2.840.10045.4.3.3", "sha384"]],
  ["secp521r1", ["1.2.840.10045.4.3.4", "sha512"]],
]);
const ED25519 = "1.3.101.112";
const SHA256_WITH_RSA = "1.2.840.113549.1.1.11";
const NULL_TAG = 0x05;

/** A new private key as PKCS #8 PEM. */
export function makeKey(kind: KeyKind): string {
  const { privateKey } =
    kind === "p256"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("ed25519");
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** The signer with a CA's key in PEM, not encrypted. */
export function createSigner(pem: string): CertificateSigner | CertificateFault {
  const key = parsePrivateKey(pem);
  if (key === undefined) return { fault: "the CA's key must be a private key in PEM" };
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === "ed25519") return signerOf(key, null, encodeOid(ED25519));
  if (type === "rsa") {
    return signerOf(key, "sha256", encodeOid(SHA256_WITH_RSA), encodeElement(NULL_TAG));
  }
  const [oid, hash] = ECDSA.get(details?.namedCurve ?? "") ?? [];
  if (oid !== undefined && hash !== undefined) return signerOf(key, hash, encodeOid(oid));
  const got = details?.namedCurve ?? type;
  return { fault: `the CA's key must be Ed25519, RSA, or of P-256, P-384 or P-521, got ${got}` };
}

function signerOf(
  key: KeyObject,
  hash: string | null,
  ...identifier: readonly Buffer[]
): CertificateSigner {
  return {
    key,
    algorithm: encodeSequence(...identifier),
    sign: (octets) => sign(hash, octets, key),
  };
}

/** A private key in PEM, not encrypted; undefined for what is none. */
export function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
