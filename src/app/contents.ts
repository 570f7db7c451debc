/**
 * The contents of a deployment: the catalog and method policy, the operator's endpoints and
 * recipes, their upstreams, and their routes (tier B).   AGTP-API §6.1, §9
 */

import { existsSync } from "node:fs";
import { relative } from "node:path";
import type { Environment } from "../base/environment.ts";
import { type Drive, mapPaced, type Paced } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import type { TaskQueue } from "../base/task-queue.ts";
import { UNREAD_CATALOG } from "../catalog/catalog.ts";
import { loadCatalog, shippedCatalogPath } from "../catalog/catalog-file.ts";
import { methodNames } from "../catalog/path-grammar.ts";
import { withLongAnswers } from "../dispatch/handling/long-answers.ts";
import type { ModuleContext, ServerVocabulary } from "../dispatch/module/module.ts";
import {
  canonicalPair,
  compileMethodPolicy,
  type MethodPolicy,
} from "../dispatch/policy/method-policy.ts";
import type { ProcessState } from "../dispatch/process-state.ts";
import { isProtocolPair } from "../dispatch/routes/floor.ts";
import { createRoute, type Route } from "../dispatch/routes/route.ts";
import type { HandlerBinding } from "../endpoint/endpoint.ts";
import {
  type LoadedEndpoint,
  type LoadedEndpoints,
  loadingEndpoints,
  type UnservedHandler,
} from "../endpoint/load-endpoints.ts";
import type { Recipe } from "../endpoint/recipe.ts";
import { loadingRecipes } from "../endpoint/recipe-file.ts";
import { type BoundHandler, bindHandlers } from "../handlers/bind.ts";
import { AwaitedAnswer, type McpServers, type UpstreamHandler } from "../handlers/call-upstream.ts";
import { isHandlerError } from "../handlers/handler.ts";
import type { DeployedServers } from "../handlers/mcp/deployed-servers.ts";
import { readMcpSettings } from "../handlers/mcp/read-settings.ts";
import { ToolPins } from "../handlers/mcp/tool-pins.ts";
import type { ModuleLoader } from "../handlers/module-loader.ts";
import type { DeployedProcesses } from "../handlers/processes/deployed-processes.ts";
import type { UpstreamPools } from "../handlers/upstream-pools.ts";
import { covers } from "../identity/authority-scope.ts";
import {
  type CompiledSchema,
  createSchemaCompiler,
  type SchemaCompiler,
} from "../schema/schema.ts";
import type { Config } from "./config/config.ts";
import type { Doubts } from "./config/doubts.ts";

/** Loads endpoints and recipes, one file a step; files with an error are left out. */
export function* loadingContents(
  config: Config,
  { catalog, names }: ServerVocabulary,
  env: Environment,
  problems: Problem[],
  doubts?: Doubts,
): Paced<{
  readonly compiler: SchemaCompiler;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly endpoints: readonly LoadedEndpoint[];
  readonly unserved: readonly UnservedHandler[];
  /** False if an endpoint file could not be loaded. */
  readonly isWhole: boolean;
}> {
  const { directory, policies } = config;
  const compiler = createSchemaCompiler();
  const customMethods = new Set(policies.methods.custom);
  const vocabulary = { directory, catalog, names, customMethods };
  // A directory whose configured location is doubtful is not read.
  const isLost = (section: string): boolean => doubts?.isAbout(section) === true;
  const recipes = isLost("recipes")
    ? { recipes: new Map<string, Recipe>(), problems: [] }
    : yield* loadingRecipes({ ...vocabulary, recipesDir: config.recipes.dir });
  const source = {
    ...{ ...vocabulary, endpointsDir: config.endpoints.dir, env, compiler },
    outputValidation: policies.outputValidation,
  };
  const isPlaced = !isLost("endpoints") && !isLost("recipes");
  const loaded = isPlaced ? yield* loadingEndpoints(source) : NO_ENDPOINTS;
  // Pushed one by one, since spreading the problems of ten thousand files exceeds the argument
  // limit.
  for (const problem of [...recipes.problems, ...loaded.problems]) problems.push(problem);
  const { endpoints, unserved } = loaded;
  const isWhole = isPlaced && !loaded.problems.some(isError);
  return { compiler, recipes: recipes.recipes, endpoints, unserved, isWhole };
}

