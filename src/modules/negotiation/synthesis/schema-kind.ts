/**
 * The kind of values that a schema allows: types, formats and listed values. It considers `type`, `format`, `enum`,
 * `const`, local references and the branches of `allOf`, `anyOf` and `oneOf`, and ignores every other keyword.
 */

import { isRecord } from "../../../base/json-value.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { FORMATS, sortedText } from "../../../schema/keywords-and-formats.ts";
import { resolveLocalReference } from "../../../schema/local-reference.ts";
import { SCHEMA_TYPES, type SchemaType, schemaTypeOf } from "../../../schema/schema-vocabulary.ts";

/** Types without overlap: a number is an integer or a fraction. */
export type DisjointType = Exclude<SchemaType, "number"> | "fraction";

/** The known restrictions on values of one type. */
export interface TypedValues {
  /** Formats that all the values have. */
  readonly formats: ReadonlySet<string>;
  /** Canonical texts of the allowed values; absent allows any value of the type. */
  readonly values?: ReadonlySet<string>;
}

/** Alternatives by type; an absent type is not allowed. */
export type SchemaKind = ReadonlyMap<DisjointType, readonly TypedValues[]>;

/** A schema in `properties`. */
export type PropertySchema = JsonSchema | boolean;

const NUMBERS = ["integer", "fraction"] as const;
/** The limits of schemas and alternatives examined per property. */
const MAX_SCHEMAS = 256;
const MAX_ALTERNATIVES = 64;

const NO_FORMATS: ReadonlySet<string> = new Set();
const ANYTHING: readonly TypedValues[] = [{ formats: NO_FORMATS }];

const ANY_KIND: SchemaKind = new Map<DisjointType, readonly TypedValues[]>([
  ["string", ANYTHING],
  ["integer", ANYTHING],
  ["fraction", ANYTHING],
  ["object", ANYTHING],
  ["array", ANYTHING],
  // Listed, so that an enum can cover all of them.
  ["boolean", [{ formats: NO_FORMATS, values: new Set(["true", "false"]) }]],
  ["null", [{ formats: NO_FORMATS, values: new Set(["null"]) }]],
]);

/** Cached kinds of value lists, as thousands of references may share a long one. */
export type KnownLists = Map<object, SchemaKind>;

/**
 * Returns the kind of a schema whose references are into `root`; its properties may share `lists`. Undefined if the
 * schema has too many branches or refers to itself.
 */
export function kindOfSchema(
  schema: PropertySchema,
  root: JsonSchema,
  lists: KnownLists = new Map(),
): SchemaKind | undefined {
  return new KindReader(root, lists).read(schema);
}

/** Tells whether two kinds share no value; an undetermined kind may be anything. */
export function areDisjoint(one: SchemaKind | undefined, other: SchemaKind | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return intersect(one, other)?.size === 0;
}

/** Reads one schema, counting the schemas examined. */
class KindReader {
  readonly #root: JsonSchema;
  readonly #lists: KnownLists;
  #schemas = 0;

  constructor(root: JsonSchema, lists: KnownLists) {
    this.#root = root;
    this.#lists = lists;
  }

  read(schema: unknown): SchemaKind | undefined {
    this.#schemas += 1;
    if (this.#schemas > MAX_SCHEMAS) return undefined;
    if (schema === false) return new Map();
    if (!isRecord(schema)) return ANY_KIND;
    let kind: SchemaKind | undefined = describedKind(schema);
    for (const limit of this.#limits(schema)) {
      kind = limit && intersect(kind, limit);
      if (kind === undefined) return undefined;
    }
    return kind;
  }

  /** Yields the kinds that value lists and other schemas impose on the same value. */
  *#limits(schema: JsonSchema): Generator<SchemaKind | undefined> {
    const { $ref, allOf, anyOf, oneOf } = schema;
    const { enum: values } = schema;
    if (Array.isArray(values)) yield this.#listed(values, values);
    if (Object.hasOwn(schema, "const")) yield this.#listed(schema, [schema["const"]]);
    if (typeof $ref === "string") yield this.read(resolveLocalReference($ref, this.#root));
    if (Array.isArray(allOf)) {
      for (const branch of allOf) yield this.read(branch);
    }
    for (const branches of [anyOf, oneOf]) {
      if (Array.isArray(branches)) yield this.#unite(branches);
    }
  }

  /** Reads a list of values; `list` is the cache key. */
  #listed(list: object, values: readonly unknown[]): SchemaKind {
    const kind = this.#lists.get(list) ?? listedKind(values);
    this.#lists.set(list, kind);
    return kind;
  }

  #unite(branches: readonly unknown[]): SchemaKind | undefined {
    const united = new Map<DisjointType, readonly TypedValues[]>();
    for (const branch of branches) {
      const kind = this.read(branch);
      if (kind === undefined) return undefined;
      for (const [type, alternatives] of kind) {
        const all = [...(united.get(type) ?? []), ...alternatives];
        if (all.length > MAX_ALTERNATIVES) return undefined;
        united.set(type, all);
      }
    }
    return united;
  }
}

