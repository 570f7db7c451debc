/**
 * Checks that an endpoint's recipe can work at all: every step reaches something, no step takes
 * more authority than the endpoint asks for, nothing comes back to where it began. What depends on
 * the values of a call is left to the dispatcher.   AGTP-API §5.3, §12.1
 */

import type { Paced } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import { templateShape } from "../base/template.ts";
import { pairText } from "../catalog/pair.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import { creatingRegistry } from "../endpoint/endpoint-registry.ts";
import { compilePathPattern } from "../endpoint/path-template.ts";
import type { Recipe, RecipeStep } from "../endpoint/recipe.ts";
import { checkStepInput } from "./check-step-input.ts";
import type { FloorCheck } from "./composition.ts";

/** The facts about all other endpoints that the check of one composition needs. */
interface CompositionSurroundings {
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly targetOf: (step: RecipeStep) => StepTarget;
  /** Tells whether granted scopes, wildcards included, cover a required one. */
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
  // A parameterised path may lead elsewhere, so its authority is the dispatcher's to check.
  if (target.kind !== "endpoint" || isTemplate(step.path)) return undefined;
  const missing = target.endpoint.requiredScopes.filter(
    (scope) => !covers(definition.requiredScopes, scope),
  );
  if (missing.length === 0) return undefined;
  return `needs ${missing.join(", ")}, which required_scopes must cover`;
}

/** The way from a composition back to itself, or undefined when there is none. */
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

/** The endpoint that a step will meet. */
export type StepTarget =
  /** The server itself: a floor method or a built-in. */
  | { readonly kind: "server" }
  | { readonly kind: "endpoint"; readonly endpoint: EndpointDefinition }
  /** A parameterised path: which of these is known when it runs. */
  | { readonly kind: "any-of"; readonly endpoints: readonly EndpointDefinition[] }
  | { readonly kind: "none" };

/** A method and path after alias and redirect. */
type CanonicalPair = Pick<RecipeStep, "method" | "path">;

/** Everything that a step could reach. */
export interface StepTargetOptions {
  readonly endpoints: readonly EndpointDefinition[];
  readonly isFloor: FloorCheck;
  /** Applies the server's aliases and redirects to a pair; without it there are none. */
  readonly canonical?: (pair: CanonicalPair) => CanonicalPair;
}

/**
 * Finds the endpoint that a step of a recipe reaches, as far as that can be said before it runs:
 * for a path without parameters exactly what the dispatcher would find, for one with parameters the
 * endpoint whose template it repeats, else all that could match.   AGTP-API §5.3, §12.1
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
