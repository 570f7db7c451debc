/**
 * The part of the floor that finds things: QUERY, and DISCOVER by criteria, over indexes of what
 * this deployment serves.   AGTP "QUERY", "DISCOVER"
 */
import { isDisclosedTo } from "../builtins/inventory.ts";
import { methodNames } from "../catalog/path-grammar.ts";
import type { EndpointDefinition } from "../contract/endpoint.ts";
import { createRegistry, type EndpointRegistry } from "../contract/endpoint-registry.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { discoverMethod } from "../methods/discover.ts";
import type { FloorMethod } from "../methods/floor.ts";
import { queryMethod } from "../methods/query.ts";
import { agentEntry } from "../search/agent-entry.ts";
import { apiEntry } from "../search/api-entry.ts";
import { contractSource } from "../search/contract-source.ts";
import {
  type EndpointEntryOptions,
  endpointEntry,
  type FoundEndpoint,
} from "../search/endpoint-entry.ts";
import { FILTER_SCHEMA } from "../search/filter.ts";
import { recipeEntry } from "../search/recipe-entry.ts";
import { Search, type Surface } from "../search/search.ts";
import { canonicalPair } from "./pairs.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";

/** Makes the part. The indexes are built once the deployment is served. */
export async function createSearchPart(parts: FloorParts): Promise<FloorPart> {
  const { default: Engine } = await import("minisearch");
  const { compiler, config, inventory } = parts;
  const place = { file: "QUERY /", key: "input_schema.properties.filter" };
  const { compiled: filter } = compiler.compile(FILTER_SCHEMA, place);
  if (filter === undefined) throw new Error("the schema of filters does not compile");
  const search = new Search({
    Engine,
    surface: () => surfaceOf(parts),
    sources: () => parts.sources(),
  });
  return {
    methods: new Map<string, FloorMethod>([
      ["QUERY", queryMethod({ search, filter })],
      ["DISCOVER", discoverMethod({ search, filter, domain: config.server.domain })],
    ]),
    sources: [contractSource(inventory.contracts)],
    start: () => void search.prepare(),
  };
}

/** What can be found, policy permitting: of what it refuses or sends elsewhere nothing is said. */
function surfaceOf(parts: FloorParts): Surface {
  const { config, catalog, directory, inventory, methodPolicy, state } = parts;
  const endpoints = reachableEndpoints(parts);
  const { registry } = createRegistry(endpoints.map(({ definition }) => definition));
  const options: EndpointEntryOptions = {
    policy: config.policies,
    compiler: parts.compiler,
    names: methodNames(catalog, config.policies.methods.custom),
    meaningOf: (method) => catalog.verbs.get(method)?.description,
    arrives: arrivalsIn(parts, registry),
  };
  const recipes = {
    isSynthesizing: config.policies.synthesisEnabled,
    isNegotiating: inventory.isNegotiating,
    isAllowed: (method: string) => methodPolicy.isAllowed(method),
  };
  const agents = {
    statusOf: (agent: AgentDocument) => state.lifecycle.statusOf(agent),
    isDisclosedTo: (agentId: string | undefined) => isDisclosedTo(inventory, agentId),
  };
  return {
    open: [
      ...endpoints.map((endpoint) => endpointEntry(options, endpoint)),
      ...inventory.recipes.flatMap((recipe) => recipeEntry(recipes, recipe)),
      ...inventory.apis.map(apiEntry),
    ],
    disclosed: directory.list().map((agent) => agentEntry(agents, agent)),
  };
}

function reachableEndpoints({ inventory, methodPolicy }: FloorParts): readonly FoundEndpoint[] {
  const known = new Set<string>();
  return [...inventory.endpoints(), ...inventory.unlisted()].filter(({ definition }) => {
    const { method, path } = definition;
    const pair = `${method} ${path}`;
    if (known.has(pair) || !methodPolicy.isAllowed(method)) return false;
    known.add(pair);
    const canonical = canonicalPair(methodPolicy, { method, path });
    return canonical.method === method && canonical.path === path;
  });
}

function arrivalsIn(
  { methodPolicy }: FloorParts,
  registry: EndpointRegistry<EndpointDefinition>,
): EndpointEntryOptions["arrives"] {
  return (method, path, definition) => {
    const canonical = canonicalPair(methodPolicy, { method, path });
    return registry.find(canonical.method, canonical.path)?.entry === definition;
  };
}
