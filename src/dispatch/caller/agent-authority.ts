/**
 * Judges who may decide over an agent's lifecycle and certificates: the issuer of its Genesis, known
 * by the key of its client certificate, or an operator. `open` lets everybody, on loopback only.
 * 401 without a certificate, or with one that was revoked · 403 with another's.
 * AGTP "Lifecycle Authorization"
 */

import type { AgentDocument } from "../../identity/agent-document.ts";
import type { CertificateRegister } from "../../state/registers/certificate-register.ts";
import type { IdentityConfig } from "../policy/policies-config.ts";
import { agentUnauthenticated, forbidden, type Refusal } from "../refusals/refusal.ts";
import type { ExchangeView } from "../routes/route.ts";
import { operatorOf } from "./operator.ts";

/** The rules that authority is judged by. */
export interface AuthorityRules {
  readonly policy: Pick<IdentityConfig, "lifecycleAuth" | "operatorCertificates">;
  readonly certificates: Pick<CertificateRegister, "isRevoked">;
}

/** Why the peer may not decide over this agent; undefined when it may. */
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
  return agentUnauthenticated("the client certificate was revoked", "certificate-revoked");
}
