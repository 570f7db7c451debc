/**
 * Checks that an endpoint's recipe can work at all: every step reaches something, no step takes
 * more authority than the endpoint asks for, nothing comes back to where it began. What depends on
 * the values of a call is left to the dispatcher.   AGTP-API §12.1
 */

import type { Problem } from "../base/problem.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import type { Recipe, RecipeStep } from "../endpoint/recipe.ts";
import { isTemplate, type StepTarget } from "./step-target.ts";

/** The facts about all other endpoints that the check of one composition needs. */
export interface CompositionSurroundings {
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly targetOf: (step: RecipeStep) => StepTarget;
  /** Tells whether granted scopes, wildcards included, cover a required one. */
  readonly covers: (granted: readonly string[], required: string) => boolean;
}

/** The problems of a composition endpoint. */
export function checkComposition(
  recipe: Recipe,
  definition: EndpointDefinition,
  surroundings: CompositionSurroundings,
): Problem[] {
  const place = { file: definition.file, key: "endpoint.handler.recipe" };
  const problems = recipe.steps.flatMap((step, index) => {
    const name = `step ${index + 1} (${step.method} ${step.path}) of recipe "${recipe.name}"`;
    const fault = checkStep(step, definition, surroundings);
    return fault === undefined ? [] : [`${name} ${fault}`];
  });
  const chain = findCycle(definition, surroundings);
  if (chain !== undefined) problems.push(`the composition reaches itself: ${chain.join(" -> ")}`);
  return problems.map((message) => ({ ...place, message }));
}

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
  const trail: string[] = [nameOf(start)];

  function returns(from: EndpointDefinition): boolean {
    for (const next of nextEndpoints(from)) {
      if (next !== start && visited.has(next)) continue;
      visited.add(next);
      trail.push(nameOf(next));
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

function nameOf({ method, path }: EndpointDefinition): string {
  return `${method} ${path}`;
}
