/** DISCOVER /agents: the agents this server hosts, with their trust posture.   AGTP-API §5.8.2 */

import { mapPaced, type Paced } from "../../base/paced.ts";
import { isDisclosedTo } from "../../dispatch/disclosure.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { arrayOf, type Builtin } from "./builtin.ts";
import type { Inventory } from "./inventory.ts";
import { Listing } from "./listing.ts";

/** A bare array; entries withheld by policy leave no trace. */
export function agentsBuiltin(inventory: Inventory): Builtin {
  const agents = new Listing(() => listing(inventory), inventory.drive);
  return {
    name: "agents",
    description: "Lists the agents this server hosts, with their trust posture.",
    outputSchema: arrayOf(["agent_id", "name", "trust_tier", "verification_path"]),
    prepare: () => agents.prepare(),
    handler: ({ agentId }) => (isDisclosedTo(inventory, agentId) ? agents.answer() : { body: [] }),
  };
}

function* listing({ agents, endpoints }: Inventory): Paced<readonly object[]> {
  const methodsCount = endpoints().filter(({ tier }) => tier === "B").length;
  return yield* mapPaced(agents.list(), (agent) => agentEntry(agent, methodsCount));
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
