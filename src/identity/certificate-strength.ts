/**
 * Which signature algorithms and keys a certificate may have. SHA-1 and MD5 can be forged, short
 * RSA keys broken, and a key of extreme size costs whoever verifies with it.   RFC 5280 §4.1.1.2
 */
import type { KeyObject } from "node:crypto";
import { childrenOf, type DerElement, DerTag, readOid } from "./certificate-der.ts";
import type { CertificateFault } from "./certificate-fields.ts";

const STRONG_SIGNATURES: ReadonlySet<string> = new Set([
  "1.2.840.113549.1.1.11", // sha256WithRSAEncryption
  "1.2.840.113549.1.1.12",
  "1.2.840.113549.1.1.13",
  "1.2.840.10045.4.3.2", // ecdsa-with-SHA256
  "1.2.840.10045.4.3.3",
  "1.2.840.10045.4.3.4",
  "1.3.101.112", // Ed25519
  "1.3.101.113", // Ed448
]);
const RSASSA_PSS = "1.2.840.113549.1.1.10";
const MGF1 = "1.2.840.113549.1.1.8";
const STRONG_HASHES: ReadonlySet<string> = new Set([
  "2.16.840.1.101.3.4.2.1", // SHA-256
  "2.16.840.1.101.3.4.2.2",
  "2.16.840.1.101.3.4.2.3",
]);
const CURVES: ReadonlySet<string> = new Set(["prime256v1", "secp384r1", "secp521r1"]);
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;

/** Tells whether a certificate that is signed in this way can be forged. */
export function checkSignatureAlgorithm(algorithm: DerElement): CertificateFault | undefined {
  const [identifier, parameters] = childrenOf(algorithm, DerTag.sequence) ?? [];
  const oid = readOid(identifier);
  if (oid === undefined) return { fault: "is not well-formed" };
  const isStrong = oid === RSASSA_PSS ? isStrongPss(parameters) : STRONG_SIGNATURES.has(oid);
  return isStrong
    ? undefined
    : { fault: `is signed with an algorithm that is not accepted, ${oid}` };
}

/** Tells whether a certificate's key is of a kind and size that is believed. */
export function checkKey(key: KeyObject): CertificateFault | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === "ed25519" || type === "ed448") return undefined;
  if (type === "ec" && CURVES.has(details?.namedCurve ?? "")) return undefined;
  if (type !== "rsa" && type !== "rsa-pss") {
    return { fault: `has a key that is not accepted, ${details?.namedCurve ?? type}` };
  }
  const bits = details?.modulusLength ?? 0;
  if (bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS) return undefined;
  return { fault: `has an RSA key of ${bits} bits, not of ${MIN_RSA_BITS} to ${MAX_RSA_BITS}` };
}

/** Both hashes default to SHA-1 where they are left out.   RFC 4055 §3.1 */
function isStrongPss(parameters: DerElement | undefined): boolean {
  const [hash, mask] = childrenOf(parameters, DerTag.sequence) ?? [];
  const [hashAlgorithm] = childrenOf(hash, DerTag.context0) ?? [];
  const [maskAlgorithm] = childrenOf(mask, DerTag.context1) ?? [];
  const [maskKind, maskHash] = childrenOf(maskAlgorithm, DerTag.sequence) ?? [];
  return isStrongHash(hashAlgorithm) && readOid(maskKind) === MGF1 && isStrongHash(maskHash);
}

function isStrongHash(algorithm: DerElement | undefined): boolean {
  const [identifier] = childrenOf(algorithm, DerTag.sequence) ?? [];
  return STRONG_HASHES.has(readOid(identifier) ?? "");
}
