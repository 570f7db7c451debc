/** The events about escalations in an agent's stream.   AGTP-LOG "Local Stream" */
import { canonicalDigest } from "../../identity/canonical-form.ts";
import type { Escalation } from "../../state/registers/escalation.ts";
import type { StreamEvent } from "../stream-events.ts";

/** An event about an escalation, for the stream of the agent that escalated. */
export function escalationEvent(
  type: "escalation_decided" | "escalation_expired",
  { escalationId, agentId, taskId, sessionId, status, decision, approval }: Escalation,
): StreamEvent {
  const decided =
    decision === undefined
      ? {}
      : {
          attestation_id: decision.attestationId,
          authority: decision.authority,
          ...(decision.reason === undefined ? {} : { reason: decision.reason }),
          ...(decision.content === undefined
            ? {}
            : { content_digest: canonicalDigest(decision.content) }),
          ...(decision.attestation === undefined ? {} : { attestation: decision.attestation }),
          ...(decision.operator === undefined ? {} : { operator: decision.operator }),
          ...(decision.agentId === undefined ? {} : { actor_agent_id: decision.agentId }),
        };
  return {
    agentId,
    extension: {
      event_type: type,
      escalation_id: escalationId,
      escalation_status: status,
      ...(approval === undefined ? {} : { call_digest: approval.digest }),
      ...(taskId === undefined ? {} : { escalated_task_id: taskId }),
      ...decided,
    },
    about: { method: "ESCALATE", path: "/", sessionId, taskId },
  };
}