const NO_ENDPOINTS: LoadedEndpoints = { endpoints: [], unserved: [], problems: [] };

const NO_UPSTREAMS: UpstreamPools = {
  pool: () => {
    throw new Error("no endpoint of this deployment has an upstream");
  },
  close: () => Promise.resolve(),
};

/** Opens the upstream pools. The HTTP client loads slowly, so only a deployment with upstreams imports it. */
export async function openUpstreamPools(
  endpoints: readonly LoadedEndpoint[],
): Promise<UpstreamPools> {
  const hasUpstream = endpoints.some(
    ({ definition }) => definition.handler.type === "external_service",
  );
  if (!hasUpstream) return NO_UPSTREAMS;
  const { createUpstreamPools } = await import("../handlers/upstream-pools.ts");
  return createUpstreamPools();
}

/** Starts the deployment's processes, and adds a problem for each that does not answer. */
export async function startProcesses(
  config: Config,
  {
    env,
    kept,
    log,
  }: { env: Environment; kept: Pick<ProcessState, "once">; log: ModuleContext["log"] },
  problems: Problem[],
): Promise<DeployedProcesses | undefined> {
  if (config.processes.length === 0) return undefined;
  const { DeployedProcesses, openProcessHouse } = await import(
    "../handlers/processes/deployed-processes.ts"
  );
  const { processes, directory, limits } = config;
  const deployed = new DeployedProcesses({
    ...{ processes, directory, env, log, house: await kept.once(openProcessHouse) },
    file: relative(directory, config.file),
    maxLineBytes: limits.bodyBytes,
    handlerTimeoutMs: limits.handlerTimeoutMs,
  });
  problems.push(...(await deployed.start()));
  return deployed;
}

/** Opens the MCP servers. The MCP library loads slowly, so only a deployment with servers imports it. */
export async function openMcpServers(
  { mcp, directory }: Config,
  kept: Pick<ProcessState, "once">,
  log: ModuleContext["log"],
): Promise<DeployedServers | undefined> {
  const settings = readMcpSettings(mcp.servers, directory);
  if (settings.length === 0) return undefined;
  const { deployServers, openServerPool } = await import("../handlers/mcp/deployed-servers.ts");
  const pool = await kept.once(openServerPool);
  const pins = await kept.once(ToolPins.open);
  return deployServers({ settings, pool, pins, log });
}

/** The parts that routes are built from. */
interface OperatorParts {
  readonly endpoints: readonly LoadedEndpoint[];
  readonly unserved: readonly UnservedHandler[];
  readonly isWhole: boolean;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly methodPolicy: MethodPolicy;
  readonly loader: ModuleLoader;
  readonly pools: UpstreamPools;
  readonly mcpServers: McpServers | undefined;
  readonly handlerTimeoutMs: number;
  readonly drive: Drive;
  readonly work: Pick<TaskQueue, "pace">;
}

/** Builds the routes of all endpoints that can be bound. */
export async function bindOperatorRoutes(
  parts: OperatorParts,
): Promise<{ readonly routes: readonly Route[]; readonly problems: readonly Problem[] }> {
  const { endpoints, methodPolicy, drive } = parts;
  const { bound, problems } = await bindHandlers({
    ...parts,
    endpoints: endpoints.map(({ definition }) => definition),
    covers,
    floor: isProtocolPair,
    canonical: (pair) => canonicalPair(methodPolicy, pair),
  });
  const routes = mapPaced(endpoints, (endpoint) => {
    const handler = bound.get(endpoint.definition);
    return handler && operatorRoute(endpoint, handler, parts);
  });
  const made = await drive(routes);
  return { routes: made.filter((route) => route !== undefined), problems };
}

function operatorRoute(
  { definition, input, output, shape }: LoadedEndpoint,
  { handler, precheck, steps }: BoundHandler,
  { handlerTimeoutMs, mcpServers, work }: OperatorParts,
): Route {
  const { type } = definition.handler;
  const promising = type === "mcp_tool" ? promisingOutput(handler, output) : handler;
  // A function of the operator may go on using its body, so that is not encoded in turns.
  const isOurs = type === "external_service" || type === "mcp_tool";
  return createRoute(definition, isOurs ? withLongAnswers(promising, work) : promising, {
    ...{ tier: "B", input, output, shape, precheck, steps },
    // A slow upstream ends as `upstream_timeout`, an error that the endpoint declares.
    endsInTime: upstreamTimeout(definition.handler, mcpServers) <= handlerTimeoutMs,
  });
}

