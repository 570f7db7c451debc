/**
 * The declared types of an input's members, computed once per endpoint, by which text from a path
 * or query is converted to a number or boolean.   AGTP-API §5.3, §5.5
 */
import { isRecord, listIn, recordIn } from "../base/json-value.ts";
import { addUnder } from "../base/listed.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { resolveLocalReference } from "../schema/local-reference.ts";
import { SCHEMA_TYPES, type SchemaType, schemaTypeOf } from "../schema/schema-vocabulary.ts";
import { textPattern } from "../schema/text-pattern.ts";
import { DeclaredMembers } from "./declared-members.ts";

/** The types that text can be converted to. */
export type ScalarType = "boolean" | "integer" | "number";

/** The types of an input's members; `scalars` has those that text is converted to, by name. */
export interface InputShape {
  readonly scalars: ReadonlyMap<string, readonly ScalarType[]>;
  /** The list members, with the types that an item's text is converted to. */
  readonly lists: ReadonlyMap<string, readonly ScalarType[]>;
  /** Like `scalars`, for members that only patterns declare; undefined without such patterns. */
  readonly patterned: ((name: string) => readonly ScalarType[] | undefined) | undefined;
  /** The declared members; undefined if the schema's verdict depends on other names. */
  readonly declared: DeclaredMembers | undefined;
}

const SCALARS = ["boolean", "integer", "number"] as const satisfies readonly ScalarType[];
const ALL_TYPES: ReadonlySet<SchemaType> = new Set(SCHEMA_TYPES);
const MAX_STEPS = 32;

/**
 * Computes the shape of an input schema; members that may be strings are not converted. Patterns
 * are used only if the schema is the operator's, since the cost of another author's patterns is
 * bounded only within the schema check.
 */
export function inputShape(schema: JsonSchema, isOperators = false): InputShape {
  const scalars = new Map<string, readonly ScalarType[]>();
  const lists = new Map<string, readonly ScalarType[]>();
  const named = membersOf(schema, "properties");
  for (const [name, property] of named) {
    const types = declaredTypes(property, schema);
    if (types.has("string")) continue;
    const possible = scalarsOf(types);
    if (possible.length > 0) scalars.set(name, possible);
    else if (types.has("array")) lists.set(name, itemScalars(property, schema));
  }
  const patterned = isOperators ? patternedScalars(schema, named) : undefined;
  return { scalars, lists, patterned, declared: DeclaredMembers.of(schema) };
}

function patternedScalars(
  schema: JsonSchema,
  named: ReadonlyMap<string, unknown>,
): InputShape["patterned"] {
  const patterns = [...membersOf(schema, "patternProperties")].map(([source, member]) => ({
    pattern: textPattern(source, "u"),
    types: declaredTypes(member, schema),
  }));
  if (patterns.length === 0) return undefined;
  return (name) => {
    if (named.has(name)) return undefined;
    const matching = patterns.filter(({ pattern }) => pattern.test(name));
    return scalarsOf(commonTypes(matching.map(({ types }) => types)));
  };
}

/**
 * Collects the schemas of each member, from the schema itself and the schemas it combines. Each
 * schema is visited once.
 */
export function membersOf(
  schema: unknown,
  keyword: "properties" | "patternProperties",
  root: JsonSchema = recordIn(schema),
  seen: Set<object> = new Set(),
): ReadonlyMap<string, unknown> {
  if (!isRecord(schema) || seen.has(schema)) return new Map();
  seen.add(schema);
  const { $ref, allOf, anyOf, oneOf, then, else: otherwise, [keyword]: own } = schema;
  const inner = (one: unknown): ReadonlyMap<string, unknown> => membersOf(one, keyword, root, seen);
  return together("allOf", [
    new Map(Object.entries(recordIn(own))),
    ...(typeof $ref === "string" ? [inner(resolveLocalReference($ref, root))] : []),
    ...listIn(allOf).map(inner),
    ...[anyOf, oneOf, [then, otherwise]].map((branches) =>
      together("anyOf", listIn(branches).map(inner)),
    ),
  ]);
}

