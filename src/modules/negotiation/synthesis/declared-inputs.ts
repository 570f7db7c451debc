/**
 * The proposed inputs, as the steps of a plan take them: a request that says nothing of types gets
 * them from what it is answered with, and a value that a late step would refuse is refused before
 * the first one has done anything.   AGTP-API §10.1.3, §13.2
 */
import { templateParameters } from "../../../catalog/path-grammar.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { declaredTypes } from "../../../endpoint/input-shape.ts";
import type { RecipeStep } from "../../../endpoint/recipe.ts";
import { SCHEMA_TYPES, type SchemaType } from "../../../schema/schema-vocabulary.ts";
import { membersOf } from "./object-members.ts";

/** A step, and the one endpoint that it arrives at; none where it may be several, or the server. */
export interface StepWithTarget {
  readonly step: RecipeStep;
  readonly endpoint: EndpointDefinition | undefined;
}

/** The types of each proposed input, by name; a name that may be anything is left out. */
export function inputTypesOf(
  steps: readonly StepWithTarget[],
): Readonly<Record<string, readonly SchemaType[]>> {
  const types = new Map<string, readonly SchemaType[]>();
  for (const { step, endpoint } of steps) {
    if (endpoint === undefined) continue;
    const inPath = new Set(templateParameters(step.path));
    const { properties } = membersOf(endpoint.inputSchema);
    for (const [parameter, source] of Object.entries(step.parameters)) {
      // A value that goes into a path is written as text there, whatever it was.
      if (source.kind !== "proposal" || inPath.has(parameter)) continue;
      const taken = declaredTypes(properties.get(parameter), endpoint.inputSchema);
      const known = types.get(source.value) ?? SCHEMA_TYPES;
      types.set(
        source.value,
        known.filter((type) => taken.has(type)),
      );
    }
  }
  return Object.fromEntries([...types].filter(([, all]) => all.length < SCHEMA_TYPES.length));
}
