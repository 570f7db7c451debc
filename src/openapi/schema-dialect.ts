/**
 * Translates the schema dialects of OpenAPI 3.0 and of older drafts to JSON Schema 2020-12, keyword
 * by keyword. `allowNull` handles `nullable`, because it needs the whole schema.
 */

import { given, isRecord, type JsonRecord } from "../base/json-value.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

/** Translates the keywords of one schema, without its subschemas. */
export function modernise(schema: JsonRecord, isOld: boolean): JsonRecord {
  const { example, ...rest } = schema;
  return {
    // In 3.0, siblings of a reference are ignored, except `nullable`, which many write there.
    ...(isOld && typeof rest["$ref"] === "string" ? referenceOnly(rest) : rest),
    ...exampleOf(rest, example),
    ...limits(rest, "minimum", "exclusiveMinimum"),
    ...limits(rest, "maximum", "exclusiveMaximum"),
    ...tuple(rest),
    ...dependencies(rest),
  };
}

function referenceOnly({ $ref, description, title }: JsonRecord): JsonRecord {
  return {
    $ref,
    ...given({ description, title }),
  };
}

function exampleOf({ examples }: JsonRecord, example: unknown): JsonRecord {
  // Long examples are dropped, because they would fill most of an endpoint file.
  const isShown = example !== undefined && examples === undefined && typeof example !== "object";
  if (isShown) return { examples: [example] };
  const isShort = Array.isArray(examples) && JSON.stringify(examples).length <= 200;
  return examples === undefined || isShort ? {} : { examples: undefined };
}

/** Translates a boolean limit: `exclusiveMinimum: true` makes `minimum` exclusive. */
function limits(schema: JsonRecord, limit: string, exclusive: string): JsonRecord {
  const flag = schema[exclusive];
  if (typeof flag !== "boolean") return {};
  return flag && typeof schema[limit] === "number"
    ? { [exclusive]: schema[limit], [limit]: undefined }
    : { [exclusive]: undefined };
}

/** Translates a list under `items` to `prefixItems`. */
function tuple({ items, additionalItems }: JsonRecord): JsonRecord {
  if (!Array.isArray(items))
    return additionalItems === undefined ? {} : { additionalItems: undefined };
  return { prefixItems: items, items: additionalItems, additionalItems: undefined };
}

function dependencies({ dependencies: written }: JsonRecord): JsonRecord {
  if (!isRecord(written)) return {};
  const entries = Object.entries(written);
  const lists = entries.filter(([, value]) => Array.isArray(value));
  const schemas = entries.filter(([, value]) => isRecord(value));
  return {
    dependencies: undefined,
    ...(lists.length === 0 ? {} : { dependentRequired: Object.fromEntries(lists) }),
    ...(schemas.length === 0 ? {} : { dependentSchemas: Object.fromEntries(schemas) }),
  };
}

const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...["title", "description", "default", "examples", "deprecated"],
]);

/** Returns true if a keyword does not restrict values. */
export function isAnnotation(keyword: string): boolean {
  return ANNOTATIONS.has(keyword);
}

/**
 * Makes a schema accept null. TOML has no null, so the schema expresses it by type: in a list of
 * types, or as another branch.
 */
export function allowNull(schema: JsonSchema): JsonSchema {
  const keywords = Object.keys(schema).filter((keyword) => !isAnnotation(keyword));
  if (keywords.length === 0) return schema;
  const { type } = schema;
  const isTyped = type !== undefined && !keywords.some((keyword) => COMBINING.has(keyword));
  if (isTyped) return { ...schema, type: [...new Set([type, "null"].flat())] };
  const { anyOf } = schema;
  if (keywords.length === 1 && Array.isArray(anyOf)) {
    return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  }
  const annotations = Object.entries(schema).filter(([keyword]) => isAnnotation(keyword));
  const others = Object.entries(schema).filter(([keyword]) => !isAnnotation(keyword));
  return {
    ...Object.fromEntries(annotations),
    anyOf: [Object.fromEntries(others), { type: "null" }],
  };
}

const COMBINING: ReadonlySet<string> = new Set([
  ...["$ref", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if"],
]);

/** An equivalent schema without null among its values. */
export function withoutNulls(schema: JsonSchema): JsonSchema {
  const { enum: values, const: constant, default: initial, examples, ...rest } = schema;
  const isList = Array.isArray(values);
  const known: readonly unknown[] = isList ? values.filter((value) => !containsNull(value)) : [];
  const result: JsonSchema = {
    ...rest,
    ...(known.length > 0 ? { enum: known } : {}),
    ...(constant === undefined || containsNull(constant) ? {} : { const: constant }),
    ...(initial === undefined || containsNull(initial) ? {} : { default: initial }),
    ...withExamples(examples),
  };
  const hasNull = constant === null || (isList && values.includes(null));
  if (!hasNull) return result;
  if (known.length === 0) return { ...result, type: "null" };
  const mayBeNull = rest["type"] === undefined || [rest["type"]].flat().includes("null");
  return mayBeNull ? allowNull(withoutNullType(result)) : result;
}

function withExamples(examples: unknown): JsonSchema {
  if (!Array.isArray(examples)) return {};
  const shown: readonly unknown[] = examples.filter((example) => !containsNull(example));
  return shown.length === 0 ? {} : { examples: shown };
}

/** The schema without null in its `type`. */
export function withoutNullType(schema: JsonSchema): JsonSchema {
  const { type, ...rest } = schema;
  const types: readonly unknown[] = [type].flat().filter((name) => name !== "null");
  if (type === undefined || types.length === 0) return rest;
  return { ...rest, type: types.length === 1 ? types[0] : types };
}

/** Returns true if a value is or contains null, which TOML cannot express. */
export function containsNull(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === "object" && Object.values(value as object).some(containsNull);
}
