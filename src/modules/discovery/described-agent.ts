/**
 * Finds the agent that a request for a description is about: the one that it names, else the one
 * that asks, else the configured default, else none but the server itself. 404 `agent-not-found`
 * for an agent that is not hosted here, and in the same words for one that the caller may not learn
 * of. AGTP "URI Resolution", AGTP-API §8.5
 */
import type { JsonRecord } from "../../base/json-value.ts";
import { notFound, type Refusal } from "../../dispatch/refusals/refusal.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { Call } from "../../handlers/handler.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument, AgentStanding } from "../../identity/agent-document.ts";

/** The agents there are to describe. */
export interface DescribedAgents {
  readonly directory: AgentDirectory;
  /** Addressed by requests that name no agent. */
  readonly defaultAgent: AgentDocument | undefined;
  /** Tells whether a caller may learn which agents there are. */
  isDisclosedTo(agentId: string | undefined): boolean;
}

/** The agent, undefined for the server itself; the exchange then speaks for that agent. */
export function resolveTarget(
  agents: DescribedAgents,
  named: unknown,
  call: Call,
  exchange: ExchangeView,
): AgentDocument | Refusal | undefined {
  const agent = findAgent(agents, named, call.agentId);
  if (agent !== undefined) exchange.addressed = agent;
  return agent === undefined && named !== undefined ? agentNotFound() : agent;
}

/** 404: in the same words whether it is not there or not to be seen. */
export function agentNotFound(): Refusal {
  return notFound("agent-not-found", "this server hosts no such agent");
}

function findAgent(
  { directory, defaultAgent, isDisclosedTo }: DescribedAgents,
  named: unknown,
  callerId: string | undefined,
): AgentDocument | undefined {
  const caller = callerId === undefined ? undefined : directory.find(callerId);
  const addressed =
    named === undefined ? (caller ?? defaultAgent) : directory.resolve(String(named));
  // Nobody is a secret to itself.
  return addressed === caller || isDisclosedTo(callerId) ? addressed : undefined;
}

/**
 * The status document of an agent: where it stands once its last action is known; `now` is in
 * milliseconds since the epoch. What this server cannot know is left out.   AGTP "Status Sub-Resource"
 */
export async function statusDocument(
  agent: AgentDocument,
  standing: AgentStanding,
  now: () => number,
): Promise<JsonRecord> {
  const { document } = agent;
  const action = await standing.lastAction(agent.agentId);
  const since = standing.statusSince(agent);
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
    generated_at: new Date(now()).toISOString(),
  };
}

function textMember(document: JsonRecord, name: string): JsonRecord {
  const value = document[name];
  return typeof value === "string" ? { [name]: value } : {};
}
