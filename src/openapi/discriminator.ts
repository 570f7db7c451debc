/**
 * Translates OpenAPI's discriminator to JSON Schema: the keyword beside `oneOf` or `anyOf` becomes
 * a condition in each branch on the value of one property.   OAS 3.2.0 §4.26
 */
import { isRecord, type JsonRecord, recordIn, textsIn } from "../base/json-value.ts";
import { addUnder } from "../base/listed.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { resolveReference } from "./references.ts";
import { kebab } from "./words.ts";

/**
 * Moves the discriminator of `source` into the branches of its converted schema, as the value that
 * one property must have.
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
  // Indistinguishable branches may all match a value, which `oneOf` would refuse.
  if (!one.areApart && any === undefined) return { ...rest, anyOf: one.branches };
  return { ...rest, oneOf: one.branches, ...(any === undefined ? {} : { anyOf: any }) };
}

/** The mapped names of each schema, by its pointer. */
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

/** The pointer of the schema that a name or a reference stands for. */
function targetOf(name: unknown, document: JsonRecord): string | undefined {
  if (typeof name !== "string") return undefined;
  const reference = name.startsWith("#") ? name : `#/components/schemas/${name}`;
  const target = resolveReference(reference, document);
  return target && `#${target.pointer}`;
}

/**
 * Marks branches with a default: one branch is for values without the property, or with one that
 * names no other branch.   OAS 3.2.0 §4.26.4
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

/** A branch that refers to a schema, with the possible values of its property; other branches stay unchanged. */
interface Branch {
  readonly schema: unknown;
  readonly property: string;
  /** The discriminator values that stand for the schema. */
  readonly named: readonly string[];
  /** The values that the schema declares for the property; undefined if any text is allowed. */
  readonly declared: readonly unknown[] | undefined;
  /** True if the schema lists its required members without this property. */
  readonly isOptional: boolean;
}

interface MarkedBranches {
  readonly branches: readonly unknown[];
  /** True if the branches' values are disjoint, and at most one branch allows the property to be absent. */
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
  // Without a mapping, the name of the schema is its value.
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

/** Marks each branch with its name, else its declared values, else the declared value spelt like its name. */
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

/** The declared values of the property; undefined if any text is allowed. */
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

/** The maximum number of schemas that one schema is combined from. */
const MAX_PARTS = 1000;

/** The schemas with everything that `$ref` and `allOf` combine into them; each is visited once. */
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
    // A discriminator's value is a string, which this property cannot hold.
    ...(isText || Array.isArray(values) ? [] : [[]]),
  ];
}
