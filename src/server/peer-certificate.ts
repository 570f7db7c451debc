/**
 * Identifies the peer of a TLS connection by its client certificate. TLS only proves possession of the key: OpenSSL
 * does not understand Agent Certificates, so every chain is verified here. `[tls] client_auth` decides which peers
 * are admitted.   AGTP-CERT "Agent Certificate Profile"
 */
import { createHash, type X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { recentlyUsed } from "../base/recently-used.ts";
import type { Peer } from "../dispatch/caller/peer.ts";
import type { CertificateFault } from "../identity/certificate-fields.ts";
import type { ClientCertificate } from "../identity/client-certificate.ts";
import {
  MAX_CHAIN_LENGTH,
  readTrustAnchors,
  verifyClientCertificate,
} from "../identity/client-certificate-verification.ts";
import type { TlsConfig } from "../identity/identity-sections.ts";

/** The verified certificate of a peer, or why it proves nothing. */
type PeerIdentity = Pick<Peer, "certificate" | "certificateFault">;

/** The rules for requesting and trusting client certificates. */
export interface PeerRules {
  readonly clientAuth: TlsConfig["clientAuth"];
  /** A PEM bundle of trust anchors. */
  readonly clientCa: string | undefined;
}

type PeerVerdict =
  | { readonly kind: "admitted"; readonly identity: PeerIdentity }
  | { readonly kind: "refused"; readonly reason: string };

/** Checks a socket after its handshake. */
export type PeerCheck = (socket: TLSSocket) => PeerVerdict;

export const NO_CERTIFICATE: PeerVerdict = { kind: "admitted", identity: {} };
const REMEMBERED_CHAINS = 1024;

/** Builds the check; undefined if no client certificates are requested. */
export function createPeerCheck(
  { clientAuth, clientCa }: PeerRules,
  clock: () => number = Date.now,
): PeerCheck | undefined {
  if (clientAuth === "none") return undefined;
  const verify = createVerifier(readTrustAnchors(clientCa ?? ""));
  const shown = new ShownChains();
  return (socket) => {
    const chain = shown.whole(readChain(socket), socket.isSessionReused());
    if (chain.length === 0) {
      if (clientAuth === "optional") return NO_CERTIFICATE;
      return { kind: "refused", reason: "the peer showed no certificate" };
    }
    const result = verify(chain, clock());
    if (!("fault" in result)) {
      shown.note(chain);
      return { kind: "admitted", identity: { certificate: result } };
    }
    const reason = `the certificate ${result.fault}`;
    if (clientAuth === "required") return { kind: "refused", reason };
    return { kind: "admitted", identity: { certificateFault: reason } };
  };
}

/**
 * Verified chains by their leaf certificate. In a resumed session TLS has only the leaf, whose key the peer proved
 * when the session began; the intermediates come from here, if the chain had any. Session tickets issued under other
 * trust anchors are not accepted.
 */
class ShownChains {
  readonly #chains = recentlyUsed<readonly Buffer[]>(REMEMBERED_CHAINS);

  note(chain: readonly Buffer[]): void {
    if (chain.length > 1) this.#chains.set(digestOf(chain.slice(0, 1)), chain);
  }

  whole(chain: readonly Buffer[], isResumed: boolean): readonly Buffer[] {
    return isResumed ? (this.#chains.get(digestOf(chain)) ?? chain) : chain;
  }
}

/** Returns the peer's certificates, leaf first; at most one more than is allowed. */
function readChain(socket: TLSSocket): readonly Buffer[] {
  const chain: Buffer[] = [];
  let certificate: X509Certificate | undefined = socket.getPeerX509Certificate();
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
function createVerifier(anchors: readonly X509Certificate[]) {
  const verified = recentlyUsed<VerifiedChain>(REMEMBERED_CHAINS);
  return (chain: readonly Buffer[], now: number): ClientCertificate | CertificateFault => {
    const key = digestOf(chain);
    const known = verified.get(key);
    // If the clock was set back, the certificate may be not yet valid again.
    const isValid = known && now >= known.verifiedAt && now <= known.certificate.notAfter;
    if (isValid) return known.certificate;
    const result = verifyClientCertificate(chain, anchors, now);
    if ("fault" in result) verified.delete(key);
    else verified.set(key, { certificate: result, verifiedAt: now });
    return result;
  };
}

/** Hashes a chain unambiguously, since DER is self-delimiting. */
function digestOf(chain: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const certificate of chain) hash.update(certificate);
  return hash.digest("base64");
}
