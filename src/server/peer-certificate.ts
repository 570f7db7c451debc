/**
 * Identifies the peer of a TLS connection by its client certificate. TLS only proves possession of the key: OpenSSL
 * does not understand Agent Certificates, so every chain is verified here. `[tls] client_auth` decides which peers
 * are admitted.   AGTP-CERT "Agent Certificate Profile"
 */
import { createHash, X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { recentlyUsed } from "../base/recently-used.ts";
import type { Peer } from "../dispatch/caller/peer.ts";
import type { CertificateFault } from "../identity/certificate-fields.ts";
import type { ClientCertificate } from "../identity/client-certificate.ts";
import {
  MAX_CHAIN_LENGTH,
  readTrustAnchors,
  verifyClientChain,
} from "../identity/client-certificate-verification.ts";
import type { TlsConfig } from "../identity/identity-sections.ts";

/** The verified certificate of a peer, or why it proves nothing. */
type PeerIdentity = Pick<Peer, "certificate" | "certificateFault">;

/** The rules for requesting and trusting client certificates. */
export interface PeerRules {
  readonly clientAuth: TlsConfig["clientAuth"];
  /** A PEM bundle of trust anchors. */
  readonly clientCa: string | undefined;
  /** Those of the whole daemon; the check keeps its own unless given. */
  readonly intermediates?: Intermediates;
}

type PeerVerdict =
  | { readonly kind: "admitted"; readonly identity: PeerIdentity }
  | { readonly kind: "refused"; readonly reason: string };

/** Checks a socket after its handshake. */
export type PeerCheck = (socket: TLSSocket) => PeerVerdict;

export const NO_CERTIFICATE: PeerVerdict = { kind: "admitted", identity: {} };
const REMEMBERED_CHAINS = 1024;
/** The most intermediate certificates that a process remembers. */
export const MAX_INTERMEDIATES = 256;

/** Builds the check; undefined if no client certificates are requested. */
export function createPeerCheck(
  { clientAuth, clientCa, intermediates = new Intermediates() }: PeerRules,
  clock: () => number = Date.now,
): PeerCheck | undefined {
  if (clientAuth === "none") return undefined;
  const verify = createVerifier(readTrustAnchors(clientCa ?? ""), intermediates);
  return (socket) => {
    const chain = readChain(socket, intermediates);
    if (chain.length === 0) {
      if (clientAuth === "optional") return NO_CERTIFICATE;
      return { kind: "refused", reason: "the peer showed no certificate" };
    }
    const result = verify(chain, clock());
    if (!("fault" in result)) return { kind: "admitted", identity: { certificate: result } };
    const reason = `the certificate ${result.fault}`;
    if (clientAuth === "required") return { kind: "refused", reason };
    return { kind: "admitted", identity: { certificateFault: reason } };
  };
}

/** An intermediate certificate, with the names by which paths are found. */
type Intermediate = Pick<X509Certificate, "raw" | "subject" | "issuer">;

/**
 * The intermediate certificates of verified chains. In a resumed session TLS has only the client's own certificate,
 * whose key the peer proved when the session began; the certificates between it and its anchor come from here.
 * Workers exchange them, since each resumes the others' sessions.
 */
export class Intermediates {
  readonly #known = recentlyUsed<Intermediate>(MAX_INTERMEDIATES);
  readonly #onNew: (certificate: Buffer) => void;

  constructor(onNew: (certificate: Buffer) => void = () => {}) {
    this.#onNew = onNew;
  }

  /** Remembers a certificate of a verified path, and reports a new one. */
  note(certificate: X509Certificate): void {
    if (this.#add(certificate)) this.#onNew(certificate.raw);
  }

  /** Adds a certificate that another worker verified, as DER. */
  add(der: Buffer): void {
    this.#add(new X509Certificate(der));
  }

  /** Completes a client's chain by the names of issuers, the most recent first; nothing is verified yet. */
  chainOf(client: X509Certificate): readonly Buffer[] {
    const known = [...this.#known.values()];
    const chain: Intermediate[] = [client];
    for (const { issuer } of chain) {
      chain.push(...known.filter((one) => one.subject === issuer && !chain.includes(one)));
    }
    return chain.slice(0, MAX_CHAIN_LENGTH).map(({ raw }) => raw);
  }

  #add({ raw, subject, issuer }: X509Certificate): boolean {
    const key = digestOf([raw]);
    if (this.#known.get(key) !== undefined) return false;
    this.#known.set(key, { raw, subject, issuer });
    return true;
  }
}

/** Returns the peer's certificates, leaf first; at most one more than is allowed. */
function readChain(socket: TLSSocket, intermediates: Intermediates): readonly Buffer[] {
  const chain: Buffer[] = [];
  let certificate: X509Certificate | undefined = socket.getPeerX509Certificate();
  if (certificate !== undefined && socket.isSessionReused())
    return intermediates.chainOf(certificate);
  while (certificate !== undefined && chain.length <= MAX_CHAIN_LENGTH) {
    chain.push(certificate.raw);
    certificate = certificate.issuerCertificate;
  }
  return chain;
}

interface VerifiedChain {
  readonly certificate: ClientCertificate;
  readonly verifiedAt: number;
}

/** Caches verified chains only, so that invalid ones cannot fill the cache. */
function createVerifier(anchors: readonly X509Certificate[], intermediates: Intermediates) {
  const verified = recentlyUsed<VerifiedChain>(REMEMBERED_CHAINS);
  return (chain: readonly Buffer[], now: number): ClientCertificate | CertificateFault => {
    const key = digestOf(chain);
    const known = verified.get(key);
    // If the clock was set back, the certificate may be not yet valid again.
    const isValid = known && now >= known.verifiedAt && now <= known.certificate.notAfter;
    if (isValid) return known.certificate;
    const result = verifyClientChain(chain, anchors, now);
    if ("fault" in result) {
      verified.delete(key);
      return result;
    }
    const { certificate } = result;
    verified.set(key, { certificate, verifiedAt: now });
    for (const intermediate of result.intermediates) intermediates.note(intermediate);
    return certificate;
  };
}

/** Hashes a chain unambiguously, since DER is self-delimiting. */
function digestOf(chain: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const certificate of chain) hash.update(certificate);
  return hash.digest("base64");
}
