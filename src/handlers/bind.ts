/**
 * Binds every endpoint to its implementation: loads functions, resolves recipes, prepares
 * upstreams. An endpoint with a problem stays unbound, as do the compositions that need it; the
 * others are bound.   AGTP-API §12, "Validation Timing"
 */
import { suggest } from "../base/close-matches.ts";
import type { JsonRecord } from "../base/json-value.ts";
import { atOnce, type Drive, giveWay, mapPaced, type Paced } from "../base/paced.ts";
import { isError, type Problem } from "../base/problem.ts";
import type {
  CompositionBinding,
  EndpointDefinition,
  ExternalServiceBinding,
  McpToolBinding,
  RegisteredFunctionBinding,
} from "../endpoint/endpoint.ts";
import { membersOf } from "../endpoint/input-shape.ts";
import type { UnservedHandler } from "../endpoint/load-endpoints.ts";
import type { Recipe, RecipeStep } from "../endpoint/recipe.ts";
import type { SchemaViolation } from "../schema/schema.ts";
import type { McpServers, UpstreamHandler } from "./call-upstream.ts";
import {
  checkComposition,
  compilingStepTargets,
  type StepTarget,
  type StepTargetOptions,
} from "./check-composition.ts";
import { checkFixedResult, checkSignature } from "./check-signature.ts";
import { createComposition } from "./composition.ts";
import { createExternalService } from "./external-service.ts";
import type { ModuleLoader } from "./module-loader.ts";
import type { UpstreamPools } from "./upstream-pools.ts";
import { parseUpstreamUrl } from "./upstream-url.ts";

/** An endpoint's handler, with the checks that run before it. */
export interface BoundHandler {
  readonly handler: UpstreamHandler;
  /** Rules on the input that a schema cannot express; a violation is a 422. */
  readonly precheck?: (input: JsonRecord) => readonly SchemaViolation[] | undefined;
  /** The steps that a composition dispatches. */
  readonly steps?: readonly RecipeStep[];
}

/** The endpoints, and the recipes, modules, pools and servers that they are bound to. */
export interface BindOptions {
  readonly endpoints: readonly EndpointDefinition[];
  /** Handlers of endpoints that another problem keeps unbound: they are checked but not bound. */
  readonly unserved?: readonly UnservedHandler[];
  /** False if the method and path of some endpoint could not be read. Default: true. */
  readonly isWhole?: boolean;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly loader: ModuleLoader;
  readonly pools: UpstreamPools;
  /** Undefined if no MCP server is configured. */
  readonly mcpServers?: McpServers | undefined;
  /** Returns true if granted scopes, wildcards included, cover a required one. */
  readonly covers: (granted: readonly string[], required: string) => boolean;
  /** Returns true if the server itself answers a method and path: floor methods, DISCOVER built-ins. */
  readonly floor: (method: string, path: string) => boolean;
  /** Runs the work in slices where requests are served meanwhile. Default: in one go. */
  readonly drive?: Drive;
  /** Applies aliases and redirects to a step's method and path. Default: there are none. */
  readonly canonical?: NonNullable<StepTargetOptions["canonical"]>;
}

/** The endpoints that were bound, and the problems of the others. */
export interface BoundHandlers {
  readonly bound: ReadonlyMap<EndpointDefinition, BoundHandler>;
  readonly problems: readonly Problem[];
}

/** The outcome for one endpoint; problems beside a bound handler are warnings. */
interface Binding {
  readonly bound?: BoundHandler;
  readonly problems?: readonly Problem[];
}

/** Binds every endpoint that can be bound, and returns the problems of the rest. */
export async function bindHandlers(options: BindOptions): Promise<BoundHandlers> {
  const { drive = atOnce } = options;
  const targetOf = await drive(compilingStepTargets({ ...options, isFloor: options.floor }));
  const binding = mapPaced(options.endpoints, (one) => bindEndpoint(one, options, targetOf));
  const bindings = await settleAll(await drive(binding), drive);
  const { unserved = [] } = options;
  const looking = mapPaced(unserved, async (one) => ({ problems: await faultsOf(one, options) }));
  const faults = await settleAll(await drive(looking), drive);
  const { bound, problems } = await drive(gathering(bindings, options, targetOf));
  return { bound, problems: [...problems, ...faults.flatMap((one) => one.problems ?? [])] };
}

