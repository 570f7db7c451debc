/**
 * The DISCOVER built-ins for the inventory of this server: agents and their Genesis, tools, APIs, patterns, contracts.
 * AGTP-API §5.8
 */

import { shareBody } from "../../base/kept-text.ts";
import { filterPaced, mapPaced, type Paced } from "../../base/paced.ts";
import { seesAll } from "../../dispatch/caller/caller.ts";
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import { whileServing } from "../../dispatch/process-state.ts";
import { notFound } from "../../dispatch/refusals/refusal.ts";
import { listingTools, toolEntry } from "../../dispatch/tools/tool.ts";
import { type Contract, contractEntry } from "../../endpoint/contract.ts";
import { patternEntry } from "../../endpoint/project.ts";
import type { Call } from "../../handlers/handler.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { DiscoveryContext } from "./config.ts";
import { answerWith, arrayOf, type Builtin, Listing, sharing } from "./inventory.ts";

/** DISCOVER /contracts: the active contracts of the caller, as a bare array. */
export function contractsBuiltin(context: DiscoveryContext): Builtin {
  return {
    name: "contracts",
    description: "Lists the active synthesized contracts of the calling agent.",
    outputSchema: arrayOf([
      ...["synthesis_id", "method", "path", "originating_agent_id", "recipe_lineage"],
      ...["contract_hash", "negotiation_origin"],
    ]),
    handler: ({ agentId }, { caller }) => {
      const { contracts } = context.deployment();
      if (seesAll(caller)) {
        const listing = sharing(listingActive(contracts.eachOpen()));
        return Promise.resolve(whileServing(context)(listing)).then((body) => ({ body }));
      }
      const own = agentId === undefined ? [] : contracts.active(agentId);
      return answerWith(own, contractEntry, context);
    },
  };
}

/** The active contracts of every agent, newest first, in steps since there may be many. */
function* listingActive(open: Iterable<Contract>): Paced<readonly object[]> {
  const active = yield* filterPaced(open, ({ state }) => state === "active");
  return yield* mapPaced(active.reverse(), contractEntry);
}

/**
 * DISCOVER /apis: the HTTP APIs beside this server, including its own sidecar; a bare array of `{name, description?,
 * base_url?}`.   AGTP-API §5.8.5
 */
export function apisBuiltin({ deployment }: DiscoveryContext): Builtin {
  return {
    name: "apis",
    description: "Lists the HTTP APIs that this server fronts.",
    outputSchema: arrayOf(["name"]),
    handler: () => ({ body: shareBody(deployment().apis()) }),
  };
}

/**
 * DISCOVER /patterns: the recipes that this server negotiates against, `{rcns_enabled, patterns}`. Recipes without a
 * pattern match nothing and are not listed.   AGTP-API §5.8.6
 */
export function patternsBuiltin({ recipes, features }: DiscoveryContext): Builtin {
  const patterns = [...recipes.values()].flatMap((recipe) => patternEntry(recipe) ?? []);
  const body = shareBody({ rcns_enabled: features.includes("rcns"), patterns });
  return {
    name: "patterns",
    description: "Lists the synthesis patterns this server negotiates against.",
    outputSchema: { type: "object", required: ["rcns_enabled", "patterns"] },
    handler: () => ({ body }),
  };
}

/**
 * DISCOVER /tools: the tools of this server in MCP's shape. EXECUTE accepts each by its name or by its action, also as
 * a carried tool call.   AGTP-API §5.8.4
 */
export function toolsBuiltin(context: DiscoveryContext): Builtin {
  const tools = new Listing(() => listingServedTools(context), context);
  return {
    name: "tools",
    description: "Lists the tools that this server makes available to EXECUTE.",
    outputSchema: arrayOf(["name"]),
    prepare: () => tools.prepare(),
    handler: () => tools.answer(),
  };
}

function* listingServedTools({ deployment }: DiscoveryContext): Paced<readonly object[]> {
  return yield* mapPaced(yield* listingTools(deployment().listed), toolEntry);
}

/**
 * DISCOVER /agents: the agents that this server hosts, with their trust posture; entries withheld by policy leave no
 * trace.   AGTP-API §5.8.2
 */
export function agentsBuiltin(context: DiscoveryContext): Builtin {
  const agents = new Listing(() => listingAgents(context), context);
  return {
    name: "agents",
    description: "Lists the agents this server hosts, with their trust posture.",
    outputSchema: arrayOf(["agent_id", "name", "trust_tier", "verification_path"]),
    prepare: () => agents.prepare(),
    handler: ({ agentId }) => (isDisclosedTo(context, agentId) ? agents.answer() : { body: [] }),
  };
}

function* listingAgents({ deployment, directory }: DiscoveryContext): Paced<readonly object[]> {
  const methodsCount = deployment().listed.filter(({ tier }) => tier === "B").length;
  return yield* mapPaced(directory.list(), (agent) => agentEntry(agent, methodsCount));
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

/**
 * DISCOVER /genesis: the Agent Genesis of the agent that `agent_id` names, or else of the caller, or else of the
 * configured default, as the octets of its canonical form. 404 if that agent has none.   AGTP-API §5.8.1
 */
export function genesisBuiltin(context: DiscoveryContext): Builtin {
  return {
    name: "genesis",
    description: "Returns the Agent Genesis of the addressed agent in its canonical form.",
    inputProperties: {
      agent_id: { type: "string", description: "The Agent-ID or the name of the addressed agent." },
    },
    outputSchema: { type: "object", required: ["signature"] },
    handler: (call, exchange) => {
      const agent = addressedAgent(context, call);
      exchange.addressed = agent;
      if (agent?.genesis !== undefined) return { body: shareBody(agent.genesis.canonical) };
      return notFound("genesis-not-found", "no Agent Genesis is loaded for this agent");
    },
  };
}

/** A name could be guessed, so it finds an agent only for callers that may list agents. */
function addressedAgent(context: DiscoveryContext, call: Call): AgentDocument | undefined {
  const { directory: agents, config } = context;
  const { default: defaultAgent } = config.agents;
  const named = call.input["agent_id"];
  if (typeof named === "string") {
    return isDisclosedTo(context, call.agentId) ? agents.resolve(named) : agents.find(named);
  }
  if (call.agentId !== undefined) return agents.find(call.agentId);
  return defaultAgent === undefined ? undefined : agents.resolve(defaultAgent);
}
