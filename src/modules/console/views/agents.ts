/** The agents of this server: status, scopes and chains; and suspending, reinstating or revoking them. */
import type { AgentDocument } from "../../../identity/agent-document.ts";
import { decodeJws } from "../../../identity/jws.ts";
import type { ChainHead } from "../../../state/records/record-store.ts";
import type { Agent } from "../answers.ts";
import { type ApiRoute, get, post, reasonIn, textIn } from "../console-api.ts";
import { found } from "../console-fault.ts";
import { Rows } from "../rows.ts";
import type { Sources } from "./sources.ts";

/** The method behind each button. */
const METHODS: Readonly<Record<string, string>> = {
  suspend: "DEACTIVATE",
  reinstate: "REINSTATE",
  revoke: "REVOKE",
};
const MAX_EVENTS = 100;

/** `/api/agents` and `/api/agents/{agent_id}` */
export function agentRoutes(parts: Sources): readonly ApiRoute[] {
  return [
    get("/agents", async () => {
      const agents = parts.directory.list();
      const heads = await headsOf(parts, agents);
      return { agents: new Rows(agents, (agent) => viewOf(parts, agent, heads)) };
    }),
    get("/agents/:id", async ({ params }) => {
      const agent = find(parts, params["id"]);
      const records = await parts.state.lifecycle.events(agent.agentId, MAX_EVENTS);
      const events = records.map(({ auditId, jws }) => {
        return { audit_id: auditId, payload: decodeJws(jws)?.payload ?? null };
      });
      const { description, document, file } = agent;
      const view = viewOf(parts, agent, await headsOf(parts, [agent]));
      return { agent: { ...view, description, document, file }, events };
    }),
    post("/agents/:id", ["action", "reason"], async ({ params, body, act }) => {
      const { agentId } = find(parts, params["id"]);
      const method = METHODS[textIn(body, "action", Object.keys(METHODS))] ?? "";
      return act(method, { agent_id: agentId, ...reasonIn(body) });
    }),
  ];
}

function find({ directory }: Sources, id = ""): AgentDocument {
  return found(directory.find(id), "agent");
}

function headsOf(
  { state }: Sources,
  agents: readonly AgentDocument[],
): Promise<ReadonlyMap<string, ChainHead>> {
  return state.ledger.currentHeadsOf(agents.map(({ agentId }) => agentId));
}

function viewOf(
  { state }: Sources,
  agent: AgentDocument,
  heads: ReadonlyMap<string, ChainHead>,
): Agent {
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