/** Checks that a handler's target exists; its schemas are compared once the file has no other fault. */
async function faultsOf(
  { file, handler }: UnservedHandler,
  { recipes, loader, mcpServers }: BindOptions,
): Promise<readonly Problem[]> {
  switch (handler.type) {
    case "registered_function":
      return (await loader.load(handler.function, functionPlace(file))).problems;
    case "composition":
      return recipes.has(handler.recipe) ? [] : [unknownRecipe(file, handler, recipes)];
    case "mcp_tool":
      return mcpServers?.names.includes(handler.server)
        ? []
        : [unknownServer(file, handler, mcpServers)];
    case "external_service":
      return [];
  }
}

function functionPlace(file: string): Pick<Problem, "file" | "key"> {
  return { file, key: "endpoint.handler.function" };
}

function* gathering(
  bindings: readonly Binding[],
  { endpoints, recipes, isWhole = true }: BindOptions,
  targetOf: TargetOf,
): Paced<BoundHandlers> {
  const bound = new Map<EndpointDefinition, BoundHandler>();
  const problems: Problem[] = [];
  for (const [index, endpoint] of endpoints.entries()) {
    const binding = bindings[index];
    if (binding?.bound !== undefined) bound.set(endpoint, binding.bound);
    problems.push(...(binding?.problems ?? []));
    yield;
  }
  problems.push(...(yield* unbindingDependents(bound, recipes, targetOf)));
  const reaching = isWhole ? [...recipes.values()] : [];
  problems.push(...reaching.flatMap((recipe) => unreachedSteps(recipe, targetOf)));
  return { bound, problems };
}

/** Warns of steps because of which a recipe is never proposed; a composition's steps are its endpoint's problems. */
function unreachedSteps({ file, name, pattern, steps }: Recipe, targetOf: TargetOf): Problem[] {
  if (pattern === undefined) return [];
  return steps.flatMap((step, index): Problem[] => {
    if (targetOf(step).kind !== "none") return [];
    const place = `step ${index + 1} (${step.method} ${step.path}) of recipe "${name}"`;
    const message = `${place} reaches no registered endpoint, floor method or built-in`;
    const hint = "no contract can be made of it";
    return [{ file, key: "recipe.steps", message, hint, severity: "warning" }];
  });
}

/** Settles the bindings in batches, so that even a long list of settled ones gives way in between. */
async function settleAll(
  bindings: readonly (Binding | Promise<Binding>)[],
  drive: Drive,
): Promise<readonly Binding[]> {
  const settled: Binding[] = [];
  for (let start = 0; start < bindings.length; start += AT_ONCE) {
    settled.push(...(await Promise.all(bindings.slice(start, start + AT_ONCE))));
    await drive(giveWay());
  }
  return settled;
}

const AT_ONCE = 256;

type TargetOf = (step: RecipeStep) => StepTarget;

function bindEndpoint(
  endpoint: EndpointDefinition,
  options: BindOptions,
  targetOf: TargetOf,
): Binding | Promise<Binding> {
  switch (endpoint.handler.type) {
    case "registered_function":
      return bindFunction(endpoint, endpoint.handler, options.loader);
    case "composition":
      return bindComposition(endpoint, endpoint.handler, options, targetOf);
    case "external_service":
      return bindExternalService(endpoint, endpoint.handler, options.pools);
    case "mcp_tool":
      return bindMcpTool(endpoint, endpoint.handler, options.mcpServers);
  }
}

async function bindFunction(
  { file, inputSchema, outputSchema }: EndpointDefinition,
  binding: RegisteredFunctionBinding,
  loader: ModuleLoader,
): Promise<Binding> {
  const place = functionPlace(file);
  const { handler, signature, problems } = await loader.load(binding.function, place);
  if (handler === undefined) return { problems };
  const faults = checkSignature(signature, inputSchema, outputSchema);
  if (faults.length === 0) return { bound: { handler } };
  return { problems: faults.map((message) => ({ ...place, message })) };
}

