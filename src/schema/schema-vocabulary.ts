/**
 * The keywords of JSON Schema 2020-12 and the form of their values. An unknown keyword is an
 * author's error: in a contract, a typo must not silently accept everything.   AGTP-API §6.4
 */
import { isRecord, isTexts } from "../base/json-value.ts";

/** The forms of a keyword's value. */
export type KeywordValue =
  | "anchor"
  | "any"
  | "boolean"
  | "count"
  | "format"
  | "list"
  | "number"
  | "pattern"
  | "positive number"
  | "reference"
  | "schema"
  | "schema list"
  | "schema map"
  | "schema map by pattern"
  | "text"
  | "type"
  | "unique texts"
  | "unique texts by name"
  | "values";

/** Keywords by name, without `$schema` and `$id`, which only the root may have. */
export const KEYWORDS: ReadonlyMap<string, KeywordValue> = new Map<string, KeywordValue>([
  ["$ref", "reference"],
  ["$anchor", "anchor"],
  ["$defs", "schema map"],
  // The name before 2019-09, which references still use.
  ["definitions", "schema map"],
  ["$comment", "text"],
  ["title", "text"],
  ["description", "text"],
  ["default", "any"],
  ["examples", "list"],
  ["deprecated", "boolean"],
  ["readOnly", "boolean"],
  ["writeOnly", "boolean"],
  ["contentEncoding", "text"],
  ["contentMediaType", "text"],
  ["contentSchema", "schema"],
  ["type", "type"],
  ["enum", "values"],
  ["const", "any"],
  ["format", "format"],
  ["multipleOf", "positive number"],
  ["maximum", "number"],
  ["exclusiveMaximum", "number"],
  ["minimum", "number"],
  ["exclusiveMinimum", "number"],
  ["maxLength", "count"],
  ["minLength", "count"],
  ["pattern", "pattern"],
  ["maxItems", "count"],
  ["minItems", "count"],
  ["uniqueItems", "boolean"],
  ["maxContains", "count"],
  ["minContains", "count"],
  ["maxProperties", "count"],
  ["minProperties", "count"],
  ["required", "unique texts"],
  ["dependentRequired", "unique texts by name"],
  ["prefixItems", "schema list"],
  ["items", "schema"],
  ["contains", "schema"],
  ["properties", "schema map"],
  ["patternProperties", "schema map by pattern"],
  ["additionalProperties", "schema"],
  ["propertyNames", "schema"],
  ["dependentSchemas", "schema map"],
  ["unevaluatedItems", "schema"],
  ["unevaluatedProperties", "schema"],
  ["allOf", "schema list"],
  ["anyOf", "schema list"],
  ["oneOf", "schema list"],
  ["not", "schema"],
  ["if", "schema"],
  ["then", "schema"],
  ["else", "schema"],
]);

/** The replacements for keywords of other dialects. */
export const FOREIGN_KEYWORDS: ReadonlyMap<string, string> = new Map([
  ["$schema", "only the root of a schema may have it"],
  ["$id", "only the root of a schema may have it"],
  ["nullable", 'write type = ["string", "null"]'],
  ["example", "write examples, a list"],
  ["additionalItems", "write items, next to prefixItems"],
  ["dependencies", "write dependentRequired or dependentSchemas"],
  ["discriminator", "write oneOf with a const in each branch"],
  // Without references between documents these equal the plain ones.
  ["$dynamicRef", "write $ref"],
  ["$dynamicAnchor", "write $anchor"],
  ["$recursiveRef", "write $ref"],
  ["$recursiveAnchor", "write $anchor"],
  ["id", "write $id, at the root"],
]);

/** Foreign keywords that do not restrict values. */
export const HARMLESS_FOREIGN: ReadonlySet<string> = new Set(["example", "discriminator"]);

/** The values of `type`. */
export const SCHEMA_TYPES = [
  "string",
  "integer",
  "number",
  "boolean",
  "object",
  "array",
  "null",
] as const;
/** One value of `type`. */
export type SchemaType = (typeof SCHEMA_TYPES)[number];

/** Returns the type of a JSON value; a whole number is an integer. */
export function schemaTypeOf(value: unknown): SchemaType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (typeof value === "string") return "string";
  return typeof value === "boolean" ? "boolean" : "object";
}

/** Keywords that have no effect without one of these beside them. */
export const COMPANIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ["if", ["then", "else"]],
  ["then", ["if"]],
  ["else", ["if"]],
  ["minContains", ["contains"]],
  ["maxContains", ["contains"]],
]);

/** Keywords whose subschemas check the same value. */
export const IN_PLACE_KEYWORDS: ReadonlySet<string> = new Set([
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentSchemas",
]);

/** The value of a keyword that is neither a schema nor a reference. */
export type PlainValue = Exclude<
  KeywordValue,
  "schema" | "schema list" | "schema map" | "schema map by pattern" | "reference" | "anchor"
>;

/** Returns the expected form of a keyword's value if it differs. */
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
      return Array.isArray(value) && value.length > 0 ? undefined : "a list of one or more values";
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
  return isTexts(value) && new Set(value).size === value.length;
}

/** Tells whether a text is a regular expression as JSON Schema defines it. */
export function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}
