/**
 * The schema of an endpoint that was exported, as it was: what it refers to goes back under `$defs`,
 * under the name that it had, and nothing is written out, merged or left out. Whoever imports an
 * export gets the same endpoints, however long their schemas are.   AGTP-API §6.4, §14.2
 */

import { unescapeToken } from "../base/dotted-key.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { OPERATOR_SCHEMA_BOUNDS, type SchemaBounds } from "../schema/schema-bounds.ts";
import { checkSchema } from "../schema/schema-check.ts";
import { rewriteSchema } from "./export-schema.ts";
import type { SchemaReader } from "./schema-reader.ts";
import { UniqueNames } from "./words.ts";

/** TOML nests two tables for each schema in a schema. */
export const MAX_WRITTEN_DEPTH = 26;

const BOUNDS: SchemaBounds = { ...OPERATOR_SCHEMA_BOUNDS, maxDepth: MAX_WRITTEN_DEPTH };

/** The whole schema; undefined when it is more than an endpoint can have. */
export function keepSchema(root: JsonSchema, reader: SchemaReader): JsonSchema | undefined {
  const names = new DefinitionNames();
  const locate = (reference: string): string => `#/$defs/${names.of(reference)}`;
  const schema = rewriteSchema(root, locate);
  const written: [string, JsonSchema][] = [];
  // One definition may bring others, which come behind it.
  for (const [reference, name] of names.all) {
    if (written.length >= BOUNDS.maxReferences) return undefined;
    written.push([name, rewriteSchema(reader.definition(reference), locate)]);
  }
  const kept = written.length === 0 ? schema : { ...schema, $defs: Object.fromEntries(written) };
  return checkSchema(kept, BOUNDS).length === 0 ? kept : undefined;
}

/** Names under `$defs` by reference, each after the last part of its reference. */
export class DefinitionNames {
  readonly #unique = new UniqueNames("_");
  readonly #names = new Map<string, string>();

  get all(): ReadonlyMap<string, string> {
    return this.#names;
  }

  of(reference: string): string {
    const known = this.#names.get(reference);
    if (known !== undefined) return known;
    const last = unescapeToken(reference.slice(reference.lastIndexOf("/") + 1));
    const name = this.#unique.take(last.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64) || "schema");
    this.#names.set(reference, name);
    return name;
  }
}
