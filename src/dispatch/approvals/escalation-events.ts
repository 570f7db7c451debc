/** Events about escalations in the stream of an agent.   AGTP-LOG "Local Stream" */
import { given, type JsonRecord } from "../../base/json-value.ts";
import { canonicalDigest } from "../../identity/canonical-form.ts";
import type { Escalation } from "../../state/registers/escalation.ts";
import type { StreamEvent } from "../stream-events.ts";

/** Builds an event about an escalation, for the stream of the agent that escalated. */
export function escalationEvent(
  type: "escalation_decided" | "escalation_expired" | "escalation_voted",
  { escalationId, agentId, taskId, sessionId, status, decision, approval }: Escalation,
  more: JsonRecord = {},
): StreamEvent {
  return {
    agentId,
    extension: {
      ...{ event_type: type, escalation_id: escalationId, escalation_status: status },
      ...given({ call_digest: approval?.digest, escalated_task_id: taskId }),
      ...{ ...(decision && decisionEntry(decision)), ...more },
    },
    about: { method: "ESCALATE", path: "/", sessionId, taskId },
  };
}

function decisionEntry(decision: NonNullable<Escalation["decision"]>): JsonRecord {
  const { attestationId, authority, reason, content, attestation, operator, agentId } = decision;
  return given({
    ...{ attestation_id: attestationId, authority, reason },
    content_digest: content && canonicalDigest(content),
    ...{ attestation, operator, actor_agent_id: agentId },
  });
}
