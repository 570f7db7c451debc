/**
 * A request for a plan as synthesis takes it: a proposal of what is offered and what is wanted.
 * AGTP "PLAN"
 */

import { isRecord } from "../../../base/json-value.ts";
import type { Pair } from "../../../catalog/pair.ts";
import type { Proposal } from "../../../endpoint/synthesis-plan.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { semanticOf } from "../rcns/unregistered-request.ts";
import type { PlanRequest } from "./plan-request.ts";

/** The proposal for a pair, with the values that are given as a schema. */
export function proposalOfGoal(
  { words, outputSchema = {}, inputSchema, maxImpact }: PlanRequest,
  { method, path }: Pair,
  given: JsonSchema,
): Proposal {
  return {
    ...{ method, path, description: words },
    semantic: { ...semanticOf(words), impact: maxImpact },
    inputSchema: withValues(inputSchema, given),
    outputSchema,
  };
}

/** A value that is given says more than a schema for values to come. */
function withValues(schema: JsonSchema | undefined, given: JsonSchema): JsonSchema {
  if (schema === undefined) return given;
  const { properties, required } = schema;
  const names = [required, given["required"]].flatMap((list) => (Array.isArray(list) ? list : []));
  return {
    ...schema,
    properties: {
      ...(isRecord(properties) ? properties : {}),
      ...(isRecord(given["properties"]) ? given["properties"] : {}),
    },
    required: [...new Set(names)],
  };
}
