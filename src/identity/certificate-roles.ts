/**
 * The demands on a certificate by its place in a path: the client's own at the one end, and
 * those of the CAs. Answers with the first thing that is wrong with it.   RFC 5280 §6.1.3, §6.1.4
 */
import type { KeyObject, X509Certificate } from "node:crypto";
import {
  type CertificateConstraints,
  checkCriticalExtensions,
  readConstraints,
} from "./certificate-constraints.ts";
import {
  type CertificateFault,
  type CertificateFields,
  readCertificateFields,
} from "./certificate-fields.ts";
import { checkKey, checkSignatureAlgorithm } from "./certificate-strength.ts";

/** A certificate's claims about itself. */
export type CertificateDescription = CertificateFields & CertificateConstraints;

/** The position of an issuer in a path. */
export interface IssuerPlace {
  /** The number of other CAs below it. */
  readonly authorities: number;
  /** True if this server trusts it by itself. */
  readonly isAnchor: boolean;
}

/** Reads what a certificate says of itself. */
export function describeCertificate(
  certificate: X509Certificate,
): CertificateDescription | CertificateFault {
  const fields = readCertificateFields(certificate.raw);
  if ("fault" in fields) return fields;
  const constraints = readConstraints(fields.extensions);
  return "fault" in constraints ? constraints : { ...fields, ...constraints };
}

/** The description of a certificate that may be a client's at this time. */
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

/** The description of a certificate that may be an issuer's in this place at this time. */
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
    // An anchor is trusted for where it is kept, not for who signed it.
    (isAnchor ? undefined : checkSignatureAlgorithm(description.signatureAlgorithm)) ??
    checkPublicKey(certificate);
  return fault ?? description;
}

/** The public key of a certificate, if it is one that can be computed with. */
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
  // A CA for other purposes does not vouch for clients.
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
