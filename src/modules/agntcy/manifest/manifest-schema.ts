/**
 * The schemas in a manifest: JSON Schema 2020-12 as OpenAPI 3.1 has it, written by whoever wrote the
 * agent. They are checked like those of strangers, with patterns that match in linear time, and
 * judge values with a meter running; keywords that say nothing about values are passed over.
 * Agent Manifest "Agent Interface Data Structure Specification"
 */

import type { DocumentPlace } from "../../../base/document-place.ts";
import { describeValue, isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { type MeteredCheck, prepareMeteredCheck } from "../../../schema/metered-schema.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import { PROPOSED_SCHEMA_BOUNDS, type SchemaBounds } from "../../../schema/schema-bounds.ts";
import { checkSchema } from "../../../schema/schema-check.ts";

/** Agents describe whole conversations: more than a proposal may, by the same rules. */
const MANIFEST_SCHEMA_BOUNDS: SchemaBounds = {
  ...PROPOSED_SCHEMA_BOUNDS,
  maxLength: 262_144,
  maxDepth: 24,
  maxSchemas: 8192,
  maxProperties: 2048,
  maxPatterns: 64,
  maxValues: 8192,
  maxPatternSize: 4096,
  takesForeignFormats: true,
};

/** A schema that has to be there. */
export function readSchema(owner: DocumentPlace, name: string): CompiledSchema | undefined {
  const place = owner.at(name);
  const { value } = place;
  if (typeof value === "boolean") return compileManifestSchema(value ? {} : { not: {} });
  if (!isRecord(value)) return place.fail(`${describeValue(value)}, expected a JSON Schema`);
  const faults = checkSchema(withoutNulls(value), MANIFEST_SCHEMA_BOUNDS);
  for (const { pointer, message, hint } of faults) place.failBelow(pointer, message, hint);
  return faults.length > 0 ? undefined : compileManifestSchema(withoutNulls(value));
}

/** A schema that may be absent. */
export function readOptionalSchema(owner: DocumentPlace, name: string): CompiledSchema | undefined {
  return owner.has(name) ? readSchema(owner, name) : undefined;
}

/** Prepared at the first value: most agents of a deployment are idle. */
function compileManifestSchema(schema: JsonRecord): CompiledSchema {
  let check: MeteredCheck | undefined;
  return {
    schema,
    check(value) {
      check ??= prepareMeteredCheck(schema);
      return check(value);
    },
  };
}

/** Generated manifests write null for a keyword that is not set; only these two may be null. */
function withoutNulls(schema: JsonRecord): JsonRecord {
  const members = Object.entries(schema).filter(
    ([name, value]) => value !== null || name === "default" || name === "const",
  );
  return Object.fromEntries(members);
}
