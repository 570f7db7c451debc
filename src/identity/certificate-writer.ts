/**
 * Writes and signs certificates. Why not a library: available ones truncate object identifiers with
 * a number above 2^53, which every AGTP extension has.   RFC 5280 §4
 */
import {
  createPrivateKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import type { EncodedExtension } from "./certificate-agent-extensions.ts";
import {
  childrenOf,
  DerTag,
  encodeBits,
  encodeElement,
  encodeOid,
  encodeSequence,
  encodeTime,
  readElement,
} from "./certificate-der.ts";
import type { CertificateFault } from "./certificate-fields.ts";

/** A server's own certificate is also its CA. */
type Role = "authority" | "client" | "server";

interface CertificateContent {
  readonly issuer: CertificateIssuer;
  /** A DER-encoded Name. */
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly role: Role;
  /** Extensions beside those of the role. */
  readonly extensions: readonly EncodedExtension[];
}

interface CertificateIssuer {
  readonly signer: CertificateSigner;
  /** The DER-encoded Name, byte for byte as in the CA's own certificate. */
  readonly name: Buffer;
  /** The key identifier in the CA's own certificate, if any. */
  readonly keyIdentifier: Buffer | undefined;
}

const SERIAL_OCTETS = 16;
const KEY_IDENTIFIER_OCTETS = 20;
const KEY_IDENTIFIER_TAG = 0x80;
const TRUE = Buffer.from([DerTag.boolean, 1, 0xff]);
const VERSION_3 = encodeElement(DerTag.context0, Buffer.from([DerTag.integer, 1, 2]));
const NO_PATH_BELOW = Buffer.from([DerTag.integer, 1, 0]);
/** BIT STRINGs: keyCertSign and cRLSign; digitalSignature; digitalSignature and keyCertSign. */
const SIGNS_CERTIFICATES = Buffer.from([DerTag.bitString, 2, 1, 0x06]);
const SIGNS = Buffer.from([DerTag.bitString, 2, 7, 0x80]);
const SIGNS_BOTH = Buffer.from([DerTag.bitString, 2, 2, 0x84]);

const SET = 0x31;
const NAME_ATTRIBUTES = { CN: "2.5.4.3", O: "2.5.4.10", OU: "2.5.4.11" } as const;

/** Encodes a Name of these attributes in DER. */
export function encodeName(
  attributes: readonly (readonly [attribute: keyof typeof NAME_ATTRIBUTES, value: string])[],
): Buffer {
  return encodeSequence(
    ...attributes.map(([attribute, value]) => {
      const text = encodeElement(DerTag.utf8String, Buffer.from(value, "utf8"));
      return encodeElement(SET, encodeSequence(encodeOid(NAME_ATTRIBUTES[attribute]), text));
    }),
  );
}

/** The identifier of a public key in certificates.   RFC 7093 §2 (1) */
export function keyIdentifierOf(publicKey: KeyObject): Buffer {
  const spki = readElement(publicKey.export({ type: "spki", format: "der" }));
  const [, bits] = childrenOf(spki, DerTag.sequence) ?? [];
  const octets = bits?.content.subarray(1) ?? Buffer.alloc(0);
  return hash("sha256", octets, "buffer").subarray(0, KEY_IDENTIFIER_OCTETS);
}

/** Writes and signs a certificate. */
export function writeCertificate(content: CertificateContent): X509Certificate {
  const { signer } = content.issuer;
  const tbs = encodeSequence(
    VERSION_3,
    makeSerialNumber(),
    signer.algorithm,
    content.issuer.name,
    encodeSequence(encodeTime(content.notBefore), encodeTime(content.notAfter)),
    content.subject,
    content.publicKey.export({ type: "spki", format: "der" }),
    encodeElement(DerTag.context3, encodeSequence(...extensionsOf(content).map(encodeExtension))),
  );
  const signature = encodeBits(signer.sign(tbs));
  return new X509Certificate(encodeSequence(tbs, signer.algorithm, signature));
}

/** Makes a positive serial number of constant length. */
function makeSerialNumber(): Buffer {
  const octets = randomBytes(SERIAL_OCTETS);
  octets[0] = 0x40 | ((octets[0] ?? 0) & 0x3f);
  return encodeElement(DerTag.integer, octets);
}

function extensionsOf({
  role,
  issuer,
  publicKey,
  extensions,
}: CertificateContent): readonly EncodedExtension[] {
  const subjectKey = encodeElement(DerTag.octetString, keyIdentifierOf(publicKey));
  const { keyIdentifier } = issuer;
  return [
    ...ROLE_EXTENSIONS[role],
    ...extensions,
    { oid: "2.5.29.14", isCritical: false, value: subjectKey },
    ...(keyIdentifier === undefined ? [] : [authorityKey(keyIdentifier)]),
  ];
}

function authorityKey(identifier: Buffer): EncodedExtension {
  const value = encodeSequence(encodeElement(KEY_IDENTIFIER_TAG, identifier));
  return { oid: "2.5.29.35", isCritical: false, value };
}

const CONSTRAINTS = "2.5.29.19";
const KEY_USAGE = "2.5.29.15";
const PURPOSES = "2.5.29.37";

const ROLE_EXTENSIONS: Readonly<Record<Role, readonly EncodedExtension[]>> = {
  authority: [
    { oid: CONSTRAINTS, isCritical: true, value: encodeSequence(TRUE, NO_PATH_BELOW) },
    { oid: KEY_USAGE, isCritical: true, value: SIGNS_CERTIFICATES },
  ],
  client: [
    { oid: CONSTRAINTS, isCritical: true, value: encodeSequence() },
    { oid: KEY_USAGE, isCritical: true, value: SIGNS },
    { oid: PURPOSES, isCritical: false, value: encodeSequence(encodeOid("1.3.6.1.5.5.7.3.2")) },
  ],
  server: [
    { oid: CONSTRAINTS, isCritical: true, value: encodeSequence(TRUE, NO_PATH_BELOW) },
    { oid: KEY_USAGE, isCritical: true, value: SIGNS_BOTH },
    { oid: PURPOSES, isCritical: false, value: encodeSequence(encodeOid("1.3.6.1.5.5.7.3.1")) },
  ],
};

function encodeExtension({ oid, isCritical, value }: EncodedExtension): Buffer {
  const octets = encodeElement(DerTag.octetString, value);
  return encodeSequence(encodeOid(oid), ...(isCritical ? [TRUE] : []), octets);
}

export type KeyKind = "p256" | "ed25519";

interface CertificateSigner {
  readonly key: KeyObject;
  /** The DER-encoded AlgorithmIdentifier of its signatures. */
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

/** Generates a private key as PKCS #8 PEM. */
export function makeKey(kind: KeyKind): string {
  const { privateKey } =
    kind === "p256"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("ed25519");
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** Creates a signer from a CA's key in unencrypted PEM. */
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

/** Reads an unencrypted PEM private key; undefined if the text has none. */
export function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
