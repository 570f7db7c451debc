/**
 * The routes of the protocol itself (tier A): the floor methods on "/" and the DISCOVER built-ins,
 * with the manifest they publish.   AGTP-API §5.8, §6.1, §8
 */
import { join, relative } from "node:path";
import { builtinEndpoints } from "../builtins/builtin-endpoints.ts";
import { type Inventory, isDisclosedTo, type ListedEndpoint } from "../builtins/inventory.ts";
import { type Catalog, FLOOR_METHODS } from "../catalog/catalog.ts";
import type { Config } from "../config/config.ts";
import type { Capability } from "../contract/endpoint.ts";
import { RESERVED_NAMES } from "../contract/reserved-endpoints.ts";
import type { SchemaCompiler } from "../contract/schema.ts";
import type { MethodPolicy } from "../dispatch/method-policy.ts";
import type { Route, RouteHandler } from "../dispatch/route.ts";
import type { ModuleLoader } from "../handlers/module-loader.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import { buildManifest } from "../manifest/build.ts";
import { keepDates, resolveDates } from "../manifest/dates.ts";
import {
  contentHash,
  documentVersionOf,
  encodeManifest,
  type ManifestContent,
  type ManifestDocument,
} from "../manifest/document.ts";
import { floorEndpoints } from "../methods/floor.ts";
import { protocolRoute } from "../methods/protocol-endpoint.ts";
import type { Problem } from "../problem.ts";
import type { Recipe } from "../synthesis/recipe.ts";

export interface ProtocolParts {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly methodPolicy: MethodPolicy;
  readonly directory: AgentDirectory;
  readonly compiler: SchemaCompiler;
  readonly recipes: readonly Recipe[];
  readonly operatorRoutes: readonly Route[];
  readonly loader: ModuleLoader;
}

/** Whether a pair is the protocol's own: a floor method on "/", or a DISCOVER built-in. */
export function isProtocolPair(method: string, path: string): boolean {
  if (path === "/") return (FLOOR_METHODS as readonly string[]).includes(method);
  return method === "DISCOVER" && (RESERVED_NAMES as readonly string[]).includes(path.slice(1));
}

export interface ProtocolRoutes {
  readonly routes: readonly Route[];
  /** Those of `policies.builtins`. */
  readonly problems: readonly Problem[];
  /** Keeps the manifest's dates in the state directory. */
  keep(): readonly Problem[];
}

/** Builds the tier A routes. Writes nothing. */
export async function loadProtocolRoutes(parts: ProtocolParts): Promise<ProtocolRoutes> {
  const { config, catalog, compiler } = parts;
  const { overrides, problems } = await loadOverrides(config, parts.loader);
  const listed: ListedEndpoint[] = parts.operatorRoutes.map(({ definition }) => ({
    tier: "B",
    definition,
  }));
  const inventory: Inventory = {
    endpoints: () => listed,
    agents: parts.directory,
    disclosure: config.agents.disclosure,
    apis: config.apis,
    recipes: parts.recipes,
  };
  const manifests: { disclosed?: ManifestDocument; withheld?: ManifestDocument } = {};
  const endpoints = [
    ...floorEndpoints({
      synthesisEnabled: config.policies.synthesisEnabled,
      describe: (method) => describeMethod(catalog, method),
    }),
    ...builtinEndpoints({
      inventory,
      overrides,
      compiler,
      manifestFor: (agentId) => {
        const name = isDisclosedTo(inventory, agentId) ? "disclosed" : "withheld";
        const manifest = manifests[name];
        if (manifest === undefined) throw new Error("the manifest is not built yet");
        return manifest;
      },
    }),
  ];
  const routes = endpoints.map((endpoint) => protocolRoute(endpoint, compiler));
  for (const [index, { isListed }] of endpoints.entries()) {
    const route = routes[index];
    if (isListed && route !== undefined) listed.push({ tier: "A", definition: route.definition });
  }
  const published = publishManifests(parts, listed);
  Object.assign(manifests, published.manifests);
  return { routes, problems, keep: published.keep };
}

async function loadOverrides(
  { policies, directory, file }: Config,
  loader: ModuleLoader,
): Promise<{ overrides: ReadonlyMap<string, RouteHandler>; problems: Problem[] }> {
  const overrides = new Map<string, RouteHandler>();
  const problems: Problem[] = [];
  for (const [name, reference] of Object.entries(policies.builtins)) {
    const place = { file: relative(directory, file), key: `policies.builtins.${name}` };
    const loaded = await loader.load(reference, place);
    problems.push(...loaded.problems);
    if (loaded.handler !== undefined) overrides.set(name, loaded.handler);
  }
  return { overrides, problems };
}

function describeMethod(catalog: Catalog, method: string) {
  const verb = catalog.verbs.get(method);
  return {
    description: verb?.description ?? method,
    capability: (verb?.categories[0] ?? "mechanics") as Capability,
  };
}

interface Manifests {
  readonly disclosed: ManifestDocument;
  /** Without the hosted agents. */
  readonly withheld: ManifestDocument;
}

/** Both variants; they share the dates of the whole. */
function publishManifests(parts: ProtocolParts, listed: readonly ListedEndpoint[]) {
  const { config, catalog, directory, methodPolicy } = parts;
  const build = (agents: ReturnType<AgentDirectory["list"]>) =>
    buildManifest({
      config,
      catalog,
      agents,
      endpoints: listed.map(({ definition }) => definition),
      methodPolicy: methodPolicy.projection,
      supportedFeatures: SUPPORTED_FEATURES,
    });
  // What nobody is shown does not count as content.
  const agents = config.agents.disclosure === "private" ? [] : directory.list();
  const whole = build(agents);
  const hash = contentHash(whole);
  const file = join(config.directory, ".agtp", "manifest.json");
  const dates = resolveDates(file, hash, new Date());
  const encode = (content: ManifestContent, contentHash: string): ManifestDocument =>
    encodeManifest(content, dates, config.server.documentVersion ?? documentVersionOf(contentHash));
  const disclosed = encode(whole, hash);
  const bare = agents.length === 0 ? undefined : build([]);
  const withheld = bare === undefined ? disclosed : encode(bare, contentHash(bare));
  const manifests: Manifests = { disclosed, withheld };
  return { manifests, keep: () => keep(file, hash, dates, config) };
}

const SUPPORTED_FEATURES = ["endpoint-registry", "composition", "external-service"];

function keep(
  path: string,
  hash: string,
  dates: Parameters<typeof keepDates>[2],
  { directory }: Config,
): readonly Problem[] {
  try {
    keepDates(path, hash, dates);
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the manifest's dates cannot be kept: ${reason}`;
    return [{ file: relative(directory, path), key: "", message, severity: "warning" }];
  }
}
