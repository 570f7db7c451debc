/**
 * Values as schemas that let through nothing else, so that synthesis sees which inputs they fit:
 * not only their types, but the formats that they have and the enums that they are in.   AGTP
 * "PLAN"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { compileFormatTest, FORMATS } from "../../../schema/keywords-and-formats.ts";

/** Longer texts have no format, and are in no enum. */
const MAX_TEXT_LENGTH = 1024;

/** Describes some values as a schema. */
export type ValueDescriber = (values: JsonRecord) => JsonSchema;

/** Creates a describer, which has the formats compiled. */
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
