/**
 * Identifies the peer of a TLS connection by the certificate shown in its handshake. TLS only
 * proves that the peer holds the key: OpenSSL knows no Agent Certificate, so every chain is
 * verified here. `[tls] client_auth` says who is let in.   AGTP-CERT "Agent Certificate Profile"
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

/** The proof in the certificate of a connection's peer, or why it proves nothing. */
type PeerIdentity = Pick<Peer, "certificate" | "certificateFault">;

/** The rules for asking for certificates and believing them. */
export interface PeerRules {
  readonly clientAuth: TlsConfig["clientAuth"];
  /** A bundle in PEM. */
  readonly clientCa: string | undefined;
}

type PeerVerdict =
  | { readonly kind: "admitted"; readonly identity: PeerIdentity }
  | { readonly kind: "refused"; readonly reason: string };

/** Looks at a socket whose handshake is done. */
export type PeerCheck = (socket: TLSSocket) => PeerVerdict;

export const NO_CERTIFICATE: PeerVerdict = { kind: "admitted", identity: {} };
const REMEMBERED_CHAINS = 1024;

/** Builds the check for the rules in force; undefined where nobody is asked for a certificate. */
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
 * Chains that were found good, by the certificate that each begins with. In a session that is resumed the peer proves
 * that it is who showed a certificate when the session began, and TLS has kept that one certificate: what led from it
 * to an anchor is known here, or is not needed. Tickets of one set of anchors are no good under another.
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

/** The certificates that the peer sent, its own first; one more than is allowed at most. */
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

/** Remembers what was found good, as nobody can fill it with anything else. */
function createVerifier(anchors: readonly X509Certificate[]) {
  const verified = recentlyUsed<VerifiedChain>(REMEMBERED_CHAINS);
  return (chain: readonly Buffer[], now: number): ClientCertificate | CertificateFault => {
    const key = digestOf(chain);
    const known = verified.get(key);
    // A clock that was set back makes certificates too young again.
    const isValid = known && now >= known.verifiedAt && now <= known.certificate.notAfter;
    if (isValid) return known.certificate;
    const result = verifyClientCertificate(chain, anchors, now);
    if ("fault" in result) verified.delete(key);
    else verified.set(key, { certificate: result, verifiedAt: now });
    return result;
  };
}

/** DER says where it ends: certificates that follow each other cannot be read in two ways. */
function digestOf(chain: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const certificate of chain) hash.update(certificate);
  return hash.digest("base64");
}
