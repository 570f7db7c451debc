/**
 * The input schema of a tool as that of an endpoint, which names every argument and takes no others. MCP's
 * schemas are JSON Schema 2020-12, as those of endpoints are: nothing has to be translated, and what clients
 * go by stands in them.   MCP "Tools", AGTP-API §13.3
 */
import { isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { resolveLocalReference } from "../../schema/local-reference.ts";

/** Keywords whose schemas are about the same value. */
const LISTS = ["allOf", "anyOf", "oneOf"] as const;
const SINGLE = ["if", "then", "else"] as const;

interface ClosedInput {
  /** Undefined: the tool's own cannot be closed as it is. */
  readonly schema: JsonRecord | undefined;
  /** The tool takes arguments, and names none of them. */
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
  // Where no argument is described, it does not matter in which dialect.
  const { $schema: _, ...undescribed } = schema;
  const kept = names.size === 0 ? undescribed : schema;
  return {
    schema: { ...kept, properties: declared, additionalProperties: false },
    isNameless: names.size === 0 && additionalProperties !== undefined,
  };
}

/** Names that stand anywhere in a schema, or in those that it applies to the same value; each is looked at once. */
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
