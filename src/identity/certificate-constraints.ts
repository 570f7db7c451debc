/**
 * The uses of a certificate: the standard extensions that limit it, and whether it has a
 * critical one that nobody here obeys. Answers with a fault for what is malformed.
 * RFC 5280 §4.2.1
 */

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
import type { CertificateExtension, CertificateFault } from "./certificate-fields.ts";

/** The uses of a certificate's key. An extension that is absent forbids nothing. */
export interface CertificateConstraints {
  /** True if it is a CA's. */
  readonly isAuthority: boolean;
  /** The most CAs that may stand below this one; any number if undefined. */
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
 * Identity rests on keys and on AGTP's extensions, never on names: what an alternative name says is
 * obeyed by not believing it. Constraints on names and policies are not: a CA that is held to them
 * by a critical extension is refused.
 */
const OBEYED: ReadonlySet<string> = new Set([
  KEY_USAGE,
  SUBJECT_ALT_NAME,
  BASIC_CONSTRAINTS,
  EXTENDED_KEY_USAGE,
]);

/** Looks for a critical extension that is not obeyed; an issuer has no agent to say things about. */
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

/** Reads the standard extensions that limit what a key may do. */
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
  // False is the default, which DER leaves out, and a path length is for CAs alone.
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

/** The first octet of the bits; nothing in the second matters here. */
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