function together(
  keyword: "allOf" | "anyOf",
  parts: readonly ReadonlyMap<string, unknown>[],
): ReadonlyMap<string, unknown> {
  const [first, ...others] = parts.filter(({ size }) => size > 0);
  if (others.length === 0) return first ?? new Map();
  const schemas = new Map<string, unknown[]>();
  for (const part of parts) for (const [name, schema] of part) addUnder(schemas, name, schema);
  return new Map(
    [...schemas].map(([name, all]) => [name, all.length > 1 ? { [keyword]: all } : all[0]]),
  );
}

function scalarsOf(types: ReadonlySet<SchemaType>): readonly ScalarType[] {
  return types.has("string") ? [] : SCALARS.filter((type) => types.has(type));
}

function itemScalars(property: unknown, root: JsonSchema): readonly ScalarType[] {
  let list = property;
  for (let steps = 0; isRecord(list) && typeof list["$ref"] === "string"; steps += 1) {
    if (steps > MAX_STEPS) return [];
    list = resolveLocalReference(list["$ref"], root);
  }
  return isRecord(list) ? scalarsOf(declaredTypes(list["items"], root)) : [];
}

/** Returns the `properties` of a schema, by name. */
export function propertiesOf(schema: JsonSchema): Readonly<Record<string, unknown>> {
  const { properties } = schema;
  return recordIn(properties);
}

/** Returns the types that a schema permits, as far as `type`, `const`, `enum` and references tell. */
export function declaredTypes(schema: unknown, root: JsonSchema): ReadonlySet<SchemaType> {
  return typesWithin(schema, root, new Map(), 0);
}

/** Visits each schema once: a hostile one may refer to itself in many ways. */
function typesWithin(
  schema: unknown,
  root: JsonSchema,
  known: Map<object, ReadonlySet<SchemaType>>,
  steps: number,
): ReadonlySet<SchemaType> {
  if (!isRecord(schema) || steps > MAX_STEPS) return ALL_TYPES;
  const before = known.get(schema);
  if (before !== undefined) return before;
  // A schema does not restrict itself during its own visit.
  known.set(schema, ALL_TYPES);
  const typesOf = (inner: unknown): ReadonlySet<SchemaType> =>
    typesWithin(inner, root, known, steps + 1);
  const limits: ReadonlySet<SchemaType>[] = [];
  const { type, $ref, allOf, anyOf, oneOf } = schema;
  if (type !== undefined) limits.push(namedTypes(type));
  if (Array.isArray(schema["enum"])) limits.push(new Set(schema["enum"].map(schemaTypeOf)));
  if (Object.hasOwn(schema, "const")) limits.push(new Set([schemaTypeOf(schema["const"])]));
  if (typeof $ref === "string") limits.push(typesOf(resolveLocalReference($ref, root)));
  if (Array.isArray(allOf)) limits.push(...allOf.map(typesOf));
  for (const branches of [anyOf, oneOf]) {
    if (Array.isArray(branches)) limits.push(new Set(branches.flatMap((one) => [...typesOf(one)])));
  }
  const types = commonTypes(limits);
  known.set(schema, types);
  return types;
}

function commonTypes(limits: readonly ReadonlySet<SchemaType>[]): ReadonlySet<SchemaType> {
  return new Set(SCHEMA_TYPES.filter((word) => limits.every((limit) => allows(limit, word))));
}

function namedTypes(type: unknown): ReadonlySet<SchemaType> {
  const named: readonly unknown[] = Array.isArray(type) ? type : [type];
  return new Set(SCHEMA_TYPES.filter((word) => named.includes(word)));
}

/** Tells whether a limit permits a type; every integer is a number. */
function allows(limit: ReadonlySet<SchemaType>, type: SchemaType): boolean {
  return limit.has(type) || (type === "integer" && limit.has("number"));
}