/** The kind that `type` and `format` describe. */
function describedKind({ type, format }: JsonSchema): SchemaKind {
  let kind = ANY_KIND;
  if (type !== undefined) kind = restrictTypes(kind, type);
  if (typeof format === "string") kind = restrictFormat(kind, format);
  return kind;
}

function restrictTypes(kind: SchemaKind, type: unknown): SchemaKind {
  const named: readonly unknown[] = Array.isArray(type) ? type : [type];
  const types = new Set<DisjointType>();
  for (const word of SCHEMA_TYPES) {
    if (!named.includes(word)) continue;
    for (const one of word === "number" ? NUMBERS : [word]) types.add(one);
  }
  return new Map([...kind].filter(([one]) => types.has(one)));
}

function restrictFormat(kind: SchemaKind, format: string): SchemaKind {
  const formats: ReadonlySet<string> = new Set([format]);
  const types = new Set<DisjointType>(isNumberFormat(format) ? NUMBERS : ["string"]);
  return new Map(
    Array.from(kind, ([type, alternatives]) => [
      type,
      types.has(type) ? [{ formats }] : alternatives,
    ]),
  );
}

/** Tells whether a format such as `int32` applies to numbers and not to texts. */
function isNumberFormat(format: string): boolean {
  const definition = FORMATS.get(format);
  return typeof definition === "object" && "type" in definition && definition.type === "number";
}

function listedKind(values: readonly unknown[]): SchemaKind {
  const texts = new Map<DisjointType, Set<string>>();
  for (const value of values) {
    const type = typeOf(value);
    const known = texts.get(type) ?? new Set();
    texts.set(type, known.add(sortedText(value)));
  }
  return new Map(
    Array.from(texts, ([type, known]) => [type, [{ formats: NO_FORMATS, values: known }]]),
  );
}

function typeOf(value: unknown): DisjointType {
  const type = schemaTypeOf(value);
  return type === "number" ? "fraction" : type;
}

/** The intersection of two kinds; undefined if it has too many alternatives. */
function intersect(one: SchemaKind, other: SchemaKind): SchemaKind | undefined {
  const both = new Map<DisjointType, readonly TypedValues[]>();
  for (const [type, alternatives] of one) {
    const others = other.get(type) ?? [];
    if (alternatives.length * others.length > MAX_ALTERNATIVES) return undefined;
    const common = alternatives.flatMap((left) => others.flatMap((right) => meet(left, right)));
    if (common.length > 0) both.set(type, common);
  }
  return both;
}

function meet(left: TypedValues, right: TypedValues): readonly TypedValues[] {
  const formats = new Set([...left.formats, ...right.formats]);
  const values = meetValues(left.values, right.values);
  if (values === undefined) return [{ formats }];
  return values.size === 0 ? [] : [{ formats, values }];
}

function meetValues(
  left: ReadonlySet<string> | undefined,
  right: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (left === undefined || right === undefined || left === right) return left ?? right;
  return new Set([...left].filter((text) => right.has(text)));
}

/**
 * Tells whether every given value is accepted, as far as types, formats, enums and constants say: each type of a union
 * is accepted, an integer is a number, a required format is given, and an enum has only accepted values. An untyped
 * schema only fits an unrestricted one, an empty kind fits everything, and an undetermined kind gives anything and
 * accepts nothing.
 */
export function isKindCovered(
  given: SchemaKind | undefined,
  taken: SchemaKind | undefined,
): boolean {
  if (taken === undefined) return false;
  for (const [type, alternatives] of given ?? ANY_KIND) {
    const accepted = taken.get(type) ?? [];
    if (!alternatives.every((alternative) => isTaken(alternative, accepted))) return false;
  }
  return true;
}

function isTaken(given: TypedValues, accepted: readonly TypedValues[]): boolean {
  const fitting = accepted.filter(({ formats }) => isSubset(formats, given.formats));
  if (fitting.some(({ values }) => values === undefined)) return true;
  // Alternatives may split the listed values among them.
  return (
    given.values !== undefined &&
    [...given.values].every((text) => fitting.some(({ values }) => values?.has(text)))
  );
}

function isSubset(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every((name) => all.has(name));
}
