/** The operator's endpoints and recipes, and the way to their upstreams. */
import { relative } from "node:path";
import type { Environment } from "../base/environment.ts";
import type { Paced } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import type { ModuleContext, Vocabulary } from "../dispatch/module/module.ts";
import type { ProcessState } from "../dispatch/process-state.ts";
import { type LoadedEndpoint, loadingEndpoints } from "../endpoint/load-endpoints.ts";
import type { Recipe } from "../endpoint/recipe.ts";
import { loadingRecipes } from "../endpoint/recipe-file.ts";
import type { DeployedServers } from "../handlers/mcp/deployed-servers.ts";
import { readMcpSettings } from "../handlers/mcp/read-settings.ts";
import { ToolPins } from "../handlers/mcp/tool-pins.ts";
import type { DeployedProcesses } from "../handlers/processes/deployed-processes.ts";
import type { UpstreamPools } from "../handlers/upstream-pools.ts";
import { createSchemaCompiler, type SchemaCompiler } from "../schema/schema.ts";
import type { Config } from "./config/config.ts";

/** Loads both, a file a step; what has a problem is left out. */
export function* loadingContents(
  config: Config,
  { catalog, names }: Vocabulary,
  env: Environment,
  problems: Problem[],
): Paced<{
  readonly compiler: SchemaCompiler;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly endpoints: readonly LoadedEndpoint[];
}> {
  const { directory, policies } = config;
  const compiler = createSchemaCompiler();
  const customMethods = new Set(policies.methods.custom);
  const vocabulary = { directory, catalog, names, customMethods };
  const recipes = yield* loadingRecipes({ ...vocabulary, recipesDir: config.recipes.dir });
  const endpoints = yield* loadingEndpoints({
    ...vocabulary,
    endpointsDir: config.endpoints.dir,
    env,
    compiler,
    outputValidation: policies.outputValidation,
  });
  // Spread into arguments, those of ten thousand files would be too many.
  for (const problem of [...recipes.problems, ...endpoints.problems]) problems.push(problem);
  return { compiler, recipes: recipes.recipes, endpoints: endpoints.endpoints };
}

const NO_UPSTREAMS: UpstreamPools = {
  pool: () => {
    throw new Error("no endpoint of this deployment has an upstream");
  },
  close: () => Promise.resolve(),
};

/** The HTTP client takes long to load: only a deployment that has upstreams waits for it. */
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

/** The processes of a deployment, started; what keeps one from answering is noted. */
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

/** MCP's library takes long to load: only a deployment that names servers waits for it. */
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
