/**
 * Parses an X.509 certificate: the fields that its verification needs, and every extension, which
 * `node:crypto` does not expose. Returns a fault for octets that are not DER, or violate RFC
 * 5280.   RFC 5280 §4.1
 */
import {
  childrenOf,
  type DerElement,
  DerTag,
  readBoolean,
  readElement,
  readNatural,
  readOid,
} from "./certificate-der.ts";

/** The reason a certificate is refused. */
export interface CertificateFault {
  /** Worded to continue a sentence that begins with the certificate. */
  readonly fault: string;
}

/** One extension; its value is the content of the OCTET STRING. */
export interface CertificateExtension {
  readonly isCritical: boolean;
  readonly value: Buffer;
}

/** The fields of a certificate, not yet verified. */
export interface CertificateFields {
  /** Lower-case hex without leading zeros. */
  readonly serialNumber: string;
  /** The AlgorithmIdentifier that the certificate is signed with. */
  readonly signatureAlgorithm: DerElement;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
  /** A Name in DER. */
  readonly subject: Buffer;
  /** Extensions by object identifier, in dotted form. */
  readonly extensions: ReadonlyMap<string, CertificateExtension>;
}

/** The size limit of a certificate; legitimate ones are smaller. */
export const MAX_CERTIFICATE_BYTES = 65_536;
const MAX_SERIAL_OCTETS = 20;
const VERSION_3 = 2;
const NOT_DER: CertificateFault = { fault: "is not well-formed" };

/** Reads the fields of one DER certificate. */
export function readCertificateFields(der: Buffer): CertificateFields | CertificateFault {
  if (der.length > MAX_CERTIFICATE_BYTES) {
    return { fault: `is longer than ${MAX_CERTIFICATE_BYTES} bytes` };
  }
  const [tbs, algorithm, signature, ...more] = childrenOf(readElement(der), DerTag.sequence) ?? [];
  // The first octet of a BIT STRING counts unused bits; a signature has none.
  const isSigned = signature?.tag === DerTag.bitString && signature.content[0] === 0;
  if (algorithm === undefined || !isSigned || more.length > 0) return NOT_DER;
  return readSignedFields(childrenOf(tbs, DerTag.sequence) ?? [], algorithm);
}

function readSignedFields(
  elements: readonly DerElement[],
  algorithm: DerElement,
): CertificateFields | CertificateFault {
  const [version] = childrenOf(elements[0], DerTag.context0) ?? [];
  const [serial, signatureAlgorithm, , validity, subject, key, last, ...more] =
    version === undefined ? elements : elements.slice(1);
  const period = readValidity(validity);
  const serialNumber = readSerialNumber(serial);
  if (period === undefined || serialNumber === undefined) return NOT_DER;
  if (subject === undefined || key === undefined || more.length > 0) return NOT_DER;
  // The two must be equal, because only one of them is signed.
  if (signatureAlgorithm?.encoded.equals(algorithm.encoded) !== true) {
    return { fault: "names two different signature algorithms" };
  }
  const isVersion3 = readNatural(version)?.[0] === VERSION_3;
  // Version 2 also allows unique identifiers here; no CA may issue them.
  if (last !== undefined && !isVersion3) return NOT_DER;
  const extensions = last === undefined ? new Map() : readExtensions(last);
  if ("fault" in extensions) return extensions;
  return { serialNumber, signatureAlgorithm, ...period, subject: subject.encoded, extensions };
}

function readSerialNumber(element: DerElement | undefined): string | undefined {
  const octets = readNatural(element);
  if (octets === undefined || octets.length > MAX_SERIAL_OCTETS) return undefined;
  const digits = octets.toString("hex");
  return digits.startsWith("0") && digits.length > 1 ? digits.slice(1) : digits;
}

function readValidity(
  element: DerElement | undefined,
): Pick<CertificateFields, "notBefore" | "notAfter"> | undefined {
  const [start, end, ...more] = childrenOf(element, DerTag.sequence) ?? [];
  const notBefore = readTime(start);
  const notAfter = readTime(end);
  if (notBefore === undefined || notAfter === undefined || more.length > 0) return undefined;
  return { notBefore, notAfter };
}

const UTC_TIME = /^\d{12}Z$/;
const GENERALIZED_TIME = /^\d{14}Z$/;

/** RFC 5280 §4.1.2.5: with seconds, in Greenwich Mean Time. */
function readTime(element: DerElement | undefined): number | undefined {
  const text = element?.content.toString("latin1") ?? "";
  if (element?.tag === DerTag.generalizedTime && GENERALIZED_TIME.test(text)) {
    return readDigits(text);
  }
  if (element?.tag !== DerTag.utcTime || !UTC_TIME.test(text)) return undefined;
  return readDigits(`${text < "5" ? "20" : "19"}${text}`);
}

function readDigits(text: string): number | undefined {
  const iso = text.replace(/^(....)(..)(..)(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6.000Z");
  const time = Date.parse(iso);
  // Why: Date accepts a 30th of February as a day in March.
  return Number.isFinite(time) && new Date(time).toISOString() === iso ? time : undefined;
}

function readExtensions(
  element: DerElement,
): ReadonlyMap<string, CertificateExtension> | CertificateFault {
  const [list, ...more] = childrenOf(element, DerTag.context3) ?? [];
  const elements = childrenOf(list, DerTag.sequence) ?? [];
  if (elements.length === 0 || more.length > 0) return NOT_DER;
  const extensions = new Map<string, CertificateExtension>();
  for (const one of elements) {
    const parts = childrenOf(one, DerTag.sequence) ?? [];
    const oid = readOid(parts[0]);
    const extension = readExtension(parts.slice(1));
    if (oid === undefined || extension === undefined) return NOT_DER;
    if (extensions.has(oid)) return { fault: `has the extension ${oid} twice` };
    extensions.set(oid, extension);
  }
  return extensions;
}

function readExtension(parts: readonly DerElement[]): CertificateExtension | undefined {
  const value = parts.at(-1);
  if (value?.tag !== DerTag.octetString || parts.length > 2) return undefined;
  if (parts.length === 1) return { isCritical: false, value: value.content };
  // DER omits a boolean with its default value, false.
  return readBoolean(parts[0]) ? { isCritical: true, value: value.content } : undefined;
}
