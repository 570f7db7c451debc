/** The values of keywords that hold no schema: is each of the kind that its keyword needs? */
import { isRecord } from "../base/json-value.ts";
import { type KeywordValue, SCHEMA_TYPES } from "./schema-vocabulary.ts";

/** The values of a keyword besides schemas and references to them. */
export type PlainValue = Exclude<
  KeywordValue,
  "schema" | "schema list" | "schema map" | "schema map by pattern" | "reference" | "anchor"
>;

/** The expected form of a keyword's value, unless it has it. */
export function checkPlainValue(expected: PlainValue, value: unknown): string | undefined {
  switch (expected) {
    case "any":
    case "pattern":
    case "format":
      return undefined;
    case "text":
      return typeof value === "string" ? undefined : "a text";
    case "boolean":
      return typeof value === "boolean" ? undefined : "true or false";
    case "number":
      return Number.isFinite(value) ? undefined : "a number";
    case "positive number":
      return Number.isFinite(value) && Number(value) > 0 ? undefined : "a number above 0";
    case "count":
      return Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : "0, 1, 2 …";
    case "list":
      return Array.isArray(value) ? undefined : "a list";
    case "values":
      return Array.isArray(value) && value.length > 0 ? undefined : "a list of values";
    case "type":
      return isType(value) ? undefined : `${SCHEMA_TYPES.join(", ")} or a list of these`;
    case "unique texts":
      return isTextSet(value) ? undefined : "a list of different names";
    case "unique texts by name":
      return isRecord(value) && Object.values(value).every(isTextSet)
        ? undefined
        : "a table of lists of different names";
  }
}

function isType(value: unknown): boolean {
  const known: readonly unknown[] = SCHEMA_TYPES;
  if (!Array.isArray(value)) return known.includes(value);
  return value.length > 0 && isTextSet(value) && value.every((type) => known.includes(type));
}

function isTextSet(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((item) => typeof item === "string") &&
    new Set(value).size === value.length
  );
}

/** Tells whether a text is a regular expression, as JSON Schema has them. */
export function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}
