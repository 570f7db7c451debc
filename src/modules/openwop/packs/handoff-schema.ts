/**
 * The schemas at both ends of an agent's turn, as packs bring them: checked when the pack is
 * installed, and later without generating code from them and without letting one of them keep the
 * daemon busy. What schemas may be is what callers' proposals may be, in larger numbers.
 * OpenWOP RFC 0003 §C, AGTP-API §13.2
 */
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { meteredSchema } from "../../../schema/metered-schema.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import { PROPOSED_SCHEMA_BOUNDS, type SchemaBounds } from "../../../schema/schema-bounds.ts";
import { checkSchema } from "../../../schema/schema-check.ts";
import type { SchemaFault } from "../../../schema/schema-place.ts";

/** The largest file that is read as a schema. */
export const MAX_SCHEMA_BYTES = 262_144;

const BOUNDS: SchemaBounds = {
  ...PROPOSED_SCHEMA_BOUNDS,
  maxLength: MAX_SCHEMA_BYTES,
  maxDepth: 24,
  maxSchemas: 8192,
  maxProperties: 2048,
  maxPatterns: 64,
  maxValues: 8192,
};
/** An endpoint's schema has the pack's one a little deeper. */
const OUTER_BOUNDS: SchemaBounds = { ...BOUNDS, maxLength: 2 * MAX_SCHEMA_BYTES, maxDepth: 28 };

/** A schema that values can be checked against, or what is wrong with it. */
type HandoffSchema =
  | { readonly compiled: CompiledSchema; readonly faults?: undefined }
  | { readonly compiled?: undefined; readonly faults: readonly SchemaFault[] };

/** Compiles a schema of a pack. */
export function compileHandoffSchema(schema: JsonSchema): HandoffSchema {
  return compileWithin(schema, BOUNDS);
}

/** Compiles the schema of an endpoint that has a pack's schema inside it. */
export function compileOuterSchema(schema: JsonSchema): HandoffSchema {
  return compileWithin(schema, OUTER_BOUNDS);
}

function compileWithin(schema: JsonSchema, bounds: SchemaBounds): HandoffSchema {
  const faults = checkSchema(schema, bounds);
  if (faults.length > 0) return { faults };
  return { compiled: meteredSchema(schema) };
}
