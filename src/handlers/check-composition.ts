/**
 * Checks that an endpoint's recipe can work at all: every step reaches an endpoint, no step needs
 * more authority than the endpoint requires, no composition calls itself. The dispatcher checks the
 * rest, which depends on the values of a call.   AGTP-API §5.3, §12.1
 */

import { given, memberOf, quoteValue, textsIn } from "../base/json-value.ts";
import type { Paced } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import { templateNames, templateShape } from "../base/template.ts";
import { pairText } from "../catalog/pair.ts";
import { templateParameters } from "../catalog/path-grammar.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import { creatingRegistry } from "../endpoint/endpoint-registry.ts";
import { coerceText } from "../endpoint/input.ts";
import { inputShape, propertiesOf } from "../endpoint/input-shape.ts";
import { compilePathPattern, fillPath } from "../endpoint/path-template.ts";
import type { Recipe, RecipeStep } from "../endpoint/recipe.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { prepareMeteredCheck } from "../schema/metered-schema.ts";
import { PROPOSED_SCHEMA_BOUNDS } from "../schema/schema-bounds.ts";
import { checkSchema } from "../schema/schema-check.ts";
import type { FloorCheck } from "./composition.ts";

/** The other endpoints, and the scope rule that the check of a composition needs. */
interface CompositionSurroundings {
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly targetOf: (step: RecipeStep) => StepTarget;
  /** Returns true if granted scopes, wildcards included, cover a required one. */
  readonly covers: (granted: readonly string[], required: string) => boolean;
}

/** The problems of a composition endpoint; a step that its target always refuses is a warning. */
export function checkComposition(
  recipe: Recipe,
  definition: EndpointDefinition,
  surroundings: CompositionSurroundings,
): Problem[] {
  const place = { file: definition.file, key: "endpoint.handler.recipe" };
  const problems = recipe.steps.flatMap((step, index): Problem[] => {
    const name = `step ${index + 1} (${step.method} ${step.path}) of recipe "${recipe.name}"`;
    const fault = checkStep(step, definition, surroundings);
    if (fault !== undefined) return [{ ...place, message: `${name} ${fault}` }];
    const target = surroundings.targetOf(step);
    if (target.kind !== "endpoint") return [];
    return checkStepInput(step, definition.inputSchema, target.endpoint).map((words) => ({
      ...{ ...place, message: `${name} ${words}`, hint: FAILS },
      severity: "warning",
    }));
  });
  const chain = findCycle(definition, surroundings);
  if (chain === undefined) return problems;
  return [
    ...problems,
    { ...place, message: `the composition reaches itself: ${chain.join(" -> ")}` },
  ];
}

const FAILS = "calls of it end with composition_failed";

function checkStep(
  step: RecipeStep,
  definition: EndpointDefinition,
  { targetOf, covers }: CompositionSurroundings,
): string | undefined {
  const target = targetOf(step);
  if (target.kind === "none") return "reaches no registered endpoint, floor method or built-in";
  // A parameterised path may reach another endpoint, so the dispatcher checks its authority.
  if (target.kind !== "endpoint" || isTemplate(step.path)) return undefined;
  const missing = target.endpoint.requiredScopes.filter(
    (scope) => !covers(definition.requiredScopes, scope),
  );
  if (missing.length === 0) return undefined;
  return `needs ${missing.join(", ")}, which required_scopes must cover`;
}

/** The path from a composition back to itself; undefined if there is none. */
function findCycle(
  start: EndpointDefinition,
  { recipes, targetOf }: CompositionSurroundings,
): string[] | undefined {
  const visited = new Set<EndpointDefinition>();
  const trail: string[] = [pairText(start)];

  function returns(from: EndpointDefinition): boolean {
    for (const next of nextEndpoints(from)) {
      if (visited.has(next)) continue;
      visited.add(next);
      trail.push(pairText(next));
      if (next === start || returns(next)) return true;
      trail.pop();
    }
    return false;
  }

  function nextEndpoints({ handler }: EndpointDefinition): EndpointDefinition[] {
    const recipe = handler.type === "composition" ? recipes.get(handler.recipe) : undefined;
    return (recipe?.steps ?? []).flatMap((step) => {
      const target = targetOf(step);
      return target.kind === "endpoint" ? [target.endpoint] : [];
    });
  }

  return returns(start) ? trail : undefined;
}

/** The target of a step, as far as it is known before the step runs. */
export type StepTarget =
  /** The server itself: a floor method or a built-in. */
  | { readonly kind: "server" }
  | { readonly kind: "endpoint"; readonly endpoint: EndpointDefinition }
  /** A parameterised path: one of these, known once the step runs. */
  | { readonly kind: "any-of"; readonly endpoints: readonly EndpointDefinition[] }
  | { readonly kind: "none" };

/** A method and path after alias and redirect. */
type CanonicalPair = Pick<RecipeStep, "method" | "path">;

/** The endpoints and rewrites that decide where a step goes. */
export interface StepTargetOptions {
  readonly endpoints: readonly EndpointDefinition[];
  readonly isFloor: FloorCheck;
  /** Applies the server's aliases and redirects to a method and path. Default: there are none. */
  readonly canonical?: (pair: CanonicalPair) => CanonicalPair;
}

