/**
 * The part of the floor that finds things: QUERY, and DISCOVER by criteria, over indexes of what
 * this deployment serves.   AGTP "QUERY", "DISCOVER"
 */

import { mapPaced, type Paced } from "../base/paced.ts";
import { THE_SERVER } from "../base/task-queue.ts";
import { methodNames } from "../catalog/path-grammar.ts";
import type { FloorMethod } from "../dispatch/floor.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import { buildRegistry, type EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { isDisclosedTo } from "../modules/discovery/inventory.ts";
import { agentEntry } from "../modules/search/agent-entry.ts";
import { apiEntry } from "../modules/search/api-entry.ts";
import { contractSource } from "../modules/search/contract-source.ts";
import { discoverMethod } from "../modules/search/discover.ts";
import {
  type EndpointEntryOptions,
  endpointEntry,
  type FoundEndpoint,
} from "../modules/search/endpoint-entry.ts";
import { FILTER_SCHEMA } from "../modules/search/filter.ts";
import { queryMethod } from "../modules/search/query.ts";
import { recipeEntry } from "../modules/search/recipe-entry.ts";
import { Search, type Surface } from "../modules/search/search.ts";
import { canonicalPair } from "../server/pairs.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";

/** Makes the part. The indexes are built once the deployment is served. */
export function createSearchPart(parts: FloorParts): FloorPart {
  const { compiler, config, inventory } = parts;
  const place = { file: "QUERY /", key: "input_schema.properties.filter" };
  const { compiled: filter } = compiler.compile(FILTER_SCHEMA, place);
  if (filter === undefined) throw new Error("the schema of filters does not compile");
  const { work } = parts.floor;
  const search = new Search({
    surface: () => surfaceOf(parts),
    sources: () => parts.sources(),
    drive: (steps) => work.pace(steps, THE_SERVER, parts.floor.stopping.signal),
  });
  return {
    methods: new Map<string, FloorMethod>([
      ["QUERY", queryMethod({ search, work, filter })],
      ["DISCOVER", discoverMethod({ search, work, filter, domain: config.server.domain })],
    ]),
    sources: [contractSource(inventory.contracts)],
    // A server that stops indexes nothing more; whoever searches hears of anything else.
    start: () => void search.prepare().catch(() => undefined),
  };
}

/** What can be found, policy permitting: of what it refuses or sends elsewhere nothing is said. */
function* surfaceOf(parts: FloorParts): Paced<Surface> {
  const { config, catalog, directory, inventory, methodPolicy, state } = parts;
  const endpoints = yield* reachableEndpoints(parts);
  const definitions = endpoints.map(({ definition }) => definition);
  const { registry } = yield* buildRegistry(definitions);
  const options: EndpointEntryOptions = {
    policy: config.policies,
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
  const entries = yield* mapPaced(endpoints, (endpoint) => endpointEntry(options, endpoint));
  return {
    open: [
      ...entries,
      ...inventory.recipes.flatMap((recipe) => recipeEntry(recipes, recipe)),
      ...inventory.apis.map(apiEntry),
    ],
    disclosed: yield* mapPaced(directory.list(), (agent) => agentEntry(agents, agent)),
  };
}

function* reachableEndpoints(parts: FloorParts): Paced<readonly FoundEndpoint[]> {
  const { inventory, methodPolicy } = parts;
  const known = new Set<string>();
  const reachable: FoundEndpoint[] = [];
  for (const endpoint of [...inventory.endpoints(), ...inventory.unlisted()]) {
    yield;
    const { method, path } = endpoint.definition;
    const pair = `${method} ${path}`;
    if (known.has(pair) || !methodPolicy.isAllowed(method)) continue;
    known.add(pair);
    const canonical = canonicalPair(methodPolicy, { method, path });
    if (canonical.method === method && canonical.path === path) reachable.push(endpoint);
  }
  return reachable;
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
