/**
 * The schema dialect of OpenAPI 3.0 and of older drafts in the words of JSON Schema 2020-12, keyword
 * by keyword. `nullable` is left to `allowNull`, which needs the whole schema.
 */

import { given, isRecord, type JsonRecord } from "../base/json-value.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

/** Writes a schema in newer words; only the keywords of this one schema are looked at. */
export function modernise(schema: JsonRecord, isOld: boolean): JsonRecord {
  const { example, ...rest } = schema;
  return {
    // In 3.0 nothing beside a reference says which values are valid, but for `nullable`, which many write there.
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
  // Long examples would make most of an endpoint file.
  const isShown = example !== undefined && examples === undefined && typeof example !== "object";
  if (isShown) return { examples: [example] };
  const isShort = Array.isArray(examples) && JSON.stringify(examples).length <= 200;
  return examples === undefined || isShort ? {} : { examples: undefined };
}

/** `exclusiveMinimum: true` beside a minimum is an exclusive minimum. */
function limits(schema: JsonRecord, limit: string, exclusive: string): JsonRecord {
  const flag = schema[exclusive];
  if (typeof flag !== "boolean") return {};
  return flag && typeof schema[limit] === "number"
    ? { [exclusive]: schema[limit], [limit]: undefined }
    : { [exclusive]: undefined };
}

/** A list of schemas under `items` is what `prefixItems` is now. */
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

/** Tells whether a keyword says nothing about which values are valid. */
export function isAnnotation(keyword: string): boolean {
  return ANNOTATIONS.has(keyword);
}

/**
 * Makes a schema that null satisfies as well. TOML cannot write null, so a schema says it by its type:
 * in a list of types, or as another branch.
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

/** A schema whose values hold no null, saying the same. */
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

/** A schema whose `type` does not name null. */
export function withoutNullType(schema: JsonSchema): JsonSchema {
  const { type, ...rest } = schema;
  const types: readonly unknown[] = [type].flat().filter((name) => name !== "null");
  if (type === undefined || types.length === 0) return rest;
  return { ...rest, type: types.length === 1 ? types[0] : types };
}

/** Tells whether a value is null or holds one, which no TOML can say. */
export function containsNull(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === "object" && Object.values(value as object).some(containsNull);
}
