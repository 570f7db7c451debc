/** Schemas as their outermost object: references and `allOf` at the root are written out. */

import { isRecord } from "../base/json-value.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { mergeAllOf } from "./merge-all-of.ts";
import type { SchemaReader } from "./schema-reader.ts";

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

/** An object of named members, as an input or a form needs it. */
export interface ObjectShape {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
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
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  return {
    properties,
    required: names.filter(
      (name): name is string => typeof name === "string" && Object.hasOwn(properties, name),
    ),
    isOpen: additionalProperties === true || isRecord(additionalProperties),
    rules: Object.fromEntries(more),
  };
}

/** Tells whether a keyword only says which members must be there together. */
function isRequirement(keyword: string, value: unknown): boolean {
  if (keyword === "dependentRequired") return true;
  if (keyword !== "anyOf" && keyword !== "oneOf") return false;
  const branches: readonly unknown[] = Array.isArray(value) ? value : [];
  return branches.every(
    (branch) => isRecord(branch) && Object.keys(branch).every((name) => name === "required"),
  );
}
