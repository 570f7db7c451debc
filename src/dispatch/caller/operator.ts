/**
 * Operators: who decides over agents, approvals and definitions. One is known by a certificate of
 * `operator_certificates`, or to a page of this server that signed the person in. Over an agent's
 * lifecycle and certificates the issuer of its Genesis decides as well.   AGTP "Lifecycle Authorization"
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

/** The operator at the other end, as records name it; undefined: nobody who is one. */
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
 * Why the peer may not decide over this agent's lifecycle and certificates; undefined when it may, as
 * everybody may by `open`, on loopback only. 401 without a certificate, or with one that was revoked ·
 * 403 with another's.   AGTP "Lifecycle Authorization"
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
  // An agent that issued itself shares its key with its issuer. The gate of callers saw no Agent-ID to look up.
  if (!certificates.isRevoked(certificate, agent.agentId)) return undefined;
  return certificateRevoked();
}