/** Returns the upstream's timeout in milliseconds; infinite without an upstream. */
function upstreamTimeout(binding: HandlerBinding, servers: McpServers | undefined): number {
  if (binding.type === "external_service") return binding.timeoutMs;
  if (binding.type !== "mcp_tool") return Number.POSITIVE_INFINITY;
  return servers?.timeoutMs(binding.server) ?? Number.POSITIVE_INFINITY;
}

/**
 * Wraps a handler so that a body which the output schema rejects becomes an upstream failure, since
 * an MCP server's answer is not trusted.   AGTP-API §12.3
 */
function promisingOutput(handler: UpstreamHandler, output: CompiledSchema): UpstreamHandler {
  return async (call, exchange) => {
    const result = await handler(call, exchange);
    if (result instanceof AwaitedAnswer) return result;
    if (isHandlerError(result) || result.body === undefined) return result;
    const violations = output.check(result.body);
    if (violations === undefined) return result;
    const error = "upstream_malformed_response";
    call.log.warn({ error, violations }, "upstream call failed");
    return { error, message: "the upstream's response is not what the endpoint promises" };
  };
}

/** Loads the catalog and the method policy; undefined if a problem stops the start. */
export function loadVocabulary(config: Config, problems: Problem[]): ServerVocabulary | undefined {
  const { vocabulary, isSound } = readVocabulary(config, problems);
  return isSound ? vocabulary : undefined;
}

/**
 * Loads the catalog and the method policy as far as possible; without a catalog, unknown names are
 * not reported.
 */
export function readVocabulary(
  config: Config,
  problems: Problem[],
  doubts?: Doubts,
): { readonly vocabulary: ServerVocabulary; readonly isSound: boolean } {
  // A missing file passed the configuration check only if the operator did not name it.
  const path = existsSync(config.catalog.file) ? config.catalog.file : shippedCatalogPath();
  // A name may come from the catalog or from the policy.
  const isLost = doubts?.isAbout("catalog") || doubts?.isAboutTable("policies.methods");
  const loaded = isLost ? NO_CATALOG : loadCatalog(path, relative(config.directory, path));
  problems.push(...loaded.problems);
  const isRead = loaded.catalog !== undefined && !loaded.problems.some(isError);
  const catalog = isRead ? loaded.catalog : UNREAD_CATALOG;
  const names = methodNames(catalog, config.policies.methods.custom);
  const file = relative(config.directory, config.file);
  const compiled = compileMethodPolicy({ config: config.policies.methods, catalog, names, file });
  const found = [...compiled.problems, ...checkTokenMethods(config, compiled.policy, file)];
  // Warnings are about names that the catalog lacks, so they are dropped without a catalog.
  problems.push(...(isRead ? found : found.filter(isError)));
  const methodPolicy = isRead ? compiled.policy : { ...compiled.policy, isKnown: catalog.has };
  const vocabulary = { catalog, names, methodPolicy };
  return { vocabulary, isSound: isRead && !compiled.problems.some(isError) };
}

const NO_CATALOG: ReturnType<typeof loadCatalog> = { catalog: undefined, problems: [] };

/** Warns of a name that is never judged, which leaves the intended method unprotected. */
function checkTokenMethods(
  { policies: { oauth } }: Config,
  policy: MethodPolicy,
  file: string,
): readonly Problem[] {
  return (oauth?.requiredOnMethods ?? []).flatMap((name, index) => {
    const reason = uselessFor(name, policy);
    if (reason === undefined) return [];
    const key = `policies.oauth.required_on_methods[${index}]`;
    return [{ file, key, message: `"${name}" has no effect: ${reason}`, severity: "warning" }];
  });
}

function uselessFor(name: string, policy: MethodPolicy): string | undefined {
  const alias = policy.alias(name)?.method;
  if (alias !== undefined) return `it is an alias, and judged as "${alias}"`;
  return policy.isKnown(name) ? undefined : "it is no method of this server";
}
