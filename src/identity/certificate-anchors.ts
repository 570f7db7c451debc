/**
 * The certificates that an operator trusts clients' certificates by: CAs, of which none has to be a
 * root, and self-signed certificates of single agents.   `[tls] client_ca`
 */
import { X509Certificate } from "node:crypto";
import { isSelfSigned } from "./certificate-chain.ts";
import type { CertificateFault } from "./certificate-fields.ts";
import { checkClient, checkIssuer } from "./certificate-roles.ts";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The certificates of a bundle in PEM; throws for one that is damaged. */
export function readTrustAnchors(pem: string): readonly X509Certificate[] {
  return (pem.match(CERTIFICATE) ?? []).map((block) => new X509Certificate(block));
}

/** Why nobody can be trusted by an anchor at this time, although an operator means to. */
export function checkTrustAnchor(
  anchor: X509Certificate,
  now: number,
): CertificateFault | undefined {
  const asIssuer = checkIssuer(anchor, { authorities: 0, isAnchor: true }, now);
  if (!("fault" in asIssuer)) return undefined;
  const isAgents = isSelfSigned(anchor) && !("fault" in checkClient(anchor, now));
  return isAgents ? undefined : asIssuer;
}
