/**
 * Adapts the output of an endpoint to the document's own examples: if an API answers like its
 * example, and not like its schema, each call would be answered with 500. Formats that an example
 * violates are removed; other violations are noted for the reviewer.   AGTP-API §6.4, §13.3
 */
import { quoteValue } from "../base/json-value.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { mapSubschemas } from "../schema/local-reference.ts";
import { OPERATORS, prepareMeteredCheck } from "../schema/metered-schema.ts";
import type { SchemaViolation } from "../schema/schema-violation.ts";
import type { Notes } from "./words.ts";

/** Returns an output schema whose formats the examples satisfy. */
export function heedExamples(
  output: JsonSchema,
  examples: readonly unknown[],
  notes: Notes,
): JsonSchema {
  return examples.reduce<JsonSchema>((schema, example) => heed(schema, example, notes), output);
}

function heed(schema: JsonSchema, example: unknown, notes: Notes): JsonSchema {
  const found = violationsOf(schema, example);
  const unkept = found.find(({ keyword }) => keyword === "format");
  if (unkept === undefined) {
    const [first] = found;
    if (first !== undefined) {
      const place = `${first.path || "/"} ${first.message}`;
      notes.add(`its own example does not fit the output: ${place}; such an answer is a 500`);
    }
    return schema;
  }
  for (const format of formatsIn(schema)) {
    const without = omitFormat(schema, format);
    const left = violationsOf(without, example);
    if (left.some(({ path, keyword }) => path === unkept.path && keyword === "format")) continue;
    notes.add(
      `its own example is no ${quoteValue(format)} at ${unkept.path}: the output has not this format`,
    );
    return heed(without, example, notes);
  }
  return schema;
}

function violationsOf(schema: JsonSchema, example: unknown): readonly SchemaViolation[] {
  return prepareMeteredCheck(schema, OPERATORS)(example) ?? [];
}

function formatsIn(schema: JsonSchema): ReadonlySet<string> {
  const formats = new Set<string>();
  const visit = (one: JsonSchema): JsonSchema => {
    if (typeof one["format"] === "string") formats.add(one["format"]);
    for (const [keyword, value] of Object.entries(one)) mapSubschemas(keyword, value, visit);
    return one;
  };
  visit(schema);
  return formats;
}

function omitFormat(schema: JsonSchema, format: string): JsonSchema {
  const write = (one: JsonSchema): JsonSchema => {
    const kept = Object.entries(one).filter(
      ([keyword, value]) => keyword !== "format" || value !== format,
    );
    return Object.fromEntries(
      kept.map(([keyword, value]) => [keyword, mapSubschemas(keyword, value, write)]),
    );
  };
  return write(schema);
}
