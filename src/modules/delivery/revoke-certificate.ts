/**
 * The broadcast that a certificate was revoked, by the issuer of its agent or an operator. The
 * certificate is refused from the next request on, on open connections too.
 * 401 and 403 for others · 404 no such agent · 422 malformed.   AGTP-CERT "Revocation"
 */

import { isRecord } from "../../base/json-value.ts";
import { refuseAuthority } from "../../dispatch/agent-authority.ts";
import { floorResult } from "../../dispatch/floor-result.ts";
import type { IdentityConfig } from "../../dispatch/policies-config.ts";
import { notFound, type Refusal, schemaViolation } from "../../dispatch/refusal.ts";
import type { ExchangeView } from "../../dispatch/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { type CertificateRegister, normalizeSerial } from "../../state/certificate-register.ts";

/** The registers that a revocation acts on. */
export interface RevokeCertificateOptions {
  readonly directory: Pick<AgentDirectory, "find">;
  readonly certificates: Pick<CertificateRegister, "revoke" | "isRevoked">;
  readonly policy: IdentityConfig;
}

/** The recipient that stands for this server itself. */
export const BROADCAST = "infrastructure:broadcast";

/** Acts on a broadcast; of all its events this server knows one. */
export async function revokeCertificate(
  { directory, certificates, policy }: RevokeCertificateOptions,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const { content } = call.input;
  if (!isRecord(content) || content["event_type"] !== "certificate_revoked") {
    return malformed("event_type", 'must be "certificate_revoked"');
  }
  const { agent_id: agentId, certificate_serial: written, revocation_reason: reason } = content;
  if (typeof agentId !== "string") return malformed("agent_id", "must be an Agent-ID");
  const serial = typeof written === "string" ? normalizeSerial(written) : undefined;
  if (serial === undefined) return malformed("certificate_serial", "must be hex digits");
  const agent = directory.find(agentId);
  const refusal = refuseAuthority(exchange, agent, { policy, certificates });
  if (refusal !== undefined) {
    call.log.warn({ code: refusal.code, serial }, "the revocation of a certificate was refused");
    return refusal;
  }
  if (agent === undefined) return notFound("agent-not-found", "this server hosts no such agent");
  exchange.addressed = agent;
  await certificates.revoke({
    serial,
    agentId,
    reason: typeof reason === "string" ? reason.slice(0, 256) : "",
    revokedAt: new Date().toISOString(),
  });
  call.log.warn({ agent_id: agentId, serial }, "a certificate was revoked");
  return floorResult(call, { notification_id: uuidv7(), recipient: BROADCAST, delivered: true });
}

function malformed(member: string, message: string): Refusal {
  return schemaViolation([{ path: `/content/${member}`, keyword: "type", message }]);
}
