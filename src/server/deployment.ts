/**
 * Everything between the files of a deployment and a dispatcher, built completely before anything
 * is served. All problems are collected; which of them stop the start is decided here.
 * AGTP-API "Validation Timing"
 */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import type { Catalog } from "../catalog/catalog.ts";
import { loadCatalog } from "../catalog/catalog-file.ts";
import { type MethodNames, methodNames } from "../catalog/path-grammar.ts";
import { shippedCatalogPath } from "../catalog/shipped-catalog.ts";
import type { Config, LimitsConfig } from "../config/config.ts";
import { createRegistry } from "../contract/endpoint-registry.ts";
import { type LoadedEndpoint, loadEndpoints } from "../contract/load-endpoints.ts";
import { createSchemaCompiler, type SchemaCompiler } from "../contract/schema.ts";
import { Deadlines } from "../dispatch/deadlines.ts";
import { createDispatcher, type Dispatcher, type Observer } from "../dispatch/dispatcher.ts";
import { compileMethodPolicy, type MethodPolicy } from "../dispatch/method-policy.ts";
import type { Route } from "../dispatch/route.ts";
import { bindHandlers } from "../handlers/bind.ts";
import { createModuleLoader, type ModuleLoader } from "../handlers/module-loader.ts";
import type { UpstreamPools } from "../handlers/upstream-pools.ts";
import { type AgentDirectory, createAgentDirectory } from "../identity/agent-directory.ts";
import { covers } from "../identity/authority-scope.ts";
import { loadAgents } from "../identity/load-agents.ts";
import { isError, type Problem } from "../problem.ts";
import type { Recipe } from "../synthesis/recipe.ts";
import { loadRecipes } from "../synthesis/recipe-file.ts";
import { operatorRoute } from "./operator-route.ts";
import { isProtocolPair, loadProtocolRoutes } from "./protocol-routes.ts";

export interface Deployment {
  readonly config: Config;
  readonly dispatcher: Dispatcher;
  /** Writes what outlives the process: called when the deployment is served, and not before. */
  commit(): readonly Problem[];
  /** Ends what the deployment holds open, once its running requests are done. */
  close(): Promise<void>;
}

