/** The agents of this server: standing, scopes, chains; and who may act no more. */

import type { AgentDirectory } from "../../../identity/agent-directory.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import { decodeJws } from "../../../identity/jws.ts";
import type { ServerState } from "../../../state/state.ts";
import { type ApiRoute, reasonIn, textIn } from "../console-api.ts";
import { unknown } from "../console-fault.ts";

/** What these routes look into. */
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
      answer: () => ({ agents: parts.directory.list().map((agent) => viewOf(parts, agent)) }),
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
        return { agent: { ...viewOf(parts, agent), description, document, file }, events };
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

function viewOf({ state }: AgentParts, agent: AgentDocument): object {
  const { agentId, name, trustTier, verificationPath, scopes, ownerId } = agent;
  const head = state.ledger.headOf(agentId);
  return {
    ...{ agent_id: agentId, name, status: state.lifecycle.statusOf(agent) },
    ...{ trust_tier: trustTier, verification_path: verificationPath, scopes },
    owner_id: ownerId ?? null,
    chain_head: head?.auditId ?? null,
    last_at: head === undefined ? null : new Date(head.at).toISOString(),
  };
}
