/**
 * `allOf` of plain objects as one object: what the author of a document means by inheritance, in
 * the form that an agent can read and that an input, which is closed, needs. Anything else stays
 * `allOf`.
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord, listIn, recordIn, textsIn } from "../base/json-value.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { isAnnotation, withoutNullType } from "./schema-dialect.ts";
import type { SchemaReader } from "./schema-reader.ts";

const PLAIN: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "additionalProperties"],
]);

/** A schema with its `allOf` merged where that can be done, and as it is where it cannot. */
export function mergeAllOf(schema: JsonSchema): JsonSchema {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf) || allOf.includes(false)) return schema;
  // `{}` and `true` say nothing.
  const branches = allOf.filter(isRecord).filter((branch) => Object.keys(branch).length > 0);
  const [only] = branches;
  if (only === undefined) return rest;
  if (branches.length === 1 && isWords(rest)) return { ...only, ...rest };
  const parts = Object.keys(rest).length === 0 ? branches : [...branches, rest];
  return parts.every(isPlainObject) ? mergeObjects(parts) : { ...rest, allOf: branches };
}

/** Tells whether a schema is an object of properties and nothing more. */
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
  // A part that closes itself would close out its siblings, which nobody means.
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

/** A property that two parts declare has to satisfy both; one that only adds words adds words. */
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

/** Keywords that mean the same whatever stands beside them. */
const INDEPENDENT: ReadonlySet<string> = new Set([
  ...["const", "enum", "format", "pattern", "minLength", "maxLength", "minimum", "maximum"],
  ...["exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
]);

/** Schemas that are made of schemas that are made of others twice over have an end here. */
const MAX_EXPANSIONS = 1000;

/** Resolves references at the root, which then says by itself what it is; those below stay. */
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

/** The root of what goes into a URL, a header or a form, none of which can carry null: the rest of its schema. */
export function expandSent(schema: JsonSchema, reader: SchemaReader): JsonSchema {
  const root = withoutNullType(expandRoot(schema, reader));
  const word = root["anyOf"] === undefined ? "oneOf" : "anyOf";
  const { [word]: branches, ...rest } = root;
  const [only, ...others] = listIn(branches).filter((one) => recordIn(one)["type"] !== "null");
  if (only === undefined || others.length > 0) return root;
  return withoutNullType(expandRoot({ ...rest, allOf: [only] }, reader));
}

/** An object of named members, as an input or a form needs it. */
export interface ObjectShape {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
  /** Members that are required, and not among the properties. */
  readonly undescribed: readonly string[];
  /** Members beyond the named ones are welcome. */
  readonly isOpen: boolean;
  /** Keywords about which members go together; they hold under the members' own names only. */
  readonly rules: JsonSchema;
}

const KNOWN: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "additionalProperties", "unevaluatedProperties"],
  ...["title", "description", "default", "examples", "deprecated", "minProperties"],
]);

/**
 * The shape of an expanded schema; undefined when it is more, or less, than named members. With
 * `keepsAll`, whatever else it says is among its rules.
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

/** Tells whether a keyword only says which members must be there together. */
function isRequirement(keyword: string, value: unknown): boolean {
  if (keyword === "dependentRequired") return true;
  if (keyword !== "anyOf" && keyword !== "oneOf") return false;
  const branches = listIn(value);
  return branches.every(
    (branch) => isRecord(branch) && Object.keys(branch).every((name) => name === "required"),
  );
}
