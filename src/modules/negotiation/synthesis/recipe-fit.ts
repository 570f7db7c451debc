/**
 * Judges by schemas if what a recipe takes and gives can be what was proposed. Names are not
 * enough: a text where a step takes a number fails with every call, perhaps after other steps have
 * done their work, and so does an answer that is never of the proposed type. What no schema speaks
 * of is the operator's word.   AGTP-API §10.6, §10.7
 */

import { templateParameters } from "../../../catalog/path-grammar.ts";
import type { Recipe, RecipeStep } from "../../../endpoint/recipe.ts";
import { quoteNames } from "../../../endpoint/synthesis-log.ts";
import type { Proposal } from "../../../endpoint/synthesis-plan.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { StepReach, StepReaches } from "./match-recipe.ts";
import { membersOf } from "./object-members.ts";
import { areDisjoint, kindOfSchema, type PropertySchema, type SchemaKind } from "./schema-kind.ts";

/** Finds why calls of the proposed endpoint could never succeed; undefined where they may. */
export function findRecipeMisfit(
  recipe: Recipe,
  { inputSchema, outputSchema }: Proposal,
  reaches: StepReaches,
): string | undefined {
  for (const [at, step] of recipe.steps.entries()) {
    const names = refusedInputs(step, inputSchema, reaches(step));
    if (names.length === 0) continue;
    const place = `step ${at + 1} (${step.method} ${step.path})`;
    return `${place} takes ${quoteNames(names)} as another type than the proposal offers`;
  }
  return findOutputMisfit(recipe, outputSchema, reaches);
}

/** Proposed inputs that are always there, and of a type that nothing the step arrives at takes. */
function refusedInputs(
  { path, parameters }: RecipeStep,
  inputSchema: JsonSchema,
  reached: readonly StepReach[],
): readonly string[] {
  const offered = membersOf(inputSchema);
  const inPath = new Set(templateParameters(path));
  return Object.entries(parameters).flatMap(([parameter, source]) => {
    // Values of a path are texts, and are read as whatever the endpoint declares.
    if (source.kind !== "proposal" || inPath.has(parameter)) return [];
    const schema = offered.properties.get(source.value);
    if (schema === undefined || !offered.required.has(source.value)) return [];
    const given = kindOfSchema(schema, inputSchema);
    const isRefused = (one: StepReach): boolean =>
      one.kind === "endpoint" && isMisfit(given, parameter, one.endpoint.inputSchema);
    return reached.length > 0 && reached.every(isRefused) ? [source.value] : [];
  });
}

function isMisfit(given: SchemaKind | undefined, name: string, schema: JsonSchema): boolean {
  const declared = membersOf(schema).properties.get(name);
  return declared !== undefined && areDisjoint(given, kindOfSchema(declared, schema));
}

/** Compares the answer, as far as it is known, with what was asked. */
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
  const giving = aggregation === "last" ? steps.slice(-1) : steps;
  const names = [...properties].flatMap(([name, schema]) => {
    const kind = kindOfSchema(schema, outputSchema);
    return isNeverGiven(name, kind, giving.map(reaches)) ? [name] : [];
  });
  if (names.length === 0) return undefined;
  return `it gives ${quoteNames(names)} as another type than the proposal asks for`;
}

/** Tells whether the last step that declares a member always gives it as another type. */
function isNeverGiven(
  name: string,
  asked: SchemaKind | undefined,
  reached: readonly (readonly StepReach[])[],
): boolean {
  for (const step of [...reached].reverse()) {
    // The server's own answers are declared nowhere.
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
