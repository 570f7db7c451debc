/**
 * Checks that a schema is one this server can enforce: JSON Schema 2020-12, without unknown
 * keywords, without remote references, and bounded in every dimension. What passes compiles.
 * Written against hostile schemas, since callers may propose some.   AGTP-API §6.4, §10.6
 */
import { joinKey } from "../base/dotted-key.ts";
import { describeValue } from "../base/json-value.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { SchemaBounds } from "./schema-bounds.ts";
import type { SchemaFault } from "./schema-place.ts";
import { MAX_FAULTS, SchemaWalk } from "./schema-walk.ts";

const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

/** Everything that is wrong with a schema, at most twenty faults; empty: it compiles. */
export function checkSchema(schema: JsonSchema, bounds: SchemaBounds): readonly SchemaFault[] {
  const length = textLength(schema);
  if (length === undefined || length > bounds.maxLength) {
    const message = `is too large, expected at most ${bounds.maxLength} characters of JSON`;
    return [{ key: "", pointer: "", message }];
  }
  const { $schema, $id, ...nameless } = schema;
  const faults: SchemaFault[] = [];
  if ($schema !== undefined && !(typeof $schema === "string" && DIALECT.test($schema))) {
    const expected = '"https://json-schema.org/draft/2020-12/schema"';
    const message = `${describeValue($schema)}, expected ${expected} or nothing`;
    faults.push({ key: joinKey("", "$schema"), pointer: "/$schema", message });
  }
  if ($id !== undefined && typeof $id !== "string") {
    const message = `${describeValue($id)}, expected a URI`;
    faults.push({ key: joinKey("", "$id"), pointer: "/$id", message });
  }
  return [...faults, ...new SchemaWalk(bounds).check(nameless)].slice(0, MAX_FAULTS);
}

function textLength(schema: JsonSchema): number | undefined {
  try {
    return JSON.stringify(schema).length;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
