/**
 * Merges `allOf` of plain objects into one object: authors use it for inheritance, and agents, and
 * inputs, which are closed, need the merged form. Any other `allOf` stays.
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord, listIn, recordIn, textsIn } from "../base/json-value.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { isAnnotation, withoutNullType } from "./schema-dialect.ts";
import type { SchemaReader } from "./schema-reader.ts";

const PLAIN: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "additionalProperties"],
]);

/** Merges a schema's `allOf` if possible, else returns the schema unchanged. */
export function mergeAllOf(schema: JsonSchema): JsonSchema {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf) || allOf.includes(false)) return schema;
  // `{}` and `true` restrict nothing.
  const branches = allOf.filter(isRecord).filter((branch) => Object.keys(branch).length > 0);
  const [only] = branches;
  if (only === undefined) return rest;
  if (branches.length === 1 && isWords(rest)) return { ...only, ...rest };
  const parts = Object.keys(rest).length === 0 ? branches : [...branches, rest];
  return parts.every(isPlainObject) ? mergeObjects(parts) : { ...rest, allOf: branches };
}

/** Returns true for an object schema with properties and no further restrictions. */
export function isPlainObject(schema: unknown): schema is JsonSchema {
  if (!isRecord(schema)) return false;
  const { type, additionalProperties } = schema;
  const isObject = type === undefined || type === "object";
  const isOpenOrClosed = isRecord(additionalProperties)
    ? Object.keys(additionalProperties).length === 0
    : true;
  const isPlain = (keyword: string): boolean => PLAIN.has(keyword) || isAnnotation(keyword);
  return isObject && isOpenOrClosed && Object.keys(schema).every(isPlain);
}

function mergeObjects(parts: readonly JsonSchema[]): JsonSchema {
  const properties = new Map<string, unknown>();
  const required = new Set<unknown>();
  for (const part of parts) {
    for (const [name, property] of Object.entries(recordIn(part["properties"]))) {
      properties.set(name, both(properties.get(name), property));
    }
    for (const name of Array.isArray(part["required"]) ? part["required"] : []) required.add(name);
  }
  const annotations = parts.flatMap((part) =>
    Object.entries(part).filter(([keyword]) => isAnnotation(keyword)),
  );
  if (parts.every(isWords)) return Object.fromEntries(annotations);
  // A closed part would exclude its siblings' members, which authors do not intend.
  const isClosed = parts
    .filter((part) => part["properties"] !== undefined)
    .every((part) => part["additionalProperties"] === false);
  return {
    ...Object.fromEntries(annotations),
    type: "object",
    ...(required.size === 0 ? {} : { required: [...required] }),
    ...(isClosed && properties.size > 0 ? { additionalProperties: false } : {}),
    ...(properties.size === 0 ? {} : { properties: Object.fromEntries(properties) }),
  };
}

function isWords(schema: JsonSchema): boolean {
  return Object.keys(schema).every(isAnnotation);
}

/** A property declared by two parts has to satisfy both; one with annotations only adds those. */
function both(first: unknown, second: unknown): unknown {
  if (first === undefined || isDeepStrictEqual(first, second)) return second;
  if (!isRecord(first) || !isRecord(second)) return { allOf: [first, second] };
  const isCompatible = Object.entries(second).every(
    ([keyword, value]) =>
      isAnnotation(keyword) ||
      isDeepStrictEqual(first[keyword], value) ||
      (first[keyword] === undefined && INDEPENDENT.has(keyword)),
  );
  return isCompatible ? { ...first, ...second } : { allOf: [first, second] };
}

/** Keywords whose meaning is independent of their siblings. */
const INDEPENDENT: ReadonlySet<string> = new Set([
  ...["const", "enum", "format", "pattern", "minLength", "maxLength", "minimum", "maximum"],
  ...["exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
]);

/** The bound on expansions of schemas that repeatedly contain others twice. */
const MAX_EXPANSIONS = 1000;

/** Resolves references at the root of a schema, but not below it. */
export function expandRoot(schema: JsonSchema, reader: SchemaReader): JsonSchema {
  return expand(schema, reader, { left: MAX_EXPANSIONS });
}

function expand(schema: JsonSchema, reader: SchemaReader, budget: { left: number }): JsonSchema {
  budget.left -= 1;
  if (budget.left < 0) return schema;
  const { $ref, allOf, ...rest } = schema;
  if (typeof $ref === "string") {
    const target = expand(reader.definition($ref), reader, budget);
    const own = allOf === undefined ? rest : { ...rest, allOf };
    return Object.keys(own).length === 0 ? target : mergeAllOf({ allOf: [target, own] });
  }
  if (!Array.isArray(allOf)) return schema;
  const branches = allOf.map((branch: unknown) =>
    isRecord(branch) ? expand(branch, reader, budget) : branch,
  );
  return mergeAllOf({ ...rest, allOf: branches });
}

/** Expands the root of a value for a URL, a header or a form, and removes null, which none of these can carry. */
export function expandSent(schema: JsonSchema, reader: SchemaReader): JsonSchema {
  const root = withoutNullType(expandRoot(schema, reader));
  const word = root["anyOf"] === undefined ? "oneOf" : "anyOf";
  const { [word]: branches, ...rest } = root;
  const [only, ...others] = listIn(branches).filter((one) => recordIn(one)["type"] !== "null");
  if (only === undefined || others.length > 0) return root;
  return withoutNullType(expandRoot({ ...rest, allOf: [only] }, reader));
}

/** An object schema as inputs and forms need it: its named members. */
export interface ObjectShape {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
  /** Required members that are not among the properties. */
  readonly undescribed: readonly string[];
  /** True if further members are allowed explicitly. */
  readonly isOpen: boolean;
  /** Keywords about which members belong together; they are only valid under the members' original names. */
  readonly rules: JsonSchema;
}

const KNOWN: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "additionalProperties", "unevaluatedProperties"],
  ...["title", "description", "default", "examples", "deprecated", "minProperties"],
]);

/**
 * The shape of an expanded schema; undefined unless it is an object of named members. With
 * `keepsAll`, other keywords become rules.
 */
export function objectShape(schema: JsonSchema, keepsAll = false): ObjectShape | undefined {
  const { type, properties, required, additionalProperties } = schema;
  const isObject = type === undefined || [type].flat().includes("object");
  if (!isObject || !isRecord(properties) || Object.keys(properties).length === 0) return undefined;
  const more = Object.entries(schema).filter(([keyword]) => !KNOWN.has(keyword));
  if (!keepsAll && !more.every(([keyword, value]) => isRequirement(keyword, value))) {
    return undefined;
  }
  const names = [...new Set(textsIn(required))];
  const isDescribed = (name: string): boolean => Object.hasOwn(properties, name);
  return {
    properties,
    required: names.filter(isDescribed),
    undescribed: additionalProperties === false ? [] : names.filter((name) => !isDescribed(name)),
    isOpen: additionalProperties === true || isRecord(additionalProperties),
    rules: Object.fromEntries(more),
  };
}

/** Returns true if a keyword only restricts which members occur together. */
function isRequirement(keyword: string, value: unknown): boolean {
  if (keyword === "dependentRequired") return true;
  if (keyword !== "anyOf" && keyword !== "oneOf") return false;
  const branches = listIn(value);
  return branches.every(
    (branch) => isRecord(branch) && Object.keys(branch).every((name) => name === "required"),
  );
}
