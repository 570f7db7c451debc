/**
 * Plans from recipes: the first usable recipe by name that matches the proposal. The plan keeps the recipe's current
 * version for as long as its contract lives.   AGTP-API §10.5
 */

import { addUnder } from "../../../base/listed.ts";
import { templateParameters } from "../../../catalog/path-grammar.ts";
import type { Recipe, RecipeStep } from "../../../endpoint/recipe.ts";
import {
  type Proposal,
  quoteNames,
  type SynthesisLog,
  type SynthesisPlan,
} from "../../../endpoint/synthesis-plan.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { compareTexts } from "./endpoint-index.ts";
import { strongestImpact } from "./impact.ts";
import {
  findMismatch,
  findMissingParameters,
  findRecipeFault,
  neededInputsOf,
  needsOf,
  type StepReach,
  type StepReaches,
} from "./match-recipe.ts";
import { membersOf } from "./object-members.ts";
import {
  areDisjoint,
  type KnownLists,
  kindOfSchema,
  type PropertySchema,
  type SchemaKind,
} from "./schema-kind.ts";
import type { SynthesisBounds } from "./synthesis-task.ts";
import { inputTypesOf, type StepWithTarget } from "./write-recipe.ts";

/** The plan of a recipe, or the reason that the first matching one is unusable. */
type RecipePlan =
  | Omit<SynthesisPlan, "log">
  | { readonly kind: "none"; readonly explanation?: string };

/** Plans from recipes. */
export type RecipePlanner = (
  proposal: Proposal,
  bounds: SynthesisBounds,
  log: SynthesisLog,
) => RecipePlan;

/** Sorts recipes by method and name; those without a pattern match no proposal. */
export function compileRecipes(recipes: Iterable<Recipe>, reaches: StepReaches): RecipePlanner {
  const byMethod = new Map<string, Recipe[]>();
  for (const recipe of [...recipes].sort((a, b) => compareTexts(a.name, b.name))) {
    if (recipe.pattern === undefined) continue;
    addUnder(byMethod, recipe.pattern.methodExact, recipe);
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
        return planOfRecipe(recipe, reaches);
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
  // Matching uses the current recipe's pattern, and the plan is stored as plain JSON.
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

/** Returns the reason that the proposed endpoint could never succeed, or undefined. */
function findRecipeMisfit(
  recipe: Recipe,
  { inputSchema, outputSchema }: Proposal,
  reaches: StepReaches,
): string | undefined {
  for (const [at, step] of recipe.steps.entries()) {
    const names = refusedInputs(step, inputSchema, reaches(step));
    if (names.length === 0) continue;
    const place = `step ${at + 1} (${step.method} ${step.path})`;
    return `${place} takes ${quoteNames(names)} as another type than the input has`;
  }
  return findOutputMisfit(recipe, outputSchema, reaches);
}

/** Required inputs of the proposal with a type that no possible target takes. */
function refusedInputs(
  { path, parameters }: RecipeStep,
  inputSchema: JsonSchema,
  reached: readonly StepReach[],
): readonly string[] {
  const offered = membersOf(inputSchema);
  const inPath = new Set(templateParameters(path));
  const lists: KnownLists = new Map();
  return Object.entries(parameters).flatMap(([parameter, source]) => {
    // Path values are texts, which endpoints convert to the declared type.
    if (source.kind !== "proposal" || inPath.has(parameter)) return [];
    const schema = offered.properties.get(source.value);
    if (schema === undefined || !offered.required.has(source.value)) return [];
    const given = kindOfSchema(schema, inputSchema, lists);
    const isRefused = (one: StepReach): boolean =>
      one.kind === "endpoint" && isMisfit(given, parameter, one.endpoint.inputSchema);
    return reached.length > 0 && reached.every(isRefused) ? [source.value] : [];
  });
}

function isMisfit(given: SchemaKind | undefined, name: string, schema: JsonSchema): boolean {
  const declared = membersOf(schema).properties.get(name);
  return declared !== undefined && areDisjoint(given, kindOfSchema(declared, schema));
}

/** Compares the recipe's answer, as far as known, with the proposed output. */
function findOutputMisfit(
  { steps, aggregation }: Recipe,
  outputSchema: JsonSchema,
  reaches: StepReaches,
): string | undefined {
  const asked = kindOfSchema(outputSchema, outputSchema);
  if (aggregation !== "last" && areDisjoint(kindOfSchema({ type: "object" }, {}), asked)) {
    return "it gives an object, which the proposed output_schema does not allow";
  }
  const { properties, required } = membersOf(outputSchema);
  if (aggregation === "list") {
    const others = [...required].filter((name) => name !== "results");
    return others.length === 0 ? undefined : `it gives "results", and not ${quoteNames(others)}`;
  }
  const lists: KnownLists = new Map();
  const giving = aggregation === "last" ? steps.slice(-1) : steps;
  const names = [...properties].flatMap(([name, schema]) => {
    const kind = kindOfSchema(schema, outputSchema, lists);
    return isNeverGiven(name, kind, giving.map(reaches)) ? [name] : [];
  });
  if (names.length === 0) return undefined;
  return `it gives ${quoteNames(names)} as another type than is asked for`;
}

/** Tells whether the last step that declares a member always gives another type. */
function isNeverGiven(
  name: string,
  asked: SchemaKind | undefined,
  reached: readonly (readonly StepReach[])[],
): boolean {
  for (const step of [...reached].reverse()) {
    // The server's own answers have no declared schema.
    if (step.some(({ kind }) => kind === "server")) return false;
    const schemas = step.map((one) => (one.kind === "endpoint" ? one.endpoint.outputSchema : {}));
    if (schemas.every((schema) => !membersOf(schema).properties.has(name))) continue;
    return schemas.every((schema) => alwaysMisfits(name, asked, schema));
  }
  return false;
}

function alwaysMisfits(name: string, asked: SchemaKind | undefined, schema: JsonSchema): boolean {
  const { properties, required } = membersOf(schema);
  const declared: PropertySchema | undefined = properties.get(name);
  if (declared === undefined || !required.has(name)) return false;
  return areDisjoint(kindOfSchema(declared, schema), asked);
}
