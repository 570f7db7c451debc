/**
 * The search module: QUERY, and DISCOVER by criteria, over indexes of this deployment; and SUMMARIZE.   AGTP "QUERY",
 * "DISCOVER", "SUMMARIZE"
 */

import { mapPaced, type Paced } from "../../base/paced.ts";
import type { Module } from "../../dispatch/module/module.ts";
import type { QuerySource } from "../../dispatch/module/query-source.ts";
import { isReachable } from "../../dispatch/policy/method-policy.ts";
import { untilDrained } from "../../dispatch/process-state.ts";
import { describeBy, type FloorMethod, floorEndpoints } from "../../dispatch/routes/floor.ts";
import { protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ListedDefinition } from "../../dispatch/tools/tool.ts";
import { creatingRegistry } from "../../endpoint/endpoint-registry.ts";
import { type CompiledSchema, compileOwn } from "../../schema/schema.ts";
import type { SearchContext, SearchSections } from "./config.ts";
import { discoverMethod } from "./discover.ts";
import { endpointEntry } from "./endpoint-entry.ts";
import { FILTER_SCHEMA } from "./filter.ts";
import { agentEntry, apiEntry, recipeEntry } from "./other-entries.ts";
import { queryMethod } from "./query.ts";
import { Search, type Surface } from "./search.ts";
import { createSourcePlaces } from "./summarize/source-reference.ts";
import { summarizeMethod } from "./summarize/summarize.ts";

/** Indexes are built after the deployment is served, so that its start does not wait for them. */
export const searchModule: Module<SearchSections> = {
  name: "search",
  takes: { agents: true, policies: true, server: true },
  async provision(context) {
    const { config, work } = context;
    const filter = compileOwn(FILTER_SCHEMA);
    let sources: readonly QuerySource[] | undefined;
    const search = new Search({
      surface: () => preparingSurface(context, filter),
      sources: () => {
        sources ??= context.deployment().sources.map(firstHand);
        return sources;
      },
      drive: untilDrained(context),
    });
    const methods = new Map<string, FloorMethod>([
      ["QUERY", queryMethod({ search, work, filter })],
      ["SUMMARIZE", summarizeMethod({ places: createSourcePlaces(context), work })],
    ]);
    return {
      routes: protocolRoutes(floorEndpoints(methods, describeBy(context.catalog)), context),
      criteria: discoverMethod({ search, work, filter, domain: config.server.domain }),
      // Indexing stops with the server; any other failure is reported to each search.
      warmUp: () => void search.prepare().catch(() => undefined),
    };
  },
};

/** Also generates the filter's validator, so that the first search does not wait for it. */
function* preparingSurface(context: SearchContext, filter: CompiledSchema): Paced<Surface> {
  filter.check({}, true);
  yield;
  return yield* creatingSurface(context);
}

/** Collects the entries that the method policy permits; refused or redirected pairs are left out. */
function* creatingSurface(context: SearchContext): Paced<Surface> {
  const { directory, apis } = context.deployment();
  const endpoints = yield* filteringReachable(context);
  const { registry } = yield* creatingRegistry(endpoints.map(({ definition }) => definition));
  const served = { context, registry };
  return {
    open: [
      ...(yield* mapPaced(endpoints, (endpoint) => endpointEntry(served, endpoint))),
      ...[...context.recipes.values()].flatMap((recipe) => recipeEntry(context, recipe)),
      ...apis().map(apiEntry),
    ],
    disclosed: yield* mapPaced(directory.list(), (agent) => agentEntry(context, agent)),
  };
}

function* filteringReachable({
  deployment,
  methodPolicy,
}: SearchContext): Paced<readonly ListedDefinition[]> {
  const { listed, unlisted } = deployment();
  const known = new Set<string>();
  const reachable: ListedDefinition[] = [];
  for (const { tier, definition } of [...listed, ...unlisted]) {
    yield;
    const { method, path } = definition;
    const pair = `${method} ${path}`;
    if (known.has(pair) || !isReachable(methodPolicy, definition)) continue;
    known.add(pair);
    reachable.push({ tier, definition });
  }
  return reachable;
}

/**
 * Hides a source from delegated work: an agent's own data is shown to that agent, and not to those that delegate to
 * it.   AGTP "QUERY", "DELEGATE"
 */
function firstHand(source: QuerySource): QuerySource {
  return {
    name: source.name,
    entries: async (asker) => (asker.caller.delegation === undefined ? source.entries(asker) : []),
  };
}
