/** The agents of this server: standing, scopes, chains; and who may act no more. */

import type { AgentDirectory } from "../../../identity/agent-directory.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import { decodeJws } from "../../../identity/jws.ts";
import type { ChainHead } from "../../../state/records/record-store.ts";
import type { ServerState } from "../../../state/state.ts";
import { type ApiRoute, reasonIn, textIn } from "../console-api.ts";
import { unknown } from "../console-fault.ts";

/** The sources of these routes. */
export interface AgentParts {
  readonly state: Pick<ServerState, "ledger" | "lifecycle">;
  readonly directory: AgentDirectory;
}

/** The buttons by the method that each is. */
const METHODS: Readonly<Record<string, string>> = {
  suspend: "DEACTIVATE",
  reinstate: "REINSTATE",
  revoke: "REVOKE",
};
const MAX_EVENTS = 100;

/** `/api/agents` and `/api/agents/{agent_id}` */
export function agentRoutes(parts: AgentParts): readonly ApiRoute[] {
  return [
    {
      method: "GET",
      path: "/agents",
      answer: async () => {
        return { agents: await viewsOf(parts, parts.directory.list()) };
      },
    },
    {
      method: "GET",
      path: "/agents/:id",
      answer: async ({ params }) => {
        const agent = find(parts, params["id"]);
        const records = await parts.state.lifecycle.events(agent.agentId, MAX_EVENTS);
        const events = records.map(({ auditId, jws }) => {
          return { audit_id: auditId, payload: decodeJws(jws)?.payload ?? null };
        });
        const { description, document, file } = agent;
        const [view] = await viewsOf(parts, [agent]);
        return { agent: { ...view, description, document, file }, events };
      },
    },
    {
      method: "POST",
      path: "/agents/:id",
      answer: async ({ params, body, act }) => {
        const { agentId } = find(parts, params["id"]);
        const method = METHODS[textIn(body, "action", Object.keys(METHODS))] ?? "";
        return act(method, "/", { agent_id: agentId, ...reasonIn(body) });
      },
    },
  ];
}

function find({ directory }: AgentParts, id = ""): AgentDocument {
  const agent = directory.find(id);
  if (agent === undefined) throw unknown("agent");
  return agent;
}

async function viewsOf(
  parts: AgentParts,
  agents: readonly AgentDocument[],
): Promise<readonly object[]> {
  const heads = await parts.state.ledger.currentHeadsOf(agents.map(({ agentId }) => agentId));
  return agents.map((agent) => viewOf(parts, agent, heads));
}

function viewOf(
  { state }: AgentParts,
  agent: AgentDocument,
  heads: ReadonlyMap<string, ChainHead>,
): object {
  const { agentId, name, trustTier, verificationPath, scopes, ownerId } = agent;
  const head = heads.get(agentId);
  return {
    ...{ agent_id: agentId, name, status: state.lifecycle.statusOf(agent) },
    ...{ trust_tier: trustTier, verification_path: verificationPath, scopes },
    owner_id: ownerId ?? null,
    chain_head: head?.auditId ?? null,
    last_at: head === undefined ? null : new Date(head.at).toISOString(),
  };
}
