/**
 * The requirements on a certificate by its position in a path: the client's own at one end, and
 * those of the CAs. Returns the first fault found.   RFC 5280 §6.1.3, §6.1.4
 */
import type { KeyObject, X509Certificate } from "node:crypto";
import { isAgentExtension } from "./certificate-agent-extensions.ts";
import {
  childrenOf,
  type DerElement,
  DerTag,
  readBoolean,
  readElement,
  readNatural,
  readOid,
} from "./certificate-der.ts";
import {
  type CertificateExtension,
  type CertificateFault,
  type CertificateFields,
  readCertificateFields,
} from "./certificate-fields.ts";
import { isOversizedRsa, RSA_BITS } from "./rsa-size.ts";

/** A certificate's fields and constraints. */
type CertificateDescription = CertificateFields & CertificateConstraints;

/** The position of an issuer in a path. */
interface IssuerPlace {
  /** The number of other CAs below it. */
  readonly authorities: number;
  /** True if this server trusts it by itself. */
  readonly isAnchor: boolean;
}

/** Reads a certificate's fields and constraints. */
export function describeCertificate(
  certificate: X509Certificate,
): CertificateDescription | CertificateFault {
  const fields = readCertificateFields(certificate.raw);
  if ("fault" in fields) return fields;
  const constraints = readConstraints(fields.extensions);
  return "fault" in constraints ? constraints : { ...fields, ...constraints };
}

/** Checks that a certificate may be a client's at this time; returns its description. */
export function checkClient(
  certificate: X509Certificate,
  now: number,
): CertificateDescription | CertificateFault {
  const description = describeCertificate(certificate);
  if ("fault" in description) return description;
  const fault =
    checkValidity(description, now) ??
    checkCriticalExtensions(description.extensions, "client") ??
    checkSignatureAlgorithm(description.signatureAlgorithm) ??
    checkPublicKey(certificate);
  if (fault !== undefined) return fault;
  if (!description.mayAuthenticateClients) return NOT_FOR_CLIENTS;
  return description.maySign ? description : { fault: "has a key that is not for signing" };
}

/** Checks that a certificate may be an issuer's at this position and time; returns its description. */
export function checkIssuer(
  certificate: X509Certificate,
  { authorities, isAnchor }: IssuerPlace,
  now: number,
): CertificateDescription | CertificateFault {
  const description = describeCertificate(certificate);
  if ("fault" in description) return description;
  const fault =
    checkAuthority(description, authorities) ??
    checkValidity(description, now) ??
    checkCriticalExtensions(description.extensions, "issuer") ??
    // An anchor is trusted because it is configured, whoever signed it.
    (isAnchor ? undefined : checkSignatureAlgorithm(description.signatureAlgorithm)) ??
    checkPublicKey(certificate);
  return fault ?? description;
}

/** The public key of a certificate, if its size is acceptable for computation. */
export function usableKeyOf(certificate: X509Certificate): KeyObject | undefined {
  const key = keyOf(certificate);
  return key === undefined || checkKey(key) !== undefined ? undefined : key;
}

const NOT_FOR_CLIENTS: CertificateFault = { fault: "is not for authenticating clients" };

function checkAuthority(
  { isAuthority, maySignCertificates, mayAuthenticateClients, pathLength }: CertificateConstraints,
  authorities: number,
): CertificateFault | undefined {
  if (!isAuthority) return { fault: "is no CA by its basicConstraints" };
  if (!maySignCertificates) return { fault: "may not sign certificates by its keyUsage" };
  // A CA with other key purposes does not vouch for clients.
  if (!mayAuthenticateClients) return NOT_FOR_CLIENTS;
  if (pathLength === undefined || authorities <= pathLength) return undefined;
  return { fault: `allows ${pathLength} CAs below it, not ${authorities}` };
}

function checkValidity(
  { notBefore, notAfter }: CertificateFields,
  now: number,
): CertificateFault | undefined {
  if (now > notAfter) return { fault: `expired at ${new Date(notAfter).toISOString()}` };
  if (now >= notBefore) return undefined;
  return { fault: `is not valid before ${new Date(notBefore).toISOString()}` };
}

function checkPublicKey(certificate: X509Certificate): CertificateFault | undefined {
  const key = keyOf(certificate);
  return key === undefined ? { fault: "has a key that cannot be read" } : checkKey(key);
}

function keyOf(certificate: X509Certificate): KeyObject | undefined {
  try {
    return certificate.publicKey;
  } catch {
    return undefined;
  }
}

/** The accepted signature algorithms; SHA-1 and MD5 can be forged.   RFC 5280 §4.1.1.2 */
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

/** Returns a fault if signatures with this algorithm can be forged. */
export function checkSignatureAlgorithm(algorithm: DerElement): CertificateFault | undefined {
  const [identifier, parameters] = childrenOf(algorithm, DerTag.sequence) ?? [];
  const oid = readOid(identifier);
  if (oid === undefined) return { fault: "is not well-formed" };
  const isStrong = oid === RSASSA_PSS ? isStrongPss(parameters) : STRONG_SIGNATURES.has(oid);
  return isStrong
    ? undefined
    : { fault: `is signed with an algorithm that is not accepted, ${oid}` };
}

