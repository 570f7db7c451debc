/**
 * The status document of an agent: where it stands right now. What this server cannot know is left
 * out.   AGTP "Status Sub-Resource"
 */

import type { JsonRecord } from "../../base/json-value.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { AgentStanding } from "../../identity/agent-standing.ts";

/** Builds the document; `now` is in milliseconds since the epoch. */
export function statusDocument(
  agent: AgentDocument,
  standing: AgentStanding,
  now: number,
): JsonRecord {
  const { document } = agent;
  const since = standing.statusSince(agent);
  const action = standing.lastAction(agent.agentId);
  return {
    document_type: "agtp-status",
    canonical_id: agent.agentId,
    agent_label: agent.name,
    ...textMember(document, "org_domain"),
    lifecycle_state: standing.statusOf(agent),
    ...(since === undefined ? {} : { lifecycle_state_since: since }),
    ...textMember(document, "cert_status"),
    ...(action === undefined
      ? {}
      : {
          last_action_method: action.method,
          last_action_timestamp: new Date(action.at).toISOString(),
        }),
    generated_at: new Date(now).toISOString(),
  };
}

function textMember(document: JsonRecord, name: string): JsonRecord {
  const value = document[name];
  return typeof value === "string" ? { [name]: value } : {};
}
