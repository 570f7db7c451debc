/**
 * Finds a path from a client's certificate, through the others that it sent, to a trust anchor. Why
 * not OpenSSL: it rejects critical extensions that it does not know, so it finds no path for an
 * Agent Certificate.   RFC 5280 §6.1, AGTP-CERT "Agent Certificate Profile"
 */
import { X509Certificate } from "node:crypto";
import type { CertificateFault } from "./certificate-fields.ts";
import { checkClient, checkIssuer, usableKeyOf } from "./certificate-roles.ts";

/** The trust anchors, and the time of the verification. */
interface TrustBase {
  readonly anchors: readonly X509Certificate[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The last certificate of a path that is valid so far. */
interface PathEnd {
  readonly certificate: X509Certificate;
  /** The CAs in the path, that of the client first. */
  readonly authorities: readonly X509Certificate[];
  /** When the first certificate of the path expires. */
  readonly notAfter: number;
}

const UNTRUSTED: CertificateFault = { fault: "was not issued by a CA that this server trusts" };

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The PEM certificates in a text, verbatim. */
export function pemBlocks(text: string): readonly string[] {
  return text.match(PEM) ?? [];
}

/** The first PEM certificate of a text; undefined if it has none. */
export function parsePemCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** Parses octets that are exactly one DER certificate. */
export function parseCertificate(der: Buffer): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(der);
    // Why: Node also accepts octets that contain a PEM certificate anywhere.
    return certificate.raw.equals(der) ? certificate : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Finds the path. Each issuer is visited once, at its shortest distance from the client, so that no
 * set of certificates makes the search long; a path length that is exceeded there is exceeded
 * everywhere.
 */
export function findPath(
  client: X509Certificate,
  others: readonly X509Certificate[],
  { anchors, now }: TrustBase,
): PathEnd | CertificateFault {
  const checked = checkClient(client, now);
  if ("fault" in checked) return checked;
  const start: PathEnd = { certificate: client, authorities: [], notAfter: checked.notAfter };
  if (isPinned(client, anchors)) return start;
  const ends = [start];
  const unvisited = new Set([...anchors, ...others]);
  let fault = UNTRUSTED;
  for (const end of ends) {
    for (const issuer of unvisited) {
      if (!hasIssued(issuer, end.certificate)) continue;
      unvisited.delete(issuer);
      const isAnchor = anchors.includes(issuer);
      const next = extendPath(end, issuer, { isAnchor, now });
      if ("fault" in next) fault = { fault: `was issued by a CA that ${next.fault}` };
      else if (isAnchor) return next;
      else ends.push(next);
    }
  }
  return fault;
}

/** Returns true if a certificate is signed with its own key. */
export function isSelfSigned(certificate: X509Certificate): boolean {
  return hasIssued(certificate, certificate);
}

/** Returns true if the client's own self-signed certificate is an anchor; it need not be a CA's. */
function isPinned(client: X509Certificate, anchors: readonly X509Certificate[]): boolean {
  return anchors.some((anchor) => anchor.raw.equals(client.raw)) && isSelfSigned(client);
}

function extendPath(
  { authorities, notAfter }: PathEnd,
  issuer: X509Certificate,
  { isAnchor, now }: { readonly isAnchor: boolean; readonly now: number },
): PathEnd | CertificateFault {
  const checked = checkIssuer(issuer, { authorities: authorities.length, isAnchor }, now);
  if ("fault" in checked) return checked;
  return {
    certificate: issuer,
    authorities: [...authorities, issuer],
    notAfter: Math.min(notAfter, checked.notAfter),
  };
}

/**
 * Compares names, then verifies the signature. Names only select the signatures to try; they are
 * compared as text, since an issuer may have encoded its own with another string type.
 */
function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  if (certificate.issuer !== issuer.subject) return false;
  const key = usableKeyOf(issuer);
  // A key of extreme size is not used for computation: its path is refused later.
  return key === undefined || certificate.verify(key);
}