export interface DeploymentOptions {
  readonly observer: Observer;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface LoadedDeployment {
  /** Undefined when a problem stops the start. */
  readonly deployment: Deployment | undefined;
  readonly problems: readonly Problem[];
}

/** What a problem in the vocabulary itself leaves nothing to build on. */
interface Vocabulary {
  readonly catalog: Catalog;
  readonly names: MethodNames;
  readonly methodPolicy: MethodPolicy;
}

/** Loads, compiles and binds a whole deployment. Writes nothing. */
export async function loadDeployment(
  config: Config,
  options: DeploymentOptions,
): Promise<LoadedDeployment> {
  const problems: Problem[] = [];
  const vocabulary = loadVocabulary(config, problems);
  if (vocabulary === undefined) return { deployment: undefined, problems };

  const directory = loadDirectory(config, problems);
  const contents = loadContents(config, vocabulary, options, problems);
  const pools = await openUpstreamPools(contents.endpoints);
  const loader = createModuleLoader({ root: config.handlers.root });
  const operatorRoutes = await bindRoutes(
    { contents, methodPolicy: vocabulary.methodPolicy, limits: config.limits, loader, pools },
    problems,
  );
  const isFatal = config.server.onInvalid === "fail" && problems.some(isError);

  const protocol = await loadProtocolRoutes({
    config,
    ...vocabulary,
    directory,
    compiler: contents.compiler,
    recipes: [...contents.recipes.values()],
    operatorRoutes,
    loader,
  });
  problems.push(...protocol.problems);
  if (isFatal || protocol.problems.some(isError)) {
    await pools.close();
    return { deployment: undefined, problems };
  }

  const { registry } = createRegistry<Route>([...protocol.routes, ...operatorRoutes]);
  const deadlines = new Deadlines(config.limits.handlerTimeoutMs);
  const dispatcher = createDispatcher({
    ...vocabulary,
    serverId: config.server.serverId,
    policies: config.policies,
    registry,
    directory,
    deadlines,
    observer: options.observer,
  });
  const { keep: commit } = protocol;
  return { deployment: { config, dispatcher, commit, close: () => pools.close() }, problems };
}

function loadVocabulary(config: Config, problems: Problem[]): Vocabulary | undefined {
  // The configuration let a missing file pass only where the operator named none.
  const path = existsSync(config.catalog.file) ? config.catalog.file : shippedCatalogPath();
  const loaded = loadCatalog(path, relative(config.directory, path));
  problems.push(...loaded.problems);
  const { catalog } = loaded;
  if (catalog === undefined || loaded.problems.some(isError)) return undefined;
  const names = methodNames(catalog, config.policies.methods.custom);
  const file = relative(config.directory, config.file);
  const compiled = compileMethodPolicy({ config: config.policies.methods, catalog, names, file });
  problems.push(...compiled.problems);
  if (compiled.problems.some(isError)) return undefined;
  return { catalog, names, methodPolicy: compiled.policy };
}

function loadDirectory(config: Config, problems: Problem[]): AgentDirectory {
  const agents = loadAgents({ directory: config.directory, agentsDir: config.agents.dir });
  problems.push(...agents.problems);
  return createAgentDirectory(agents.documents);
}

interface Contents {
  readonly compiler: SchemaCompiler;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly endpoints: readonly LoadedEndpoint[];
}

function loadContents(
  config: Config,
  { catalog, names }: Vocabulary,
  { env }: DeploymentOptions,
  problems: Problem[],
): Contents {
  const { directory, policies } = config;
  const compiler = createSchemaCompiler();
  const customMethods = new Set(policies.methods.custom);
  const vocabulary = { directory, catalog, names, customMethods };
  const recipes = loadRecipes({ ...vocabulary, recipesDir: config.recipes.dir });
  const endpoints = loadEndpoints({
    ...vocabulary,
    endpointsDir: config.endpoints.dir,
    env,
    compiler,
    outputValidation: policies.outputValidation,
  });
  problems.push(...recipes.problems, ...endpoints.problems);
  return { compiler, recipes: recipes.recipes, endpoints: endpoints.endpoints };
}

/** The HTTP client takes long to load: only a deployment that has upstreams waits for it. */
async function openUpstreamPools(endpoints: readonly LoadedEndpoint[]): Promise<UpstreamPools> {
  const hasUpstream = endpoints.some(
    ({ definition }) => definition.handler.type === "external_service",
  );
  if (!hasUpstream) return NO_UPSTREAMS;
  const { createUpstreamPools } = await import("../handlers/upstream-pools.ts");
  return createUpstreamPools();
}

const NO_UPSTREAMS: UpstreamPools = {
  pool: () => {
    throw new Error("no endpoint of this deployment has an upstream");
  },
  close: () => Promise.resolve(),
};

interface Binding {
  readonly contents: Contents;
  readonly methodPolicy: MethodPolicy;
  readonly limits: LimitsConfig;
  readonly loader: ModuleLoader;
  readonly pools: UpstreamPools;
}

async function bindRoutes(
  { contents, methodPolicy, limits, loader, pools }: Binding,
  problems: Problem[],
): Promise<readonly Route[]> {
  const { bound, problems: found } = await bindHandlers({
    endpoints: contents.endpoints.map(({ definition }) => definition),
    recipes: contents.recipes,
    loader,
    pools,
    covers,
    floor: isProtocolPair,
    canonical: ({ method, path }) => {
      const resolved = methodPolicy.alias(method)?.method ?? method;
      return methodPolicy.redirect(resolved, path) ?? { method: resolved, path };
    },
  });
  problems.push(...found);
  return contents.endpoints.flatMap((endpoint) => {
    const handler = bound.get(endpoint.definition);
    return handler === undefined ? [] : [operatorRoute(endpoint, handler, limits)];
  });
}
