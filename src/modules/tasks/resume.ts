/**
 * RESUME: whoever suspended a session goes on with it, by the nonce that it was given, once.
 * 262 nobody that this server knows · 404 no session of the caller waits for this nonce · 408 too
 * late · 409 the nonce was used, or the session was ended · 422 malformed.   AGTP "SUSPEND"
 */

import { authorizationRequired, notFound, type Refusal } from "../../dispatch/refusals/refusal.ts";
import { nonceReused, refuseHeldSession } from "../../dispatch/refusals/task-refusals.ts";
import type { DescribeMethod } from "../../dispatch/routes/floor.ts";
import { floorResult } from "../../dispatch/routes/floor-result.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { SessionRegister } from "../../state/registers/session-register.ts";
import type { Suspension } from "../../state/registers/suspension.ts";
import type { SuspensionRegister } from "../../state/registers/suspension-register.ts";

interface ResumeOptions {
  readonly sessions: Pick<SessionRegister, "rebind">;
  readonly suspensions: Pick<SuspensionRegister, "resume">;
  readonly describe: DescribeMethod;
}

const ID = { type: "string", minLength: 1, maxLength: 256 };

/** RESUME on "/". */
export function resumeEndpoint(options: ResumeOptions): ProtocolEndpoint {
  return {
    ...options.describe("RESUME"),
    description: "Resumes a suspended session, once, by the nonce that SUSPEND answered with.",
    method: "RESUME",
    path: "/",
    impact: "reversible",
    isReading: false,
    isListed: false,
    looksUp: ["resumption_nonce"],
    inputSchema: {
      type: "object",
      required: ["resumption_nonce"],
      properties: { resumption_nonce: ID, session_id: ID, suspension_id: ID },
    },
    handler: (call, exchange) => resume(options, call, exchange),
  };
}

async function resume(
  { sessions, suspensions }: ResumeOptions,
  call: Call,
  { caller, peer }: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const { agentId, isCertified, document } = caller;
  if (agentId === undefined || document === undefined) {
    const message = "sessions are resumed by agents that this server knows";
    return authorizationRequired("credentials-missing", message);
  }
  const tlsIdentity = peer.certificate?.fingerprint;
  const { resumption_nonce: nonce, session_id: sessionId, suspension_id: id } = call.input;
  const outcome = await suspensions.resume({
    agentId,
    nonce: String(nonce),
    isAdmitted: (one) =>
      (sessionId === undefined || sessionId === one.sessionId) &&
      (id === undefined || id === one.suspensionId) &&
      // Certificates are renewed; a header alone is not the agent that came with one.
      (one.tlsIdentity === tlsIdentity || isCertified),
  });
  switch (outcome.kind) {
    case "unknown":
      return notFound("record-not-found", "no suspended session of this agent has this nonce");
    case "reused":
      return nonceReused();
    case "expired":
    case "ended":
      return refuseHeldSession({ ...outcome.suspension, state: outcome.kind });
    case "resumed": {
      const { suspension, checkpoint } = outcome;
      // It is the agent's again, over this connection's certificate.
      await sessions.rebind(suspension.sessionId, agentId, tlsIdentity);
      return floorResult(call, resumed(suspension, checkpoint));
    }
  }
}

function resumed(suspension: Suspension, checkpoint: unknown): Record<string, unknown> {
  const { suspensionId, sessionId, reason, suspendedAt } = suspension;
  return {
    suspension_id: suspensionId,
    session_id: sessionId,
    status: "resumed",
    ...(reason === undefined ? {} : { reason }),
    checkpoint: checkpoint ?? null,
    suspended_at: new Date(suspendedAt).toISOString(),
    resumed_at: new Date().toISOString(),
  };
}
