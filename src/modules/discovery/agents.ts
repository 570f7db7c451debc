/** DISCOVER /agents: the agents this server hosts, with their trust posture.   AGTP-API §5.8.2 */
import type { AgentDocument } from "../../identity/agent-document.ts";
import { arrayOf, type Builtin } from "./builtin.ts";
import { disclosedAgents, type Inventory } from "./inventory.ts";

/** A bare array; entries withheld by policy leave no trace. */
export function agentsBuiltin(inventory: Inventory): Builtin {
  const countMethods = (): number =>
    inventory.endpoints().filter(({ tier }) => tier === "B").length;
  return {
    name: "agents",
    description: "Lists the agents this server hosts, with their trust posture.",
    outputSchema: arrayOf(["agent_id", "name", "trust_tier", "verification_path"]),
    handler: ({ agentId }) => {
      const methodsCount = countMethods();
      const agents = disclosedAgents(inventory, agentId);
      return { body: agents.map((agent) => agentEntry(agent, methodsCount)) };
    },
  };
}

function agentEntry(agent: AgentDocument, methodsCount: number): Record<string, unknown> {
  return {
    agent_id: agent.agentId,
    name: agent.name,
    skills_summary: agent.description,
    methods_count: methodsCount,
    trust_tier: agent.trustTier,
    verification_path: agent.verificationPath,
    ...(agent.trustWarning === undefined ? {} : { trust_warning: agent.trustWarning }),
    ...(agent.ownerId === undefined ? {} : { owner_id: agent.ownerId }),
    ...(agent.notCallable === undefined ? {} : { callable: false, reason: agent.notCallable }),
  };
}
