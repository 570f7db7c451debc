/**
 * The discriminator of OpenAPI in the words of JSON Schema: what stands beside `oneOf` and `anyOf` is said in their
 * branches, as the value that one property must have.   OAS 3.2.0 §4.26
 */
import { isRecord, type JsonRecord, recordIn, textsIn } from "../base/json-value.ts";
import { addUnder } from "../base/listed.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { resolveReference } from "./references.ts";
import { kebab } from "./words.ts";

/**
 * A converted schema with the discriminator of its source in its branches: JSON Schema says there, as the
 * value that one property must have, what OpenAPI says beside `oneOf` and `anyOf`.
 */
export function discriminate(
  schema: JsonSchema,
  source: JsonRecord,
  document: JsonRecord,
): JsonSchema {
  const { discriminator } = source;
  if (!isRecord(discriminator)) return schema;
  const { propertyName, mapping, defaultMapping } = discriminator;
  if (typeof propertyName !== "string" || propertyName === "__proto__") return schema;
  const values = valuesByTarget(recordIn(mapping), document);
  const fallback = targetOf(defaultMapping, document);
  const own = declaredValues(source, propertyName, document);
  const mark = (list: readonly unknown[]): MarkedBranches => {
    const read = list.map((branch) => readBranch(branch, propertyName, values, own, document));
    const at = list.findIndex((branch) => isRecord(branch) && branch["$ref"] === fallback);
    if (fallback !== undefined && at !== -1) return markWithDefault(read, at);
    const { branches, areApart } = markBranches(read);
    const isOneOptional = read.filter(({ isOptional }) => isOptional).length < 2;
    return { branches, areApart: areApart && isOneOptional };
  };
  const { oneOf, anyOf, ...rest } = schema;
  const one = Array.isArray(oneOf) ? mark(oneOf) : undefined;
  const any = Array.isArray(anyOf) ? mark(anyOf).branches : undefined;
  if (one === undefined) return any === undefined ? schema : { ...rest, anyOf: any };
  // Branches that nothing tells apart may all fit, which a value must not be refused for.
  if (!one.areApart && any === undefined) return { ...rest, anyOf: one.branches };
  return { ...rest, oneOf: one.branches, ...(any === undefined ? {} : { anyOf: any }) };
}

/** The names that a mapping gives to schemas, by where these are. */
function valuesByTarget(
  mapping: JsonRecord,
  document: JsonRecord,
): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const [value, name] of Object.entries(mapping)) {
    const target = targetOf(name, document);
    if (target !== undefined) addUnder(values, target, value);
  }
  return values;
}

/** Where the schema is that a name, or a reference, stands for. */
function targetOf(name: unknown, document: JsonRecord): string | undefined {
  if (typeof name !== "string") return undefined;
  const reference = name.startsWith("#") ? name : `#/components/schemas/${name}`;
  const target = resolveReference(reference, document);
  return target && `#${target.pointer}`;
}

/**
 * Branches of which one is for what has no value of the property, or one that stands for no other branch.
 * OAS 3.2.0 §4.26.4
 */
function markWithDefault(branches: readonly Branch[], at: number): MarkedBranches {
  const others = branches
    .filter((_, index) => index !== at)
    .map((branch) => ({ ...branch, isOptional: false }));
  const marked = markBranches(others);
  const taken = others.flatMap(({ named }) => named);
  const { schema, property } = branches[at] as Branch;
  const rest = { ...(schema as JsonRecord), properties: { [property]: { not: { enum: taken } } } };
  return {
    areApart: marked.areApart,
    branches: [...marked.branches.slice(0, at), rest, ...marked.branches.slice(at)],
  };
}

/** A branch that refers to a schema, with what its property may be; others stay as they are. */
interface Branch {
  readonly schema: unknown;
  readonly property: string;
  /** The schema's stand-in. */
  readonly named: readonly string[];
  /** The declared values of the property; undefined: any text. */
  readonly declared: readonly unknown[] | undefined;
  /** The schema says which members it requires, and the property is none of them. */
  readonly isOptional: boolean;
}

interface MarkedBranches {
  readonly branches: readonly unknown[];
  /** True if no value of the property belongs to two of them, and one at most can be without it. */
  readonly areApart: boolean;
}

