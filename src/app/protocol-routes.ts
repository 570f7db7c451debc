/**
 * The routes of the protocol itself (tier A): the floor methods on "/" and the DISCOVER built-ins,
 * with the manifest they publish.   AGTP-API §5.8, §6.1, §8
 */
import { relative } from "node:path";
import type { Config } from "../base/config.ts";
import type { Paced } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import { THE_SERVER } from "../base/task-queue.ts";
import { reasonOf } from "../base/thrown.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { type FloorOptions, floorEndpoints } from "../dispatch/floor.ts";
import {
  type ProtocolEndpoint,
  preparingInputs,
  protocolRoute,
} from "../dispatch/protocol-endpoint.ts";
import type { Route } from "../dispatch/route.ts";
import { CAPABILITIES, type EndpointDefinition } from "../endpoint/endpoint.ts";
import { buildRegistry } from "../endpoint/endpoint-registry.ts";
import type { Handler } from "../handlers/handler.ts";
import type { ModuleLoader } from "../handlers/module-loader.ts";
import { builtinEndpoints } from "../modules/discovery/builtin-endpoints.ts";
import type { ManifestDocument } from "../modules/discovery/document.ts";
import {
  type Inventory,
  isDisclosedTo,
  type ListedEndpoint,
} from "../modules/discovery/inventory.ts";
import { persistentEndpoints } from "../modules/discovery/persistent-endpoints.ts";
import { manifestFile, type PublishedManifest } from "../modules/discovery/publish.ts";
import { agentLifecycleEndpoints, keptMethods } from "../modules/floor/kept-methods.ts";
import { describeAgents } from "./agent-descriptions.ts";
import { CurrentManifest } from "./current-manifest.ts";
import { createFloor, type Floor } from "./floor.ts";
import { taskTargets } from "./floor-tasks.ts";
import type { ProtocolParts } from "./protocol-parts.ts";
import { whileServing } from "./while-serving.ts";

/** The routes, and what keeping their manifest takes. */
export interface ProtocolRoutes
  extends Pick<Floor, "start" | "close" | "join" | "delegations" | "faces" | "skipped"> {
  readonly routes: readonly Route[];
  /** Those of `policies.builtins` and of the floor. */
  readonly problems: readonly Problem[];
  /** Makes what takes long to make, so that nobody has to wait for it. */
  readonly prepare: () => Promise<void>;
  /** Keeps the manifest's dates in the state directory. */
  readonly keep: () => Promise<readonly Problem[]>;
  /** What the manifest lists. */
  readonly listed: () => readonly EndpointDefinition[];
}

/** An operator's endpoint takes the place of one that the protocol would have there. */
function* withoutOperators(
  endpoints: readonly ProtocolEndpoint[],
  operatorRoutes: readonly Route[],
): Paced<readonly ProtocolEndpoint[]> {
  const { registry } = yield* buildRegistry([...operatorRoutes, ...endpoints]);
  const kept = new Set<object>(registry.entries);
  return endpoints.filter((endpoint) => kept.has(endpoint));
}

