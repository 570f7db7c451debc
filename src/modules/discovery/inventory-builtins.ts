/**
 * The DISCOVER built-ins that give what this server has: agents and their Genesis, tools, APIs,
 * patterns, contracts.   AGTP-API §5.8
 */

import { shareBody } from "../../base/kept-text.ts";
import { mapPaced, type Paced } from "../../base/paced.ts";
import { seesAll } from "../../dispatch/caller/caller.ts";
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import { notFound } from "../../dispatch/refusals/refusal.ts";
import { listingTools, toolEntry } from "../../dispatch/tools/tool.ts";
import { contractEntry } from "../../endpoint/contract.ts";
import { patternEntry } from "../../endpoint/project.ts";
import type { Call } from "../../handlers/handler.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { answerWith, arrayOf, type Builtin, type Inventory, Listing } from "./inventory.ts";

/** A bare array of contracts. */
export function contractsBuiltin({
  contracts,
  drive,
}: Pick<Inventory, "contracts" | "drive">): Builtin {
  return {
    name: "contracts",
    description: "Lists the active synthesized contracts of the calling agent.",
    outputSchema: arrayOf([
      ...["synthesis_id", "method", "path", "originating_agent_id", "recipe_lineage"],
      ...["contract_hash", "negotiation_origin"],
    ]),
    handler: ({ agentId }, { caller }) => {
      if (seesAll(caller)) return answerWith(contracts.active(), contractEntry, drive);
      const own = agentId === undefined ? [] : contracts.active(agentId);
      return answerWith(own, contractEntry, drive);
    },
  };
}

/**
 * DISCOVER /apis: the HTTP APIs beside this server, its own sidecar too; a bare array of `{name,
 * description?, base_url?}`.   AGTP-API §5.8.5
 */
export function apisBuiltin(inventory: Inventory): Builtin {
  return {
    name: "apis",
    description: "Lists the HTTP APIs that this server fronts.",
    outputSchema: arrayOf(["name"]),
    handler: () => ({ body: shareBody(inventory.apis()) }),
  };
}

/**
 * DISCOVER /patterns: the recipes that this server would negotiate against, `{rcns_enabled,
 * patterns}`. Those without a pattern match nothing and are not listed.   AGTP-API §5.8.6
 */
export function patternsBuiltin({ recipes, isNegotiating }: Inventory): Builtin {
  const patterns = recipes.flatMap((recipe) => patternEntry(recipe) ?? []);
  const body = shareBody({ rcns_enabled: isNegotiating, patterns });
  return {
    name: "patterns",
    description: "Lists the synthesis patterns this server negotiates against.",
    outputSchema: { type: "object", required: ["rcns_enabled", "patterns"] },
    handler: () => ({ body }),
  };
}

/**
 * DISCOVER /tools: the tools that this server makes available, in MCP's shape. EXECUTE takes each
 * by its name or by its action, also as a carried tool call.   AGTP-API §5.8.4
 */
export function toolsBuiltin(inventory: Pick<Inventory, "endpoints" | "drive">): Builtin {
  const tools = new Listing(() => listingServedTools(inventory), inventory.drive);
  return {
    name: "tools",
    description: "Lists the tools that this server makes available to EXECUTE.",
    outputSchema: arrayOf(["name"]),
    prepare: () => tools.prepare(),
    handler: () => tools.answer(),
  };
}

function* listingServedTools({
  endpoints,
}: Pick<Inventory, "endpoints">): Paced<readonly object[]> {
  return yield* mapPaced(yield* listingTools(endpoints()), toolEntry);
}

/**
 * DISCOVER /agents: the agents that this server hosts, with their trust posture; entries withheld
 * by policy leave no trace.   AGTP-API §5.8.2
 */
export function agentsBuiltin(inventory: Inventory): Builtin {
  const agents = new Listing(() => listingAgents(inventory), inventory.drive);
  return {
    name: "agents",
    description: "Lists the agents this server hosts, with their trust posture.",
    outputSchema: arrayOf(["agent_id", "name", "trust_tier", "verification_path"]),
    prepare: () => agents.prepare(),
    handler: ({ agentId }) => (isDisclosedTo(inventory, agentId) ? agents.answer() : { body: [] }),
  };
}

function* listingAgents({ agents, endpoints }: Inventory): Paced<readonly object[]> {
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

/** The agents whose Genesis there is to give. */
type GenesisSource = Pick<Inventory, "agents" | "disclosure" | "defaultAgent">;

/**
 * DISCOVER /genesis: the Agent Genesis of the agent that `agent_id` names, else of the one that
 * asks, else of the configured default; the octets are those that were loaded, in canonical form.
 * 404 when that agent has none.   AGTP-API §5.8.1
 */
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
