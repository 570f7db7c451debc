/**
 * Recipes as plans: which recipe's pattern matches a proposal, and whether this agent may run it. The operator decided
 * what a recipe does; here only the targets of its steps and their inputs are checked.   AGTP-API §5.8.6, §10.5
 */

import { quoteValue } from "../../../base/json-value.ts";
import { templateParameters } from "../../../catalog/path-grammar.ts";
import type { EndpointDefinition, Impact } from "../../../endpoint/endpoint.ts";
import type { Recipe, RecipeStep } from "../../../endpoint/recipe.ts";
import { type Proposal, quoteNames } from "../../../endpoint/synthesis-plan.ts";
import { membersOf } from "./object-members.ts";
import type { SynthesisBounds } from "./synthesis-task.ts";

/** A possible target of a step. */
export type StepReach =
  | { readonly kind: "endpoint"; readonly endpoint: EndpointDefinition }
  /** The server itself (a floor method or built-in), which validates its input when called. */
  | { readonly kind: "server"; readonly impact: Impact };

/** Returns the possible targets of a step: one for a literal path, none if nothing matches. */
export type StepReaches = (step: RecipeStep) => readonly StepReach[];

/** The demands of a recipe on its caller, and its possible effects. */
interface RecipeNeeds {
  /** The recipe's own scopes, and those of every possible target. */
  readonly requiredScopes: readonly string[];
  readonly impacts: readonly Impact[];
  readonly isIdempotent: boolean;
}

/** Returns the reason that a recipe does not match a pair, or undefined. */
export function findMismatch({ pattern }: Recipe, { method, path }: Proposal): string | undefined {
  if (pattern === undefined) return "it has no pattern";
  const { methodExact, pathExact, pathRegex } = pattern;
  if (methodExact !== method) return `it is for ${methodExact}`;
  if (pathExact !== undefined && pathExact !== path) return `it is for ${quoteValue(pathExact)}`;
  if (pathRegex === undefined || pathRegex.test(path)) return undefined;
  return "its path_regex does not match the path";
}

/** Finds pattern parameters that the proposed inputs lack. */
export function findMissingParameters(
  { pattern }: Recipe,
  inputs: ReadonlySet<string>,
): string | undefined {
  const missing = pattern?.hasParameters.filter((name) => !inputs.has(name)) ?? [];
  return missing.length === 0 ? undefined : `the input has no ${quoteNames(missing)}`;
}

/** The maximum needs of a recipe, as far as known before it runs. */
export function needsOf(recipe: Recipe, reaches: StepReaches): RecipeNeeds {
  const reached = recipe.steps.flatMap(reaches);
  const endpoints = reached.flatMap((one) => (one.kind === "endpoint" ? [one.endpoint] : []));
  const scopes = endpoints.flatMap(({ requiredScopes }) => requiredScopes);
  return {
    requiredScopes: [...new Set([...recipe.requiredScopes, ...scopes])],
    impacts: reached.map((one) =>
      one.kind === "endpoint" ? one.endpoint.semantic.impact : one.impact,
    ),
    isIdempotent: reached.every((one) =>
      one.kind === "endpoint"
        ? one.endpoint.semantic.is_idempotent
        : one.impact === "informational",
    ),
  };
}

/** Returns the reason that this agent cannot use a matching recipe with these inputs, or undefined. */
export function findRecipeFault(
  recipe: Recipe,
  inputs: ReadonlySet<string>,
  reaches: StepReaches,
  { authority, maxSteps }: SynthesisBounds,
): string | undefined {
  const { steps } = recipe;
  if (steps.length > maxSteps) return `it has ${steps.length} steps, expected at most ${maxSteps}`;
  for (const [at, step] of steps.entries()) {
    const fault = findStepFault(step, inputs, reaches(step));
    if (fault !== undefined) return `step ${at + 1} (${step.method} ${step.path}) ${fault}`;
  }
  const { requiredScopes } = needsOf(recipe, reaches);
  const missing = requiredScopes.filter((scope) => !authority.covers(scope));
  return missing.length === 0 ? undefined : `the agent does not hold ${missing.join(", ")}`;
}

function findStepFault(
  step: RecipeStep,
  inputs: ReadonlySet<string>,
  reached: readonly StepReach[],
): string | undefined {
  if (reached.length === 0) return "reaches no endpoint and no floor method";
  const missing = missingInputs(step, inputs, reached);
  if (missing.length === 0) return undefined;
  return `needs ${quoteNames(missing)}, which the input does not have`;
}

/** The proposed inputs that some step requires. */
export function neededInputsOf(
  steps: readonly RecipeStep[],
  reaches: StepReaches,
): readonly string[] {
  const names = steps.flatMap((step) =>
    fromProposal(step)
      .filter(([parameter]) => isNeeded(parameter, step, reaches(step)))
      .map(([, name]) => name),
  );
  return [...new Set(names)].sort();
}

/** Proposed inputs that the step requires and that are not offered. */
function missingInputs(
  step: RecipeStep,
  inputs: ReadonlySet<string>,
  reached: readonly StepReach[],
): readonly string[] {
  return fromProposal(step)
    .filter(([parameter, name]) => !inputs.has(name) && isNeeded(parameter, step, reached))
    .map(([, name]) => name);
}

/** Parameters taken from proposed inputs, with the input's name. */
function fromProposal({ parameters }: RecipeStep): readonly (readonly [string, string])[] {
  return Object.entries(parameters).flatMap(([parameter, source]): [string, string][] =>
    source.kind === "proposal" ? [[parameter, source.value]] : [],
  );
}

/** Tells whether every possible target of a step requires a parameter. */
function isNeeded(parameter: string, { path }: RecipeStep, reached: readonly StepReach[]): boolean {
  return (
    templateParameters(path).includes(parameter) ||
    (reached.length > 0 &&
      reached.every(
        (one) =>
          one.kind === "endpoint" && membersOf(one.endpoint.inputSchema).required.has(parameter),
      ))
  );
}
