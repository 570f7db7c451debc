/**
 * DISCOVER /genesis: the Agent Genesis of the agent that the parameter `agent_id` names, else of the
 * one that asks, else of the configured default; the octets are those that were loaded, in canonical
 * form. 404 when that agent has none.   AGTP-API §5.8.1
 */

import { shareBody } from "../../base/shared-body.ts";
import { isDisclosedTo } from "../../dispatch/disclosure.ts";
import { notFound } from "../../dispatch/refusals/refusal.ts";
import type { Call } from "../../handlers/handler.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { Builtin } from "./builtin.ts";
import type { Inventory } from "./inventory.ts";

/** The agents whose Genesis there is to give. */
export type GenesisSource = Pick<Inventory, "agents" | "disclosure" | "defaultAgent">;

/** The Genesis document of the addressed agent. */
export function genesisBuiltin(source: GenesisSource): Builtin {
  return {
    name: "genesis",
    description: "Returns the Agent Genesis of the addressed agent in its canonical form.",
    inputProperties: {
      agent_id: { type: "string", description: "The Agent-ID or the name of the addressed agent." },
    },
    outputSchema: { type: "object", required: ["signature"] },
    handler: (call, exchange) => {
      const agent = addressedAgent(source, call);
      exchange.addressed = agent;
      if (agent?.genesis !== undefined) return { body: shareBody(agent.genesis.canonical) };
      return notFound("genesis-not-found", "no Agent Genesis is loaded for this agent");
    },
  };
}

/** Names can be guessed, so they find an agent only for whoever may learn which agents there are. */
function addressedAgent(source: GenesisSource, call: Call): AgentDocument | undefined {
  const { agents, defaultAgent } = source;
  const named = call.input["agent_id"];
  if (typeof named === "string") {
    return isDisclosedTo(source, call.agentId) ? agents.resolve(named) : agents.find(named);
  }
  if (call.agentId !== undefined) return agents.find(call.agentId);
  return defaultAgent === undefined ? undefined : agents.resolve(defaultAgent);
}
