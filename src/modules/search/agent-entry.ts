/**
 * A hosted agent as something that can be found: who it is, how far it is to be trusted, what it
 * says it can do, and where to ask it for more. A retired agent is not shown.
 * AGTP "DISCOVER", AGTP-API §5.8.2, §8.5
 */
import type { AgentDocument, AgentStatus } from "../../identity/agent-document.ts";
import { agentTags, methodsOf } from "./agent-tags.ts";
import type { Asker, SearchEntry } from "./entry.ts";
import { isWithin } from "./zones.ts";

export interface AgentEntryOptions {
  statusOf(agent: AgentDocument): AgentStatus;
  /** By `[agents] disclosure`. */
  isDisclosedTo(agentId: string | undefined): boolean;
}

/** Of two that answer equally well, the more trusted one comes first. */
const PROMINENCE = { 1: 1, 2: 0.8, 3: 0.6 } as const;

/** The entry of an agent. */
export function agentEntry(
  { statusOf, isDisclosedTo }: AgentEntryOptions,
  agent: AgentDocument,
): SearchEntry {
  const { agentId, document } = agent;
  return {
    kind: "agent",
    id: agentId,
    // Read once, by the index.
    get texts() {
      return textsOf(agent);
    },
    facets: { agent, status: () => statusOf(agent) },
    prominence: PROMINENCE[agent.trustTier],
    isVisibleTo: ({ caller, zones }: Asker) =>
      isDisclosedTo(caller.agentId) && isWithin(agent, zones) && statusOf(agent) !== "retired",
    show: (_asker, format) => {
      if (format === "raw") return document;
      const summary = agentSummary(agent, statusOf(agent));
      return format === "natural" ? inWords(agent, statusOf(agent)) : summary;
    },
  };
}

function textsOf(agent: AgentDocument): SearchEntry["texts"] {
  const { name, agentId, description, principal, document, scopes } = agent;
  return {
    name: `${name} ${agentId}`,
    description,
    tags: [...agentTags(agent), principal, "agent"].join(" "),
    details: [...skillDescriptions(document["skills"]), ...methodsOf(agent), ...scopes].join(" "),
  };
}

/** The words about an agent, with the request that tells more. */
function agentSummary(agent: AgentDocument, status: AgentStatus): Record<string, unknown> {
  const { agentId, trustWarning, ownerId, governanceZone } = agent;
  return {
    agent_id: agentId,
    name: agent.name,
    description: agent.description,
    principal: agent.principal,
    principal_id: agent.principalId,
    status,
    trust_tier: agent.trustTier,
    verification_path: agent.verificationPath,
    ...(trustWarning === undefined ? {} : { trust_warning: trustWarning }),
    ...(ownerId === undefined ? {} : { owner_id: ownerId }),
    ...(governanceZone === undefined ? {} : { governance_zone: governanceZone }),
    skills: agentTags(agent),
    methods: methodsOf(agent),
    example: describeRequest(agent),
  };
}

function describeRequest({ agentId }: AgentDocument) {
  return { method: "DESCRIBE", path: `/agents/${agentId}`, body: {} };
}

function inWords(agent: AgentDocument, status: AgentStatus): string {
  const { name, agentId, description, principal, trustTier } = agent;
  const skills = agentTags(agent);
  return [
    `Agent ${name} (${agentId}) of ${principal}, ${status}, trust tier ${trustTier}: ${description}`,
    ...(skills.length === 0 ? [] : [`It names ${skills.join(", ")}.`]),
    `For more: DESCRIBE /agents/${agentId}`,
  ].join(" ");
}

function skillDescriptions(skills: unknown): readonly string[] {
  if (!Array.isArray(skills)) return [];
  return skills.flatMap((skill: { readonly description?: unknown } | null) =>
    typeof skill?.description === "string" ? [skill.description] : [],
  );
}
