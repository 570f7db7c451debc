/**
 * Looks for a path from a client's certificate, over the others that it sent, to one that this
 * server trusts. OpenSSL does not find one over extensions that are critical and unknown to it: for
 * no Agent Certificate.   RFC 5280 §6.1, AGTP-CERT "Agent Certificate Profile"
 */
import { X509Certificate } from "node:crypto";
import type { CertificateFault } from "./certificate-fields.ts";
import { checkClient, checkIssuer, usableKeyOf } from "./certificate-roles.ts";

/** The anchors that a path has to lead to, and the time. */
interface TrustBase {
  readonly anchors: readonly X509Certificate[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The end of a path that holds so far. */
interface PathEnd {
  readonly certificate: X509Certificate;
  /** The number of CAs in the path. */
  readonly authorities: number;
  /** When the first certificate of the path expires. */
  readonly notAfter: number;
}

const UNTRUSTED: CertificateFault = { fault: "was not issued by a CA that this server trusts" };

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The certificates in PEM that a text holds, as they are written. */
export function pemBlocks(text: string): readonly string[] {
  return text.match(PEM) ?? [];
}

/** The first certificate of a text in PEM; undefined for what is none. */
export function parsePemCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** The certificate that these octets are, all of them. */
export function parseCertificate(der: Buffer): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(der);
    // Octets that hold a certificate in PEM anywhere are taken for that one.
    return certificate.raw.equals(der) ? certificate : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Finds the path. Each issuer is visited once, as near to the client as it can stand, so that no
 * set of certificates makes the search long; a path length that is too short there is so anywhere.
 */
export function findPath(
  client: X509Certificate,
  others: readonly X509Certificate[],
  { anchors, now }: TrustBase,
): PathEnd | CertificateFault {
  const checked = checkClient(client, now);
  if ("fault" in checked) return checked;
  const start: PathEnd = { certificate: client, authorities: 0, notAfter: checked.notAfter };
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

/** Tells whether a certificate is signed with its own key. */
export function isSelfSigned(certificate: X509Certificate): boolean {
  return hasIssued(certificate, certificate);
}

/** An operator may trust one agent by its self-signed certificate, which need not be a CA's. */
function isPinned(client: X509Certificate, anchors: readonly X509Certificate[]): boolean {
  return anchors.some((anchor) => anchor.raw.equals(client.raw)) && isSelfSigned(client);
}

function extendPath(
  { authorities, notAfter }: PathEnd,
  issuer: X509Certificate,
  { isAnchor, now }: { readonly isAnchor: boolean; readonly now: number },
): PathEnd | CertificateFault {
  const checked = checkIssuer(issuer, { authorities, isAnchor }, now);
  if ("fault" in checked) return checked;
  return {
    certificate: issuer,
    authorities: authorities + 1,
    notAfter: Math.min(notAfter, checked.notAfter),
  };
}

/**
 * By names and signature. Names only say which signature to try: as text, since an issuer may have
 * written its own with another kind of string.
 */
function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  if (certificate.issuer !== issuer.subject) return false;
  const key = usableKeyOf(issuer);
  // Nothing is computed with a key of extreme size: the path is refused when it gets to it.
  return key === undefined || certificate.verify(key);
}
