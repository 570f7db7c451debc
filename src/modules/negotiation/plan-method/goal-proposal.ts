/** Converts a request for a plan to a proposal, which synthesis takes.   AGTP "PLAN" */

import { type JsonRecord, recordIn } from "../../../base/json-value.ts";
import type { Pair } from "../../../catalog/pair.ts";
import { semanticOf } from "../../../endpoint/semantic-block.ts";
import type { Proposal } from "../../../endpoint/synthesis-plan.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { compileFormatTest, FORMATS } from "../../../schema/keywords-and-formats.ts";
import type { PlanRequest } from "./plan-request.ts";

/** Creates the proposal for a pair, with given values as a schema. */
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

/** Merges the schemas of given and later values; a given value is more specific. */
function withValues(schema: JsonSchema | undefined, given: JsonSchema): JsonSchema {
  if (schema === undefined) return given;
  const { properties, required } = schema;
  const names = [required, given["required"]].flatMap((list) => (Array.isArray(list) ? list : []));
  return {
    ...schema,
    properties: {
      ...recordIn(properties),
      ...recordIn(given["properties"]),
    },
    required: [...new Set(names)],
  };
}

/** Longer texts get neither a format nor an enum. */
const MAX_TEXT_LENGTH = 1024;

/** Describes values as a schema. */
export type ValueDescriber = (values: JsonRecord) => JsonSchema;

/** Creates a describer with compiled formats. */
export function createValueDescriber(): ValueDescriber {
  const tests = Array.from(FORMATS, ([name, format]) => ({
    name,
    test: compileFormatTest(format),
  }));
  const isAnnotation = (value: unknown): boolean => typeof value === "string";
  const formatsOf = (value: unknown): readonly JsonSchema[] =>
    tests.filter(({ test = isAnnotation }) => test(value)).map(({ name }) => ({ format: name }));
  return (values) => {
    const entries = Object.entries(values).map(([name, value]) => [name, describe(value)]);
    return {
      type: "object",
      properties: Object.fromEntries(entries),
      required: Object.keys(values),
      additionalProperties: false,
    };
  };

  function describe(value: unknown): JsonSchema {
    if (Array.isArray(value)) return { type: "array" };
    if (typeof value === "object" && value !== null) return { type: "object" };
    if (typeof value === "string" && value.length > MAX_TEXT_LENGTH) return { type: "string" };
    const hasFormats = typeof value === "string" || typeof value === "number";
    return { const: value, ...(hasFormats ? { allOf: formatsOf(value) } : {}) };
  }
}
