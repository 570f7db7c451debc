/**
 * Provisions the modules of a deployment in order: each sees the contributions of those before it.
 * Conflicts between routes are found only here.
 */

import { filterPaced, giveWay, type Paced } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import type { Brought, Contribution, Module, ModuleContext } from "../dispatch/module/module.ts";
import type { Route } from "../dispatch/routes/route.ts";
import { TakenPairs } from "../dispatch/routes/taken-pairs.ts";
import { creatingRegistry, type EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import { type AgentDirectory, creatingAgentDirectory } from "../identity/agent-directory.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import type { Config } from "./config/config.ts";
import type { Disposables } from "./foundation.ts";

/** A module, whatever sections of the configuration it takes. */
export interface AnyModule extends Pick<Module, "name"> {
  readonly takes: { readonly [Section in keyof Config]?: true };
  provision(context: ModuleContext<Config>): Promise<Contribution>;
}

interface ModuleSources {
  readonly modules: readonly AnyModule[];
  readonly common: Omit<ModuleContext<Config>, keyof Brought>;
  readonly documents: readonly AgentDocument[];
  readonly routes: readonly Route[];
  readonly features: readonly string[];
  /** The resources to close when another deployment serves, and after the last request. */
  readonly untilReplaced: Disposables;
  readonly untilIdle: Disposables;
}

/** The combined contributions of the modules. */
export interface Provisioned extends Brought {
  readonly contributions: readonly Contribution[];
  /** The routes, without those whose pairs are taken. */
  readonly registry: EndpointRegistry<Route>;
  readonly problems: readonly Problem[];
}

/** Provisions the modules. Writes nothing. */
export async function provisionModules(sources: ModuleSources): Promise<Provisioned> {
  const { common, untilReplaced, untilIdle } = sources;
  const { drive } = common;
  const contributions: Contribution[] = [];
  const problems: Problem[] = [];
  const taken = new TakenPairs();
  await drive(taken.adding(sources.routes));
  let brought: Brought = {
    ...{ taken, routes: sources.routes, features: sources.features },
    directory: await drive(creatingAgentDirectory(sources.documents)),
    ...{ inspections: new Map(), revocations: new Map() },
    ...{ criteria: undefined, inventory: undefined, http: undefined },
  };
  for (const module of sources.modules) {
    const config = partOf(common.config, module);
    const contribution = await module.provision({ ...common, ...brought, config });
    untilReplaced.add({ close: async () => contribution.stop?.() });
    untilIdle.add({ close: async () => contribution.close?.() });
    contributions.push(contribution);
    const { routes = [], routesKey = "" } = contribution;
    const declared = await drive(filterPaced(routes, isDeclared));
    const others = await drive(filterPaced(routes, (route) => !isDeclared(route)));
    const free = await drive(taken.freeAmong(declared, routesKey));
    await drive(taken.adding(free.routes));
    problems.push(...(contribution.problems ?? []), ...free.problems);
    const kept = [...free.routes, ...others];
    brought = await drive(joining(brought, { ...contribution, routes: kept }));
    await drive(giveWay());
  }
  const { registry, displaced } = await drive(placing(brought.routes));
  problems.push(...displaced);
  return { ...brought, contributions, registry, problems };
}

/** Returns only those sections of the configuration that a module takes. */
function partOf(config: Config, { takes }: AnyModule): Config {
  const { directory, file } = config;
  const sections = Object.entries(config).filter(([section]) => Object.hasOwn(takes, section));
  return { directory, file, ...Object.fromEntries(sections) } as Config;
}

function* joining(before: Brought, one: Contribution): Paced<Brought> {
  const { agents = [] } = one;
  return {
    taken: before.taken,
    directory: agents.length === 0 ? before.directory : yield* withAgents(before, agents),
    routes: [...before.routes, ...(one.routes ?? [])],
    inspections: new Map([...before.inspections, ...(one.inspections ?? [])]),
    revocations: new Map([...before.revocations, ...(one.revocations ?? [])]),
    features: [...before.features, ...(one.features ?? [])],
    criteria: one.criteria ?? before.criteria,
    inventory: one.inventory ?? before.inventory,
    http: one.http ?? before.http,
  };
}

/** Adds agents to the directory; a new document of a known agent replaces the old one. */
function* withAgents(
  { directory }: Brought,
  agents: readonly AgentDocument[],
): Paced<AgentDirectory> {
  const given = new Map<string, AgentDocument>();
  for (const document of agents) {
    given.set(document.agentId, document);
    yield;
  }
  const documents: AgentDocument[] = [];
  for (const document of directory.list()) {
    documents.push(given.get(document.agentId) ?? document);
    yield;
  }
  for (const document of agents) {
    if (directory.find(document.agentId) === undefined) documents.push(document);
    yield;
  }
  return yield* creatingAgentDirectory(documents);
}

/** Tells whether a file declares the route: its tier is the operator's. */
function isDeclared({ tier }: Route): boolean {
  return tier === "B";
}

/**
 * Registers all routes. An endpoint of the protocol silently gives way unless it is reserved; one
 * that a file declares is reported.
 */
function* placing(routes: readonly Route[]): Paced<{
  readonly registry: EndpointRegistry<Route>;
  readonly displaced: readonly Problem[];
}> {
  const { registry, conflicts } = yield* creatingRegistry(yield* orderingRoutes(routes));
  const displaced = conflicts
    .filter(({ entry }) => isDeclared(entry))
    .map(({ entry, other, message }): Problem => {
      const owner = isDeclared(other)
        ? `is in ${other.definition.file}`
        : "belongs to the protocol";
      const { file } = entry.definition;
      return { file, key: "endpoint.path", message, hint: `the other one ${owner}` };
    });
  return { registry, displaced };
}

/** Orders the routes by precedence. */
function* orderingRoutes(routes: readonly Route[]): Paced<readonly Route[]> {
  const reserved = yield* filterPaced(routes, ({ isReserved }) => isReserved);
  const free = yield* filterPaced(routes, ({ isReserved }) => !isReserved);
  const declared = yield* filterPaced(free, isDeclared);
  const others = yield* filterPaced(free, (route) => !isDeclared(route));
  return [...reserved, ...declared, ...others];
}
