/**
 * Converts a tool's input schema to an endpoint's, which names every argument and accepts no
 * others. MCP's schemas are JSON Schema 2020-12, like those of endpoints, so nothing needs a
 * translation, and hints for clients are kept.   MCP "Tools", AGTP-API §13.3
 */
import { isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { resolveLocalReference } from "../../schema/local-reference.ts";

/** Keywords whose subschemas apply to the same value. */
const LISTS = ["allOf", "anyOf", "oneOf"] as const;
const SINGLE = ["if", "then", "else"] as const;

interface ClosedInput {
  /** The closed schema; undefined if the tool's own cannot be closed. */
  readonly schema: JsonRecord | undefined;
  /** True if the tool takes arguments without naming any. */
  readonly isNameless: boolean;
}

/** Closes a schema to the arguments that it names anywhere. */
export function closeInput(schema: JsonRecord): ClosedInput {
  const { type, properties, additionalProperties } = schema;
  const isNamed = properties === undefined || isRecord(properties);
  if (type !== "object" || !isNamed) return { schema: undefined, isNameless: false };
  if (additionalProperties === false) return { schema, isNameless: false };
  const names = argumentNames(schema, schema, new Set());
  const declared = { ...Object.fromEntries([...names].map((name) => [name, {}])), ...properties };
  // The dialect is irrelevant if no argument is described.
  const { $schema: _, ...undescribed } = schema;
  const kept = names.size === 0 ? undescribed : schema;
  return {
    schema: { ...kept, properties: declared, additionalProperties: false },
    isNameless: names.size === 0 && additionalProperties !== undefined,
  };
}

/** The names in a schema and in those that it applies to the same value; each schema is visited once. */
function argumentNames(value: unknown, root: JsonSchema, seen: Set<object>): ReadonlySet<string> {
  if (!isRecord(value) || seen.has(value)) return new Set();
  seen.add(value);
  const { $ref } = value;
  const lists = LISTS.map((keyword) => value[keyword]).filter(Array.isArray);
  const others: readonly unknown[] = [
    ...lists.flat(),
    ...SINGLE.map((keyword) => value[keyword]),
    ...Object.values(recordIn(value["dependentSchemas"])),
    ...(typeof $ref === "string" ? [resolveLocalReference($ref, root)] : []),
  ];
  const inner = others.flatMap((other) => [...argumentNames(other, root, seen)]);
  return new Set([...Object.keys(recordIn(value["properties"])), ...inner]);
}
