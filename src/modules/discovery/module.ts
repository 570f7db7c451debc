/**
 * DESCRIBE, the agents' own paths and the DISCOVER built-ins, with the manifest that they publish.
 * AGTP-API §5.8, §8, AGTP "DESCRIBE"
 */
import { relative } from "node:path";
import { filterPaced, type Paced } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { type Disclosure, isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import type { Module } from "../../dispatch/module/module.ts";
import { whileServing } from "../../dispatch/module/while-serving.ts";
import { describeBy, floorEndpoints } from "../../dispatch/routes/floor.ts";
import { protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import { listingMethods } from "../../dispatch/routes/supported-methods.ts";
import type { Handler } from "../../handlers/handler.ts";
import type { ModuleLoader } from "../../handlers/module-loader.ts";
import { builtinEndpoints } from "./builtin-endpoints.ts";
import type { DiscoveryContext, DiscoverySections } from "./config.ts";
import { CurrentManifest } from "./current-manifest.ts";
import { createDescription, type Description } from "./describe.ts";
import { loadYaml } from "./describe-identity.ts";
import type { ManifestDocument } from "./document.ts";
import { type Inventory, persistentEndpoints } from "./inventory.ts";
import { checkKeepable, manifestFile, type PublishedManifest } from "./publish.ts";

/** It goes last: what it shows is what the others have contributed. */
export const discoveryModule: Module<DiscoverySections> = {
  name: "discovery",
  takes: { agents: true, hostedProtocols: true, policies: true, server: true },
  async provision(context) {
    const { config, compiler, criteria } = context;
    const { overrides, problems } = await loadOverrides(config, context.loader);
    const manifest = new CurrentManifest(context);
    const inventory = inventoryOf(context, manifest);
    const { method, endpoints } = await describeAgents(context, inventory);
    const manifestFor = variantsOf(manifest, inventory);
    const builtins = builtinEndpoints({ inventory, overrides, compiler, criteria, manifestFor });
    const floor = floorEndpoints(new Map([["DESCRIBE", method]]), describeBy(context.catalog));
    let foreseen: readonly Problem[] = [];
    return {
      routes: protocolRoutes([...floor, ...endpoints, ...builtins.endpoints], context),
      blockers: problems,
      complete: async () => {
        foreseen = foreseeKeeping(config);
        return foreseen;
      },
      prepare: async () => {
        await Promise.all([manifest.get(), builtins.prepare()]);
      },
      documentVersion: async () => (await manifest.get()).disclosed.documentVersion,
      warmUp: () => loadYaml.prepare(),
      keep: async () => (foreseen.length > 0 ? [] : keepManifest(await manifest.get(), config)),
    };
  },
};

function inventoryOf(context: DiscoveryContext, manifest: CurrentManifest): Inventory {
  const { config, directory, recipes, features, deployment } = context;
  return {
    endpoints: () => deployment().listed,
    isListed: (method, path) => manifest.isListed(method, path),
    agents: directory,
    disclosure: config.agents.disclosure,
    defaultAgent: config.agents.default,
    apis: () => deployment().apis(),
    recipes: [...recipes.values()],
    contracts: { active: (agentId) => deployment().contracts.active(agentId) },
    isNegotiating: features.includes("rcns"),
    drive: whileServing(context),
  };
}

/** The manifest as each caller may see it. */
function variantsOf(
  manifest: CurrentManifest,
  inventory: Inventory,
): (agentId: string | undefined) => ManifestDocument | Promise<ManifestDocument> {
  return (agentId) => {
    const own = persistentEndpoints(inventory, agentId);
    const isDisclosed = isDisclosedTo(inventory, agentId);
    const pick = (published: PublishedManifest): ManifestDocument | Promise<ManifestDocument> => {
      if (own.length > 0) return published.extend(isDisclosed, own);
      return isDisclosed ? published.disclosed : published.withheld;
    };
    const published = manifest.get();
    return published instanceof Promise ? published.then(pick) : pick(published);
  };
}

async function loadOverrides(
  { policies, directory, file }: DiscoverySections,
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

/** Finds at the start what `keepManifest` would find when the server is ready already. */
function foreseeKeeping(place: DiscoverySections): readonly Problem[] {
  return warningOf(place, () => checkKeepable(manifestFile(place.directory)));
}

function keepManifest({ keep }: PublishedManifest, place: DiscoverySections): readonly Problem[] {
  return warningOf(place, keep);
}

/** A manifest that cannot be kept is a warning: it is the same, only newer than it need be. */
function warningOf({ directory }: DiscoverySections, keep: () => void): readonly Problem[] {
  try {
    keep();
    return [];
  } catch (error) {
    const file = relative(directory, manifestFile(directory));
    const message = `the manifest's dates cannot be kept: ${reasonOf(error)}`;
    return [{ file, key: "", message, severity: "warning" }];
  }
}

/** The description of this server's agents. */
async function describeAgents(
  context: DiscoveryContext,
  disclosure: Disclosure,
): Promise<Description> {
  const { config, directory, inventory, drive } = context;
  const { ledger, lifecycle } = context.state;
  const { server, agents } = config;
  return createDescription(
    {
      ...{ directory, server, methods: await drive(filteringServed(context)) },
      defaultAgent: agents.default === undefined ? undefined : directory.resolve(agents.default),
      isDisclosedTo: (agentId) => isDisclosedTo(disclosure, agentId),
      standing: {
        statusOf: (agent) => lifecycle.statusOf(agent),
        statusSince: (agent) => lifecycle.statusSince(agent),
        lastAction: (agentId) => ledger.currentHeadOf(agentId),
      },
      findEntry: (name, callerId) => inventory?.find(name, callerId),
      listsEntries: inventory?.isEmpty === false,
      toolsOf: (agent) => inventory?.toolsOf(agent) ?? [],
    },
    describeBy(context.catalog),
  );
}

/** The operator's endpoints and the floor, of which this module answers two methods itself. */
function* filteringServed({ routes, methodPolicy }: DiscoveryContext): Paced<readonly string[]> {
  const floor: ReadonlySet<string> = new Set(FLOOR_METHODS);
  const shown = yield* filterPaced(
    routes,
    ({ tier, method, path }) => tier === "B" || (path === "/" && floor.has(method)),
  );
  const own = ["DESCRIBE", "DISCOVER"].map((method) => ({ method, path: "/" }));
  return yield* listingMethods([...shown, ...own], methodPolicy);
}
