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
import type { AgentDocument } from "../identity/agent-document.ts";
import { builtinEndpoints } from "../modules/discovery/builtin-endpoints.ts";
import {
  type Inventory,
  isDisclosedTo,
  type ListedEndpoint,
} from "../modules/discovery/inventory.ts";
import { persistentEndpoints } from "../modules/discovery/persistent-endpoints.ts";
import {
  manifestFile,
  type PublishedManifest,
  publishManifest,
} from "../modules/discovery/publish.ts";
import { agentLifecycleEndpoints, keptMethods } from "../modules/floor/kept-methods.ts";
import { describeAgents } from "./agent-descriptions.ts";
import { createFloor, type Floor } from "./floor.ts";
import { taskTargets } from "./floor-tasks.ts";
import type { ProtocolParts } from "./protocol-parts.ts";

/** The routes, and what keeping their manifest takes. */
export interface ProtocolRoutes
  extends Pick<Floor, "start" | "close" | "join" | "delegations" | "faces" | "skipped"> {
  readonly routes: readonly Route[];
  /** Those of `policies.builtins` and of the floor. */
  readonly problems: readonly Problem[];
  /** Keeps the manifest's dates in the state directory. */
  readonly keep: () => readonly Problem[];
  /** What the manifest lists. */
  readonly listed: () => readonly EndpointDefinition[];
}

/** What the manifest says that this server can do. */
function supportedFeatures({ policies, attribution, gateway }: Config): readonly string[] {
  return [
    ...["endpoint-registry", "composition", "external-service", "lifecycle"],
    ...(attribution.enabled ? ["attribution"] : []),
    ...(gateway.enabled ? ["http-gateway"] : []),
    ...(policies.synthesisEnabled ? ["synthesis"] : []),
    ...(policies.synthesisEnabled && policies.rcns.enabled ? ["rcns"] : []),
  ];
}

/** What the operator says of a protocol comes before what the server would. */
function hostedProtocols({ config, openwop }: ProtocolParts): Config["hostedProtocols"] {
  const listed = config.hostedProtocols;
  const isThere = listed.some(({ protocol }) => protocol === "openwop");
  if (isThere || openwop.registry.all.length === 0) return listed;
  return [...listed, { protocol: "openwop", method: "EXECUTE", path: "/agents/{agent_id}" }];
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
  const inventory: Inventory = {
    endpoints: () => listed,
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
  };
  const definitions = () => listed.map(({ definition }) => definition);
  const manifest = currentManifest(parts, definitions);
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
  const endpoints = [
    ...(await drive(withoutOperators(replaceable, parts.operatorRoutes))),
    ...agentLifecycleEndpoints(methods, describe),
    ...description.endpoints,
    ...builtinEndpoints({
      inventory,
      overrides,
      compiler,
      criteria: floorMethods.get("DISCOVER"),
      manifestFor: (agentId) => {
        const published = manifest();
        const own = persistentEndpoints(inventory, agentId);
        if (own.length > 0) return published.extend(disclosed(agentId), own);
        return disclosed(agentId) ? published.disclosed : published.withheld;
      },
    }),
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
  manifest();
  const { start, close, join, delegations, faces, skipped } = floor;
  return {
    routes,
    problems: [...problems, ...floor.problems],
    listed: definitions,
    keep: () => keepManifest(manifest(), config),
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

/** The manifest as it is now: made anew when an agent has come to another status, or a port is known. */
function currentManifest(
  parts: ProtocolParts,
  endpoints: () => readonly EndpointDefinition[],
): () => PublishedManifest {
  const { config, catalog, directory, methodPolicy, signingKey } = parts;
  const { lifecycle } = parts.state;
  let published: PublishedManifest | undefined;
  let revision = lifecycle.revision;
  let { entries } = parts.apis;
  return () => {
    const isAsBefore = revision === lifecycle.revision && entries === parts.apis.entries;
    if (published !== undefined && isAsBefore) return published;
    revision = lifecycle.revision;
    entries = parts.apis.entries;
    const source = {
      config,
      catalog,
      agents: directory.list(),
      statusOf: (agent: AgentDocument) => lifecycle.statusOf(agent),
      endpoints: endpoints(),
      apis: entries,
      methodPolicy: methodPolicy.projection,
      supportedFeatures: supportedFeatures(config),
      hostedProtocols: hostedProtocols(parts),
    };
    published = publishManifest(source, signingKey);
    return published;
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
