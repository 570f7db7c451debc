/**
 * Verifies a client's certificate against the operator's trust anchors, and returns what it proves.
 * It considers only the certificates and the time; TLS proves that the client holds the
 * key.   AGTP-CERT "Agent Certificate Profile", RFC 5280 §6
 */
import { hash, X509Certificate } from "node:crypto";
import { readAgentExtensions } from "./certificate-agent-extensions.ts";
import { findPath, isSelfSigned, parseCertificate, pemBlocks } from "./certificate-chain.ts";
import { type CertificateFault, MAX_CERTIFICATE_BYTES } from "./certificate-fields.ts";
import { checkClient, checkIssuer, describeCertificate } from "./certificate-roles.ts";
import type { ClientCertificate } from "./client-certificate.ts";
import { publicKeyOf } from "./ed25519.ts";

/** The maximum number of certificates that a client may send, its own included. */
export const MAX_CHAIN_LENGTH = 8;

/** A verified certificate, with the certificates between it and its trust anchor. */
interface VerifiedClient {
  readonly certificate: ClientCertificate;
  readonly intermediates: readonly X509Certificate[];
}

/** Verifies a chain as it was sent, the client's own certificate first, at the given time. */
export function verifyClientCertificate(
  chain: readonly Buffer[],
  anchors: readonly X509Certificate[],
  now: number,
): ClientCertificate | CertificateFault {
  const verified = verifyClientChain(chain, anchors, now);
  return "fault" in verified ? verified : verified.certificate;
}

/** The same, with the intermediate certificates that the path needed. */
export function verifyClientChain(
  chain: readonly Buffer[],
  anchors: readonly X509Certificate[],
  now: number,
): VerifiedClient | CertificateFault {
  if (chain.length > MAX_CHAIN_LENGTH) {
    return { fault: `came with more than ${MAX_CHAIN_LENGTH - 1} others` };
  }
  if (chain.some(({ length }) => length > MAX_CERTIFICATE_BYTES)) {
    return { fault: `or one beside it is longer than ${MAX_CERTIFICATE_BYTES} bytes` };
  }
  const [client, ...others] = chain.map(parseCertificate);
  if (client === undefined) return { fault: "is not well-formed" };
  const path = findPath(
    client,
    others.filter((other) => other !== undefined),
    { anchors, now },
  );
  if ("fault" in path) return path;
  const certificate = readClientCertificate(client, path.notAfter);
  // The last one is the anchor.
  const intermediates = path.authorities.slice(0, -1);
  return "fault" in certificate ? certificate : { certificate, intermediates };
}

function readClientCertificate(
  certificate: X509Certificate,
  notAfter: number,
): ClientCertificate | CertificateFault {
  const fields = describeCertificate(certificate);
  if ("fault" in fields) return fields;
  const agent = readAgentExtensions(fields.extensions);
  if (agent !== undefined && "fault" in agent) return agent;
  const { publicKey } = certificate;
  const spki = publicKey.export({ type: "spki", format: "der" });
  const spkiFingerprint = hash("sha256", spki);
  return {
    serialNumber: fields.serialNumber,
    fingerprint: hash("sha256", certificate.raw),
    keyFingerprint: publicKeyOf(publicKey)?.fingerprint ?? spkiFingerprint,
    spkiFingerprint,
    notAfter,
    agent,
  };
}

/** Reads the certificates of a PEM bundle; throws for a damaged one. */
export function readTrustAnchors(pem: string): readonly X509Certificate[] {
  return pemBlocks(pem).map((block) => new X509Certificate(block));
}

/**
 * Returns a fault if an anchor can vouch for nobody at this time, neither as a CA nor as an agent's
 * own certificate.
 */
export function checkTrustAnchor(
  anchor: X509Certificate,
  now: number,
): CertificateFault | undefined {
  const asIssuer = checkIssuer(anchor, { authorities: 0, isAnchor: true }, now);
  if (!("fault" in asIssuer)) return undefined;
  const isAgents = isSelfSigned(anchor) && !("fault" in checkClient(anchor, now));
  return isAgents ? undefined : asIssuer;
}