/**
 * Finds the endpoint that a step of a recipe reaches, as far as that is known before it runs: for a
 * path without parameters the dispatcher's match, for one with parameters the endpoint whose
 * template it repeats, else every endpoint that could match.   AGTP-API §5.3, §12.1
 */
export function* compilingStepTargets(
  options: StepTargetOptions,
): Paced<(step: RecipeStep) => StepTarget> {
  const { registry } = yield* creatingRegistry(options.endpoints);
  const byShape = new Map<string, EndpointDefinition>();
  for (const endpoint of options.endpoints) {
    byShape.set(`${endpoint.method} ${templateShape(endpoint.path)}`, endpoint);
    yield;
  }

  function find(step: RecipeStep): StepTarget {
    const { method, path } = options.canonical?.(step) ?? step;
    const isOpen = isTemplate(path);
    const endpoint = isOpen
      ? byShape.get(`${method} ${templateShape(path)}`)
      : registry.find(method, path)?.entry;
    if (endpoint !== undefined) return { kind: "endpoint", endpoint };
    const ofMethod = options.endpoints.filter((one) => isOpen && one.method === method);
    const { canMatch } = compilePathPattern(path);
    const endpoints = ofMethod.filter((one) => canMatch(one.path));
    if (endpoints.length > 0) return { kind: "any-of", endpoints };
    return { kind: options.isFloor(method, path) ? "server" : "none" };
  }

  const found = new Map<RecipeStep, StepTarget>();
  return (step) => {
    const target = found.get(step) ?? find(step);
    found.set(step, target);
    return target;
  };
}

/** Tells whether part of a path is known only when the step runs. */
export function isTemplate(path: string): boolean {
  return path.includes("{");
}

/**
 * Checks the input that a step gives its target, as far as the two schemas and the recipe tell:
 * members that are missing, unknown or of the wrong type in every call. The endpoint checks the
 * rest, which depends on the values of a call.   AGTP-API §12.1
 */
function checkStepInput(
  { parameters, path }: RecipeStep,
  input: JsonSchema,
  target: EndpointDefinition,
): readonly string[] {
  const { inputSchema } = target;
  const goal = `${target.method} ${target.path}`;
  const sources = Object.entries(parameters);
  const isInPath = (name: string): boolean => templateNames(path).includes(name);
  const lost = new Map(
    sources.flatMap(([name, source]): [string, string][] =>
      source.kind === "proposal" && !mayHave(input, source.value) ? [[name, source.value]] : [],
    ),
  );
  const sent = sources.flatMap(([name]) => (isInPath(name) || lost.has(name) ? [] : name));
  const had = new Set([...sent, ...templateParameters(target.path)]);
  const missing = textsIn(inputSchema["required"]).filter((name) => !had.has(name));
  return [
    ...[...lost].flatMap(([name, value]) =>
      isInPath(name) || missing.includes(name)
        ? [`takes ${quoteValue(name)} from ${quoteValue(value)}, which input_schema does not have`]
        : [],
    ),
    ...missing.flatMap((name) =>
      lost.has(name) ? [] : [`does not give ${quoteValue(name)}, which ${goal} requires`],
    ),
    ...sent.flatMap((name) =>
      mayHave(inputSchema, name)
        ? []
        : [`gives ${quoteValue(name)}, which ${goal} does not have in its input_schema`],
    ),
    ...sources.flatMap(([name, source]) => {
      if (source.kind !== "constant") return [];
      const fault = isInPath(name)
        ? pathFault({ name, path, value: source.value }, target)
        : valueFault(name, source.value, inputSchema);
      return fault === undefined ? [] : [`gives a constant ${quoteValue(name)} that ${fault}`];
    }),
  ];
}

/** Returns true if an input may have the member: endpoints of operators accept declared members only. */
function mayHave(schema: JsonSchema, name: string): boolean {
  return (
    Object.hasOwn(propertiesOf(schema), name) ||
    schema["additionalProperties"] !== false ||
    schema["patternProperties"] !== undefined
  );
}

interface PathConstant {
  readonly name: string;
  /** The path of the step. */
  readonly path: string;
  readonly value: unknown;
}

/** The fault of a constant in a path: the target declares the type that its text is converted to. */
function pathFault(
  { name, path, value }: PathConstant,
  { path: template, inputSchema }: EndpointDefinition,
): string | undefined {
  const filled = fillPath(`/{${name}}`, new Map([[name, value]]));
  if (filled.fault !== undefined) return "cannot stand in a path";
  const own = templateParameters(template)[templateNames(path).indexOf(name)];
  if (own === undefined || templateParameters(template).length !== templateNames(path).length) {
    return undefined;
  }
  const types = inputShape(inputSchema).scalars.get(own);
  const text = String(value);
  return valueFault(own, types === undefined ? text : coerceText(text, types), inputSchema);
}

function valueFault(name: string, value: unknown, schema: JsonSchema): string | undefined {
  const property = memberOf(propertiesOf(schema), name);
  if (property === undefined) return undefined;
  const { $defs, definitions } = schema;
  const alone = { ...given({ $defs, definitions }), allOf: [property] };
  // Outside its endpoint the schema may have dangling references, or a pattern that only the endpoint checks.
  if (checkSchema(alone, PROPOSED_SCHEMA_BOUNDS).length > 0) return undefined;
  return prepareMeteredCheck(alone)(value)?.[0]?.message;
}