/** Builds the tier A routes. Writes nothing. */
export async function loadProtocolRoutes(parts: ProtocolParts): Promise<ProtocolRoutes> {
  const { config, catalog, compiler, negotiation, drive } = parts;
  const { contractMethods } = negotiation;
  const { overrides, problems } = await loadOverrides(config, parts.loader);
  const listed: ListedEndpoint[] = parts.operatorRoutes.map(({ definition }) => ({
    tier: "B",
    definition,
  }));
  const unlisted: ListedEndpoint[] = [];
  const pairs = new Set<string>();
  const inventory: Inventory = {
    endpoints: () => listed,
    isListed: (method, path) => pairs.has(`${method} ${path}`),
    unlisted: () => unlisted,
    agents: parts.directory,
    disclosure: config.agents.disclosure,
    defaultAgent: config.agents.default,
    get apis() {
      return parts.apis.entries;
    },
    recipes: [...parts.recipes.values()],
    contracts: contractMethods.register,
    isNegotiating: config.policies.rcns.enabled && config.policies.synthesisEnabled,
    drive: whileServing(parts),
  };
  const definitions = () => listed.map(({ definition }) => definition);
  const manifest = new CurrentManifest(parts, definitions);
  const describe: FloorOptions["describe"] = (method) => describeMethod(catalog, method);
  const methods = keptMethods({
    directory: parts.directory,
    state: parts.state,
    attributor: parts.attributor,
    policy: config.policies.identity,
    contracts: contractMethods,
    ...taskTargets(parts),
  });
  const disclosed = (agentId: string | undefined): boolean => isDisclosedTo(inventory, agentId);
  const description = await describeAgents({ ...parts, isDisclosedTo: disclosed }, describe);
  const floor = await createFloor({ ...parts, inventory, describe });
  parts.apis.offer(floor.faces);
  const floorMethods = new Map([
    ...methods,
    ...floor.methods,
    ["DESCRIBE", description.method],
    ["PROPOSE", negotiation.proposeMethod],
  ]);
  const replaceable = [
    ...floorEndpoints({ methods: floorMethods, describe }),
    ...floor.endpoints,
    ...negotiation.endpoints,
  ];
  const builtins = builtinEndpoints({
    inventory,
    overrides,
    compiler,
    criteria: floorMethods.get("DISCOVER"),
    manifestFor: (agentId) => {
      const own = persistentEndpoints(inventory, agentId);
      const isDisclosed = disclosed(agentId);
      const pick = (published: PublishedManifest): ManifestDocument | Promise<ManifestDocument> => {
        if (own.length > 0) return published.extend(isDisclosed, own);
        return isDisclosed ? published.disclosed : published.withheld;
      };
      const published = manifest.get();
      return published instanceof Promise ? published.then(pick) : pick(published);
    },
  });
  const endpoints = [
    ...(await drive(withoutOperators(replaceable, parts.operatorRoutes))),
    ...agentLifecycleEndpoints(methods, describe),
    ...description.endpoints,
    ...builtins.endpoints,
  ];
  const routes = endpoints.map((endpoint) => protocolRoute(endpoint, compiler));
  for (const [index, endpoint] of endpoints.entries()) {
    const definition = routes[index]?.definition;
    if (definition === undefined) continue;
    if (endpoint.isListed) listed.push({ tier: "A", definition });
    else if (replaceable.includes(endpoint) && endpoint.isFindable !== false) {
      unlisted.push({ tier: "A", definition });
    }
  }
  // Only now: the manifest lists the built-ins, and one of them answers with it.
  await drive(manifest.listing(pairs));
  const { start, close, join, delegations, faces, skipped } = floor;
  return {
    routes,
    problems: [...problems, ...floor.problems],
    listed: definitions,
    prepare: async () => {
      await Promise.all([manifest.get(), builtins.prepare()]);
    },
    keep: async () => keepManifest(await manifest.get(), config),
    start: () => {
      start();
      const { work, stopping } = parts.floor;
      // A server that stops prepares nothing more.
      void work.pace(preparingInputs(routes), THE_SERVER, stopping.signal).catch(() => undefined);
    },
    close,
    join,
    delegations,
    faces,
    skipped,
  };
}

async function loadOverrides(
  { policies, directory, file }: Config,
  loader: ModuleLoader,
): Promise<{ overrides: ReadonlyMap<string, Handler>; problems: Problem[] }> {
  const overrides = new Map<string, Handler>();
  const problems: Problem[] = [];
  for (const [name, reference] of Object.entries(policies.builtins)) {
    const place = { file: relative(directory, file), key: `policies.builtins.${name}` };
    const loaded = await loader.load(reference, place);
    problems.push(...loaded.problems);
    if (loaded.handler !== undefined) overrides.set(name, loaded.handler);
  }
  return { overrides, problems };
}

function describeMethod(catalog: Catalog, method: string): ReturnType<FloorOptions["describe"]> {
  const verb = catalog.verbs.get(method);
  // A catalog may have categories that are no capability.
  const capability = CAPABILITIES.find((word) => word === verb?.categories[0]) ?? "mechanics";
  return { description: verb?.description ?? method, capability };
}

/** What cannot be kept is a warning: the manifest is the same, only newer than it need be. */
function keepManifest({ keep }: PublishedManifest, { directory }: Config): readonly Problem[] {
  const file = relative(directory, manifestFile(directory));
  try {
    keep();
    return [];
  } catch (error) {
    const reason = reasonOf(error);
    const message = `the manifest's dates cannot be kept: ${reason}`;
    return [{ file, key: "", message, severity: "warning" }];
  }
}
