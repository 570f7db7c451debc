/**
 * Plans from recipes: the first one by name that matches the proposal and can be used. The plan
 * runs under the version that the recipe has now, for as long as its contract lives.   AGTP-API
 * §10.5
 */

import type { Recipe, RecipeStep } from "../../../endpoint/recipe.ts";
import type { SynthesisLog } from "../../../endpoint/synthesis-log.ts";
import type { Proposal, SynthesisPlan } from "../../../endpoint/synthesis-plan.ts";
import { inputTypesOf, type StepWithTarget } from "./declared-inputs.ts";
import { compareTexts } from "./endpoint-index.ts";
import { strongestImpact } from "./impact.ts";
import {
  findMismatch,
  findMissingParameters,
  findRecipeFault,
  neededInputsOf,
  needsOf,
  type StepReaches,
} from "./match-recipe.ts";
import { membersOf } from "./object-members.ts";
import { findRecipeMisfit } from "./recipe-fit.ts";
import type { SynthesisBounds } from "./synthesis-task.ts";

/** The plan that a recipe gives; else why the first one that is for the pair does not. */
type RecipePlan =
  | { readonly kind: "plan"; readonly plan: Omit<SynthesisPlan, "log"> }
  | { readonly kind: "none"; readonly explanation?: string };

/** Finds the plan that a recipe gives, if one does. */
export type RecipePlanner = (
  proposal: Proposal,
  bounds: SynthesisBounds,
  log: SynthesisLog,
) => RecipePlan;

/** Sorts the recipes by method and name; those without a pattern answer no proposal. */
export function compileRecipes(recipes: Iterable<Recipe>, reaches: StepReaches): RecipePlanner {
  const byMethod = new Map<string, Recipe[]>();
  for (const recipe of [...recipes].sort((a, b) => compareTexts(a.name, b.name))) {
    if (recipe.pattern === undefined) continue;
    const { methodExact } = recipe.pattern;
    byMethod.set(methodExact, [...(byMethod.get(methodExact) ?? []), recipe]);
  }
  return (proposal, bounds, log) => {
    const candidates = byMethod.get(proposal.method) ?? [];
    log.considered("recipe", `${candidates.length} recipes are for ${proposal.method}`);
    if (candidates.length === 0) return { kind: "none" };
    let explanation: string | undefined;
    const inputs = new Set(membersOf(proposal.inputSchema).properties.keys());
    for (const recipe of candidates) {
      const mismatch = findMismatch(recipe, proposal);
      const fault =
        mismatch ??
        findMissingParameters(recipe, inputs) ??
        findRecipeFault(recipe, inputs, reaches, bounds) ??
        findRecipeMisfit(recipe, proposal, reaches) ??
        findForbiddenStep(recipe, bounds);
      if (fault !== undefined) {
        log.rejected("recipe", { recipe: recipe.name }, () => fault);
        if (mismatch === undefined)
          explanation ??= `the recipe "${recipe.name}" is for it, but ${fault}`;
      } else {
        const { name, version } = recipe;
        const message = `it matches, at version "${version}"`;
        log.add({ stage: "recipe", outcome: "chosen", recipe: name, message });
        return { kind: "plan", plan: planOfRecipe(recipe, reaches) };
      }
    }
    return { kind: "none", ...(explanation === undefined ? {} : { explanation }) };
  };
}

function findForbiddenStep({ steps }: Recipe, { allows }: SynthesisBounds): string | undefined {
  const step = steps.find((one) => allows?.(one) === false);
  return step && `no step may be ${step.method} ${step.path}`;
}

function planOfRecipe(recipe: Recipe, reaches: StepReaches): Omit<SynthesisPlan, "log"> {
  // The match is the business of the recipe that is current; a plan is kept as plain JSON.
  const { pattern: _pattern, ...captured } = recipe;
  const { requiredScopes, impacts, isIdempotent } = needsOf(recipe, reaches);
  return {
    kind: "recipe",
    recipe: captured,
    lineage: { recipe_name: recipe.name, recipe_version: recipe.version },
    requiredScopes,
    impact: strongestImpact(impacts),
    isIdempotent,
    neededInputs: neededInputsOf(recipe.steps, reaches),
    inputTypes: inputTypesOf(recipe.steps.map((step) => targetOf(step, reaches))),
  };
}

function targetOf(step: RecipeStep, reaches: StepReaches): StepWithTarget {
  const [reached, ...others] = reaches(step);
  const isOne = reached?.kind === "endpoint" && others.length === 0;
  return { step, endpoint: isOne ? reached.endpoint : undefined };
}
