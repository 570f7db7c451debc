/**
 * NOTIFY: the broadcast that a certificate was revoked, by the issuer of its agent or an operator.
 * The certificate is refused from the next request on, on open connections too.
 * 401 and 403 for others · 404 no such agent · 422 malformed.   AGTP-CERT "Revocation"
 */
import type { IdentityConfig } from "../config/config.ts";
import { notFound, notImplemented, type Refusal, schemaViolation } from "../dispatch/refusal.ts";
import type { ExchangeView, RouteHandler } from "../dispatch/route.ts";
import type { Call, HandlerSuccess } from "../handlers/handler.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import { type CertificateRegister, normalizeSerial } from "../identity/certificate-register.ts";
import { uuidv7 } from "../identity/uuid.ts";
import { isRecord, type JsonRecord } from "../json-value.ts";
import { refuseAuthority } from "./agent-authority.ts";
import { floorResult } from "./floor-result.ts";

/** What NOTIFY acts on. */
export interface NotifyOptions {
  readonly directory: AgentDirectory;
  readonly certificates: Pick<CertificateRegister, "revoke" | "isRevoked">;
  readonly policy: IdentityConfig;
}

const BROADCAST = "infrastructure:broadcast";

/** Parameters of NOTIFY. */
export const NOTIFY_SCHEMA: Readonly<Record<string, unknown>> = {
  type: "object",
  required: ["recipient", "content"],
  properties: {
    recipient: { type: "string", minLength: 1 },
    content: { type: ["object", "string"] },
    urgency: { enum: ["critical", "informational", "background"] },
    delivery_guarantee: { enum: ["at_most_once", "at_least_once", "exactly_once"] },
    expiry: { type: "string" },
    context: { type: "object" },
  },
};

/** The handler of NOTIFY on "/". */
export function notifyHandler(options: NotifyOptions): RouteHandler {
  return (call, exchange) => {
    const { recipient, content } = call.input;
    if (recipient === BROADCAST && isRecord(content)) {
      if (content["event_type"] === "certificate_revoked") {
        return revokeCertificate(options, call, exchange, content);
      }
    }
    return notImplemented("notify", "this server delivers no notifications");
  };
}

async function revokeCertificate(
  { directory, certificates, policy }: NotifyOptions,
  call: Call,
  exchange: ExchangeView,
  content: JsonRecord,
): Promise<HandlerSuccess | Refusal> {
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
