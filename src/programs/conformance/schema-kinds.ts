/**
 * The schemas of a server under test: whether they are JSON Schema, whether an input schema is as
 * closed as it must be, and whether an answer is what its output schema says. The schemas are a
 * stranger's, so nothing of them is run but the metered judge.   AGTP-API §6.4, §13.3
 */

import { isRecord } from "../../base/json-value.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { prepareMeteredCheck } from "../../schema/metered-schema.ts";
import {
  OPERATOR_SCHEMA_BOUNDS,
  PROPOSED_SCHEMA_BOUNDS,
  type SchemaBounds,
} from "../../schema/schema-bounds.ts";
import { checkSchema } from "../../schema/schema-check.ts";
import type { Bindings } from "./text-pattern.ts";

/** Finds what is wrong with a value, in words; undefined: nothing. */
export type ValueJudge = (value: unknown) => string | undefined;

/** As much as an operator's own files may hold; other keywords are their owner's business. */
const PUBLISHED: SchemaBounds = {
  ...OPERATOR_SCHEMA_BOUNDS,
  isTolerant: true,
  takesForeignFormats: true,
};
/** The schemas to judge by have patterns that RE2 can match. */
const JUDGED: SchemaBounds = {
  ...OPERATOR_SCHEMA_BOUNDS,
  isTolerant: true,
  takesForeignFormats: true,
  maxPatternSize: PROPOSED_SCHEMA_BOUNDS.maxPatternSize,
};

/** A JSON Schema 2020-12. */
export function checkSchemaDocument(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (!isRecord(value)) return "expected a JSON Schema";
  const [fault] = checkSchema(value, PUBLISHED);
  return fault && `expected a JSON Schema 2020-12: ${fault.pointer || "it"} ${fault.message}`;
}

/** AGTP-API §6.4: an input schema is an object's, and closed. */
export function checkInputSchema(value: unknown): string | undefined {
  const fault = checkSchemaDocument(value);
  if (fault !== undefined) return fault;
  if (!isRecord(value) || value["type"] !== "object") return 'expected a schema of type "object"';
  return value["additionalProperties"] === false
    ? undefined
    : 'expected a schema with "additionalProperties": false';
}

/** A value of the named endpoint's output schema; a schema that cannot be judged by passes. */
export function checkOutput(
  value: unknown,
  bindings: Bindings,
  endpoint: string,
): string | undefined {
  const fault = judgeOf(bindings.get(`${endpoint}.output_schema`))?.(value);
  return fault && `expected what the output_schema describes: ${fault}`;
}

/** The judge of a stranger's schema; undefined: it is no schema, or more than can be judged by. */
export function judgeOf(schema: unknown): ValueJudge | undefined {
  if (!isRecord(schema) || checkSchema(schema as JsonSchema, JUDGED).length > 0) return undefined;
  const check = prepareMeteredCheck(schema);
  return (value) => {
    const [violation] = check(value) ?? [];
    return violation && `${violation.path || "the value"} ${violation.message}`;
  };
}
