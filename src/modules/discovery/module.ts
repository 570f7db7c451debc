/**
 * DESCRIBE, the agents' own paths and the DISCOVER built-ins, with the manifest that they publish.
 * AGTP-API §5.8, §8, AGTP "DESCRIBE"
 */
import { relative } from "node:path";
import { filterPaced, type Paced } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import type { Module } from "../../dispatch/module/module.ts";
import { describeBy, floorEndpoints, listingMethods } from "../../dispatch/routes/floor.ts";
import { protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import type { Handler } from "../../handlers/handler.ts";
import type { ModuleLoader } from "../../handlers/module-loader.ts";
import { builtinEndpoints } from "./builtin-endpoints.ts";
import type { DiscoveryContext, DiscoverySections } from "./config.ts";
import { createDescription } from "./describe.ts";
import { loadYaml } from "./describe-identity.ts";
import { checkKeepable, KeptDates, manifestFile } from "./manifest-dates.ts";
import { CurrentManifest } from "./publish.ts";

/** The module comes last, because it shows the other modules' contributions. */
export const discoveryModule: Module<DiscoverySections> = {
  name: "discovery",
  takes: { agents: true, hostedProtocols: true, policies: true, server: true },
  async provision(context) {
    const { config } = context;
    const { overrides, problems } = await loadOverrides(config, context.loader);
    const manifest = new CurrentManifest(context, await context.once(KeptDates.open));
    const methods = await context.drive(filteringServed(context));
    const { method, endpoints } = createDescription(context, methods);
    const builtins = builtinEndpoints({ context, manifest, overrides });
    const floor = floorEndpoints(new Map([["DESCRIBE", method]]), describeBy(context.catalog));
    let foreseen: readonly Problem[] = [];
    return {
      routes: protocolRoutes([...floor, ...endpoints, ...builtins.endpoints], context),
      blockers: [...problems, ...skippedProtocols(context)],
      complete: async () => {
        // `keep` runs only once the server is ready, which is too late for a warning.
        foreseen = await warningOf(config, () => checkKeepable(manifestFile(config.directory)));
        return foreseen;
      },
      prepare: async () => {
        await Promise.all([manifest.get(), builtins.prepare()]);
      },
      documentVersion: async () => (await manifest.get()).disclosed.documentVersion,
      warmUp: () => loadYaml.prepare(),
      keep: async () => {
        const { keep } = await manifest.get();
        return foreseen.length > 0 ? [] : warningOf(config, keep);
      },
    };
  },
};

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

/** Warns of hosted protocols with an unknown method, which the manifest leaves out.   AGTP-API §8.6 */
function skippedProtocols({ config, catalog, methodPolicy }: DiscoveryContext): Problem[] {
  const file = relative(config.directory, config.file);
  return config.hostedProtocols.flatMap(({ method }, index) => {
    if (methodPolicy.isKnown(method)) return [];
    const message = `skipped: "${method}" is not in the method catalog ${catalog.version}`;
    return [{ file, key: `hosted_protocols[${index}].method`, message, severity: "warning" }];
  });
}

/** Turns a failure to store the dates into a warning: the manifest stays valid, with newer dates than needed. */
async function warningOf(
  { directory }: DiscoverySections,
  keep: () => void | Promise<void>,
): Promise<readonly Problem[]> {
  try {
    await keep();
    return [];
  } catch (error) {
    const file = relative(directory, manifestFile(directory));
    const message = `the manifest's dates cannot be kept: ${reasonOf(error)}`;
    return [{ file, key: "", message, severity: "warning" }];
  }
}

/** The methods of the operator's endpoints and of the floor; this module itself adds DESCRIBE and DISCOVER. */
function* filteringServed({ routes, methodPolicy }: DiscoveryContext): Paced<readonly string[]> {
  const floor: ReadonlySet<string> = new Set(FLOOR_METHODS);
  const shown = yield* filterPaced(
    routes,
    ({ tier, method, path }) => tier === "B" || (path === "/" && floor.has(method)),
  );
  const own = ["DESCRIBE", "DISCOVER"].map((method) => ({ method, path: "/" }));
  return yield* listingMethods([...shown, ...own], methodPolicy);
}