function readBranch(
  schema: unknown,
  property: string,
  values: ReadonlyMap<string, readonly string[]>,
  own: readonly unknown[] | undefined,
  document: JsonRecord,
): Branch {
  const reference = isRecord(schema) ? schema["$ref"] : undefined;
  if (typeof reference !== "string") {
    return { schema, property, named: [], declared: undefined, isOptional: false };
  }
  // Without a mapping, the name of a schema is the value that stands for it.
  const named = values.get(reference) ?? [reference.slice(reference.lastIndexOf("/") + 1)];
  const inner = declaredValues({ $ref: reference }, property, document);
  const declared = own === undefined ? inner : (inner?.filter((one) => own.includes(one)) ?? own);
  return {
    schema,
    property,
    named,
    declared,
    isOptional: leavesOut(reference, property, document),
  };
}

function leavesOut(reference: string, property: string, document: JsonRecord): boolean {
  const required = partsOf([{ $ref: reference }], document).flatMap((part) =>
    textsIn(part["required"]),
  );
  return required.length > 0 && !required.includes(property);
}

/** Each branch by its name, else by what it declares, else by the value that is spelt like its name. */
function markBranches(branches: readonly Branch[]): MarkedBranches {
  const chosen = branches.map(({ named, declared }) =>
    declared === undefined ? named : named.filter((name) => declared.includes(name)),
  );
  const referring = branches.map(({ named }) => named.length > 0);
  const isMarked = chosen.every((names, index) => names.length > 0 || !referring[index]);
  if (isMarked) return { branches: branches.map(write(chosen)), areApart: true };
  const fitting = branches.map(({ declared }, index) => nonEmpty(chosen[index]) ?? declared);
  if (!overlap(fitting)) return { branches: branches.map(write(chosen)), areApart: true };
  const spelt: readonly (readonly unknown[])[] = branches.map(
    (branch, index) =>
      nonEmpty<unknown>(chosen[index]) ?? branch.declared?.filter(isSpeltLike(branch)) ?? [],
  );
  const told = branches.map(({ declared }, index) => nonEmpty(spelt[index]) ?? declared);
  return { branches: branches.map(write(spelt)), areApart: !overlap(told) };
}

function isSpeltLike({ named }: Branch): (value: unknown) => boolean {
  const names = new Set(named.map(kebab));
  return (value) => typeof value === "string" && names.has(kebab(value));
}

function overlap(lists: readonly (readonly unknown[] | undefined)[]): boolean {
  const seen = new Set<unknown>();
  return lists.some((list) => {
    if (nonEmpty(list) === undefined || list?.some((value) => seen.has(value))) return true;
    for (const value of list ?? []) seen.add(value);
    return false;
  });
}

function nonEmpty<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}

function write(values: readonly (readonly unknown[])[]): (branch: Branch, at: number) => unknown {
  return ({ schema, property, named, isOptional }, at) => {
    if (!isRecord(schema) || named.length === 0) return schema;
    const [value, ...others] = values[at] ?? [];
    const required = isOptional ? {} : { required: [property] };
    if (value === undefined) return { ...schema, ...required };
    const mark = others.length === 0 ? { const: value } : { enum: values[at] };
    return { ...schema, properties: { [property]: mark }, ...required };
  };
}

/** The values; undefined where any text will do. */
function declaredValues(
  schema: unknown,
  property: string,
  document: JsonRecord,
): readonly unknown[] | undefined {
  const parts = partsOf([schema], document);
  const declared = parts.flatMap(({ properties }) =>
    isRecord(properties) && Object.hasOwn(properties, property) ? [properties[property]] : [],
  );
  const lists = partsOf(declared, document).flatMap(valuesOf);
  const [first, ...others] = lists;
  return first?.filter((value) => others.every((list) => list.includes(value)));
}

/** Nobody makes a schema of more others than this. */
const MAX_PARTS = 1000;

/** Schemas with all that they consist of; each is looked at once, whatever refers to it. */
export function partsOf(schemas: readonly unknown[], document: JsonRecord): readonly JsonRecord[] {
  const parts = new Set<JsonRecord>();
  const open = [...schemas];
  while (open.length > 0 && parts.size < MAX_PARTS) {
    const schema = open.pop();
    if (!isRecord(schema) || parts.has(schema)) continue;
    parts.add(schema);
    const { $ref, allOf } = schema;
    if (typeof $ref === "string") open.push(resolveReference($ref, document)?.value);
    if (Array.isArray(allOf)) open.push(...allOf);
  }
  return [...parts];
}

function valuesOf(schema: JsonRecord): readonly (readonly unknown[])[] {
  const { enum: values, type } = schema;
  const isText = type === undefined || [type].flat().includes("string");
  return [
    ...(Array.isArray(values) ? [values] : []),
    ...(Object.hasOwn(schema, "const") ? [[schema["const"]]] : []),
    // A discriminator's value is a text, which this property cannot have.
    ...(isText || Array.isArray(values) ? [] : [[]]),
  ];
}
