/**
 * Operators, who decide over agents, approvals and definitions. An operator is known by a
 * certificate listed in `operator_certificates`, or by signing in to a page of this server. The
 * issuer of an agent's Genesis may also decide over its lifecycle and certificates.   AGTP
 * "Lifecycle Authorization"
 */

import type { AgentDocument } from "../../identity/agent-document.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import type { CertificateRegister } from "../../state/registers/certificate-register.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { IdentityConfig } from "../policy/policies-section.ts";
import {
  agentUnauthenticated,
  certificateRevoked,
  forbidden,
  type Refusal,
} from "../refusals/refusal.ts";
import type { ExchangeView } from "../routes/route.ts";
import type { Peer } from "./peer.ts";

export type OperatorPolicy = Pick<IdentityConfig, "operatorCertificates">;

/** Returns the operator at the other end, as records name it; undefined if the peer is none. */
export function operatorOf(
  { certificate, operator }: Pick<Peer, "certificate" | "operator">,
  policy: OperatorPolicy,
): Operator | undefined {
  if (operator !== undefined) return operator;
  if (certificate === undefined || !isListed(certificate, policy)) return undefined;
  return { id: certificate.fingerprint, via: "certificate" };
}

function isListed(
  { keyFingerprint, spkiFingerprint }: ClientCertificate,
  { operatorCertificates }: OperatorPolicy,
): boolean {
  return operatorCertificates.some((written) => {
    const fingerprint = written.replaceAll(":", "").toLowerCase();
    return fingerprint === keyFingerprint || fingerprint === spkiFingerprint;
  });
}

interface AuthorityRules {
  readonly policy: Pick<IdentityConfig, "lifecycleAuth" | "operatorCertificates">;
  readonly certificates: Pick<CertificateRegister, "isRevoked">;
}

/**
 * Refuses a peer that may not decide over this agent's lifecycle and certificates. `open`, which is
 * limited to loopback, admits everybody. 401 without a certificate, or with a revoked one · 403
 * with another's.   AGTP "Lifecycle Authorization"
 */
export function refuseAuthority(
  { peer }: ExchangeView,
  agent: AgentDocument | undefined,
  { policy, certificates }: AuthorityRules,
): Refusal | undefined {
  if (policy.lifecycleAuth === "open") return undefined;
  if (operatorOf(peer, policy) !== undefined) return undefined;
  const { certificate } = peer;
  if (certificate === undefined) {
    const message = "this needs the certificate of the agent's issuer, or of an operator";
    return agentUnauthenticated(message, "genesis-issuer-cert-required");
  }
  const issuer = agent?.genesis?.issuerKey.fingerprint;
  if (agent === undefined || issuer !== certificate.keyFingerprint) {
    return forbidden("lifecycle-forbidden", "the certificate is not that of the agent's issuer");
  }
  // A self-issued agent shares its key with its issuer, and gate 00 saw no Agent-ID to check.
  if (!certificates.isRevoked(certificate, agent.agentId)) return undefined;
  return certificateRevoked();
}
