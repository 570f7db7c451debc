/**
 * Discriminators: what OpenAPI says beside `oneOf` and `anyOf`, JSON Schema says inside each branch,
 * as the value that one property must have.
 */
import type { JsonSchema } from "../contract/endpoint.ts";
import { isRecord, type JsonRecord } from "../json-value.ts";
import { resolveReference } from "./reference.ts";

/** A converted schema with the discriminator of its source in its branches. */
export function discriminate(
  schema: JsonSchema,
  source: JsonRecord,
  document: JsonRecord,
): JsonSchema {
  const { discriminator } = source;
  if (!isRecord(discriminator)) return schema;
  const { propertyName, mapping } = discriminator;
  if (typeof propertyName !== "string" || propertyName === "__proto__") return schema;
  const values = valuesByTarget(isRecord(mapping) ? mapping : {}, document);
  const mark = (branch: unknown): unknown => markBranch(branch, propertyName, values);
  const { oneOf, anyOf } = schema;
  return {
    ...schema,
    ...(Array.isArray(oneOf) ? { oneOf: oneOf.map(mark) } : {}),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map(mark) } : {}),
  };
}

/** The names that a mapping gives to schemas, by where these are. */
function valuesByTarget(
  mapping: JsonRecord,
  document: JsonRecord,
): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, readonly string[]>();
  for (const [value, name] of Object.entries(mapping)) {
    if (typeof name !== "string") continue;
    const reference = name.startsWith("#") ? name : `#/components/schemas/${name}`;
    const target = resolveReference(reference, document);
    if (target === undefined) continue;
    const key = `#${target.pointer}`;
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  return values;
}

function markBranch(
  branch: unknown,
  property: string,
  values: ReadonlyMap<string, readonly string[]>,
): unknown {
  if (!isRecord(branch) || typeof branch["$ref"] !== "string") return branch;
  const reference = branch["$ref"];
  // Without a mapping, the name of a schema is the value that stands for it.
  const named = values.get(reference) ?? [reference.slice(reference.lastIndexOf("/") + 1)];
  const value = named.length === 1 ? { const: named[0] } : { enum: named };
  return { ...branch, properties: { [property]: value }, required: [property] };
}