function bindComposition(
  endpoint: EndpointDefinition,
  binding: CompositionBinding,
  { recipes, covers, floor }: BindOptions,
  targetOf: TargetOf,
): Binding {
  const recipe = recipes.get(binding.recipe);
  if (recipe === undefined) return { problems: [unknownRecipe(endpoint.file, binding, recipes)] };
  const problems = [
    ...checkComposition(recipe, endpoint, { recipes, targetOf, covers }),
    ...resultProblems(endpoint, recipe),
  ];
  if (problems.some(isError)) return { problems };
  const { steps } = recipe;
  return { bound: { handler: createComposition(recipe, floor), steps }, problems };
}

function unknownRecipe(
  file: string,
  { recipe }: CompositionBinding,
  recipes: ReadonlyMap<string, Recipe>,
): Problem {
  const message = `no recipe "${recipe}" is registered`;
  const problem = { file, key: "endpoint.handler.recipe", message };
  const hint = suggest(recipe, recipes.keys()) ?? "recipes are the *.toml of [recipes] dir";
  return { ...problem, hint };
}

/** The problems of an output schema that the fixed form of its results does not fit. */
function resultProblems(endpoint: EndpointDefinition, recipe?: Recipe): readonly Problem[] {
  const place = { file: endpoint.file, key: "endpoint.output_schema" };
  return checkFixedResult(endpoint, recipe).map((message) => ({ ...place, message }));
}

function bindExternalService(
  endpoint: EndpointDefinition,
  binding: ExternalServiceBinding,
  pools: UpstreamPools,
): Binding {
  const url = parseUpstreamUrl(binding.url);
  if (typeof url === "string") {
    return { problems: [{ file: endpoint.file, key: "endpoint.handler.url", message: url }] };
  }
  const problems = resultProblems(endpoint);
  if (problems.length > 0) return { problems };
  const declared = [...membersOf(endpoint.inputSchema, "properties").keys()];
  return { bound: createExternalService(binding, url, pools, declared) };
}

function bindMcpTool(
  { file, outputSchema }: EndpointDefinition,
  binding: McpToolBinding,
  servers: McpServers | undefined,
): Binding {
  const handler = servers?.bind(binding, outputSchema);
  if (handler === undefined) return { problems: [unknownServer(file, binding, servers)] };
  return { bound: { handler } };
}

function unknownServer(
  file: string,
  { server }: McpToolBinding,
  servers: McpServers | undefined,
): Problem {
  const message = `no [[mcp.servers]] has the name "${server}"`;
  const hint = suggest(server, servers?.names ?? []);
  return { file, key: "endpoint.handler.server", message, hint };
}

/** Unbinds compositions that need an unbound endpoint, until no bound one does. */
function* unbindingDependents(
  bound: Map<EndpointDefinition, BoundHandler>,
  recipes: ReadonlyMap<string, Recipe>,
  targetOf: TargetOf,
): Paced<readonly Problem[]> {
  const problems: Problem[] = [];
  let before: number;
  do {
    before = bound.size;
    for (const endpoint of [...bound.keys()]) {
      yield;
      const broken = findUnboundStep(endpoint, bound, recipes, targetOf);
      if (broken === undefined) continue;
      bound.delete(endpoint);
      problems.push({
        file: endpoint.file,
        key: "endpoint.handler.recipe",
        message: `step ${broken} needs an endpoint that could not be loaded`,
      });
    }
  } while (bound.size < before);
  return problems;
}

/** The number and target of the first step that no bound endpoint can answer. */
function findUnboundStep(
  { handler }: EndpointDefinition,
  bound: ReadonlyMap<EndpointDefinition, BoundHandler>,
  recipes: ReadonlyMap<string, Recipe>,
  targetOf: TargetOf,
): string | undefined {
  if (handler.type !== "composition") return undefined;
  const steps = recipes.get(handler.recipe)?.steps ?? [];
  const at = steps.findIndex((step) => !isAnswered(targetOf(step), bound));
  const step = steps[at];
  return step && `${at + 1} (${step.method} ${step.path}) of recipe "${handler.recipe}"`;
}

function isAnswered(
  target: StepTarget,
  bound: ReadonlyMap<EndpointDefinition, BoundHandler>,
): boolean {
  switch (target.kind) {
    case "server":
      return true;
    case "endpoint":
      return bound.has(target.endpoint);
    case "any-of":
      return target.endpoints.some((endpoint) => bound.has(endpoint));
    case "none":
      return false;
  }
}