/** Returns a fault if a certificate's key is of an unaccepted type or size. */
export function checkKey(key: KeyObject): CertificateFault | undefined {
  const { asymmetricKeyType: type } = key;
  if (type === "ed25519" || type === "ed448") return undefined;
  const isRsa = type === "rsa" || type === "rsa-pss";
  if (isRsa && isOversizedRsa(key)) {
    return { fault: `has an RSA key that is longer than one of ${RSA_BITS.max} bits` };
  }
  const { asymmetricKeyDetails: details } = key;
  if (type === "ec" && CURVES.has(details?.namedCurve ?? "")) return undefined;
  if (!isRsa) return { fault: `has a key that is not accepted, ${details?.namedCurve ?? type}` };
  const bits = details?.modulusLength ?? 0;
  if (bits >= RSA_BITS.min && bits <= RSA_BITS.max) return undefined;
  return { fault: `has an RSA key of ${bits} bits, not of ${RSA_BITS.min} to ${RSA_BITS.max}` };
}

/** Both hashes default to SHA-1 if absent.   RFC 4055 §3.1 */
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

/** The permitted uses of a certificate's key. An absent extension forbids nothing. */
interface CertificateConstraints {
  /** True for a CA's certificate. */
  readonly isAuthority: boolean;
  /** The maximum number of CAs below this one; undefined if unlimited. */
  readonly pathLength: number | undefined;
  readonly maySign: boolean;
  readonly maySignCertificates: boolean;
  readonly mayAuthenticateClients: boolean;
}

type Extensions = ReadonlyMap<string, CertificateExtension>;

const KEY_USAGE = "2.5.29.15";
const SUBJECT_ALT_NAME = "2.5.29.17";
const BASIC_CONSTRAINTS = "2.5.29.19";
const EXTENDED_KEY_USAGE = "2.5.29.37";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const ANY_EXTENDED_KEY_USAGE = "2.5.29.37.0";
const DIGITAL_SIGNATURE = 0x80;
const KEY_CERT_SIGN = 0x04;

/**
 * The critical extensions that this server honours. Identity rests on keys and AGTP extensions,
 * never on names, so an alternative name is honoured by ignoring it. Constraints on names and
 * policies are not honoured: a CA that has them in a critical extension is refused.
 */
const OBEYED: ReadonlySet<string> = new Set([
  KEY_USAGE,
  SUBJECT_ALT_NAME,
  BASIC_CONSTRAINTS,
  EXTENDED_KEY_USAGE,
]);

/** Returns a fault for a critical extension that is not honoured; AGTP extensions are for clients only. */
export function checkCriticalExtensions(
  extensions: Extensions,
  role: "client" | "issuer",
): CertificateFault | undefined {
  for (const [oid, { isCritical }] of extensions) {
    if (!isCritical || OBEYED.has(oid)) continue;
    if (role === "client" && isAgentExtension(oid)) continue;
    return { fault: `has a critical extension that is not known here, ${oid}` };
  }
  return undefined;
}

/** Reads the standard extensions that limit the use of a key. */
export function readConstraints(extensions: Extensions): CertificateConstraints | CertificateFault {
  const basic = readBasicConstraints(extensions.get(BASIC_CONSTRAINTS));
  const usage = readKeyUsage(extensions.get(KEY_USAGE));
  const purposes = readPurposes(extensions.get(EXTENDED_KEY_USAGE));
  if (basic === undefined) return malformed("basicConstraints");
  if (usage === undefined) return malformed("keyUsage");
  if (purposes === undefined) return malformed("extKeyUsage");
  return {
    ...basic,
    maySign: (usage & DIGITAL_SIGNATURE) !== 0,
    maySignCertificates: (usage & KEY_CERT_SIGN) !== 0,
    mayAuthenticateClients:
      purposes.includes(CLIENT_AUTH) || purposes.includes(ANY_EXTENDED_KEY_USAGE),
  };
}

function malformed(name: string): CertificateFault {
  return { fault: `has a malformed ${name} extension` };
}

type BasicConstraints = Pick<CertificateConstraints, "isAuthority" | "pathLength">;

function readBasicConstraints(
  extension: CertificateExtension | undefined,
): BasicConstraints | undefined {
  if (extension === undefined) return { isAuthority: false, pathLength: undefined };
  const parts = childrenOf(readElement(extension.value), DerTag.sequence);
  if (parts === undefined || parts.length > 2) return undefined;
  const [authority, length] = parts;
  if (authority === undefined) return { isAuthority: false, pathLength: undefined };
  // Only CAs have a path length; DER omits the flag with its default value, false.
  if (readBoolean(authority) !== true) return undefined;
  if (length === undefined) return { isAuthority: true, pathLength: undefined };
  const pathLength = readPathLength(length);
  return pathLength === undefined ? undefined : { isAuthority: true, pathLength };
}

function readPathLength(element: DerElement): number | undefined {
  const octets = readNatural(element);
  return octets === undefined || octets.length > 4
    ? undefined
    : octets.readUIntBE(0, octets.length);
}

const ALL_USES = 0xff;

/** The first octet of the bits; the second contains no relevant ones. */
function readKeyUsage(extension: CertificateExtension | undefined): number | undefined {
  if (extension === undefined) return ALL_USES;
  const bits = readElement(extension.value);
  if (bits?.tag !== DerTag.bitString) return undefined;
  const [unused, first] = bits.content;
  const isWellFormed = unused !== undefined && unused < 8 && bits.content.length <= 3;
  return isWellFormed ? first : undefined;
}

function readPurposes(extension: CertificateExtension | undefined): readonly string[] | undefined {
  if (extension === undefined) return [ANY_EXTENDED_KEY_USAGE];
  const elements = childrenOf(readElement(extension.value), DerTag.sequence) ?? [];
  const purposes = elements.map((element) => readOid(element) ?? "");
  return purposes.length === 0 || purposes.includes("") ? undefined : purposes;
}
