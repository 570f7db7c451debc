/**
 * `null` in schemas. TOML cannot write it, so a schema says it by its type: `nullable` becomes a
 * list of types or another branch, and a null among values becomes that branch.
 */
import type { JsonSchema } from "../schema/json-schema.ts";

const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...["title", "description", "default", "examples", "deprecated"],
]);

/** Tells whether a keyword says nothing about which values are valid. */
export function isAnnotation(keyword: string): boolean {
  return ANNOTATIONS.has(keyword);
}

/** Makes a schema that null satisfies as well. */
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

function withoutNullType(schema: JsonSchema): JsonSchema {
  const { type, ...rest } = schema;
  const types: readonly unknown[] = [type].flat().filter((name) => name !== "null");
  if (type === undefined || types.length === 0) return rest;
  return { ...rest, type: types.length === 1 ? types[0] : types };
}

function containsNull(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === "object" && Object.values(value as object).some(containsNull);
}
