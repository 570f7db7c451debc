/**
 * A schema as a part of another document: references to its own root lead to where it now is, and
 * anchors, which are the whole document's, become pointers. What it says of values stays the same.
 */

import { escapeToken } from "../../../base/json-pointer.ts";
import { isRecord } from "../../../base/json-value.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { mapSubschemas } from "../../../schema/subschemas.ts";

/** The schema at a JSON Pointer of another one, such as `/properties/input`. */
export function nestSchema(schema: JsonSchema, pointer: string): JsonSchema {
  const { $id: _id, $schema: _dialect, ...rest } = schema;
  return nest(rest, pointer, anchorsOf(schema)) as JsonSchema;
}

/** Pointers by anchor; anchors are looked for where they are understood, in `$defs`. */
function anchorsOf({ $defs }: JsonSchema): ReadonlyMap<string, string> {
  if (!isRecord($defs)) return new Map();
  return new Map(
    Object.entries($defs).flatMap(([name, one]): (readonly [string, string])[] => {
      const anchor = isRecord(one) ? one["$anchor"] : undefined;
      const token = escapeToken(name);
      return typeof anchor === "string" ? [[anchor, `/$defs/${encodeURIComponent(token)}`]] : [];
    }),
  );
}

/** Goes down where schemas are; a property may be called `$ref` itself. */
function nest(schema: unknown, pointer: string, anchors: ReadonlyMap<string, string>): unknown {
  if (!isRecord(schema)) return schema;
  const below = (one: unknown): unknown => nest(one, pointer, anchors);
  const members = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (keyword === "$anchor") return [];
    if (keyword === "$ref") return [[keyword, rebase(String(value), pointer, anchors)]];
    return [[keyword, mapSubschemas(keyword, value, below)]];
  });
  return Object.fromEntries(members);
}

function rebase(reference: string, pointer: string, anchors: ReadonlyMap<string, string>): string {
  const fragment = reference.slice(1);
  if (fragment === "" || fragment.startsWith("/")) return `#${pointer}${fragment}`;
  return `#${pointer}${anchors.get(fragment) ?? ""}`;
}
