/**
 * Makes a schema self-contained: referenced schemas are inlined, or put under `$defs` if they are
 * recursive or would be repeated at length. A schema that exceeds the bounds of an endpoint is
 * described less deeply: omitted parts accept anything.   AGTP-API §6.4
 */
import { unescapeToken } from "../base/dotted-key.ts";
import { given, isRecord } from "../base/json-value.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { mapSubschemas } from "../schema/local-reference.ts";
import { OPERATOR_SCHEMA_BOUNDS, type SchemaBounds } from "../schema/schema-bounds.ts";
import { checkSchema } from "../schema/schema-check.ts";
import { KEYWORDS } from "../schema/schema-vocabulary.ts";
import { rewriteSchema } from "./export-schema.ts";
import { isPlainObject, mergeAllOf } from "./merge-all-of.ts";
import { isAnnotation } from "./schema-dialect.ts";
import { referencesIn } from "./schema-graph.ts";
import type { SchemaReader } from "./schema-reader.ts";
import { UniqueNames } from "./words.ts";

/** A schema without references to anything outside it. */
interface AssembledSchema {
  readonly schema: JsonSchema;
  /** True if it accepts more than its source, because parts are omitted. */
  readonly isCut: boolean;
}

/** The depth bound is lower, because in TOML each level of schemas takes two nested tables. */
const KEPT_BOUNDS: SchemaBounds = { ...OPERATOR_SCHEMA_BOUNDS, maxDepth: 26 };
/** Shorter than the kept bound, because agents read every schema of a manifest. */
const BOUNDS: SchemaBounds = { ...KEPT_BOUNDS, maxLength: 32_768 };
/** If the whole schema is no longer than this with everything inlined, everything is inlined. */
const MAX_INLINED = 16_384;
/** In a longer schema, referenced schemas up to this length are inlined. */
const MAX_INLINED_PART = 400;
const DISTANCES = [Number.POSITIVE_INFINITY, 8, 5, 3, 2, 1, 0, -1];
const DEPTHS = [16, 10, 6, 4, 3, 2, 1];

/** Assembles a schema that `reader` has read. */
export function assembleSchema(root: JsonSchema, reader: SchemaReader): AssembledSchema {
  const kept = reader.isDerived ? keepSchema(root, reader) : undefined;
  if (kept !== undefined) return { schema: kept, isCut: false };
  const distances = reader.graph.distancesFrom(root);
  let schema = root;
  for (const distance of DISTANCES) {
    const needed = [...distances].filter(([, far]) => far <= distance);
    const size = needed.reduce((sum, [reference]) => sum + reader.graph.ownSize(reference), 0);
    // A lower bound for the assembled length: inlined parts are written at least once.
    if (needed.length > BOUNDS.maxReferences || size > BOUNDS.maxLength) continue;
    schema = attempt(root, { reader, distances, distance });
    const isWhole = needed.length === distances.size;
    if (!isWhole) schema = acceptMore(schema);
    if (fits(schema)) return { schema, isCut: !isWhole };
  }
  for (const depth of DEPTHS) {
    const cut = acceptMore(prune(schema, depth));
    if (fits(cut)) return { schema: cut, isCut: true };
  }
  return { schema: isRecord(root["properties"]) ? { type: "object" } : {}, isCut: true };
}

function fits(schema: JsonSchema): boolean {
  return checkSchema(schema, BOUNDS).length === 0;
}

/** The context of one attempt, which follows references up to a distance. */
interface Attempt {
  readonly reader: SchemaReader;
  readonly distances: ReadonlyMap<string, number>;
  readonly distance: number;
}

function attempt(root: JsonSchema, { reader, distances, distance }: Attempt): JsonSchema {
  const { graph } = reader;
  const names = new DefinitionNames();
  const length = referencesIn(root)
    .map((reference) => graph.sizeOf(reference))
    .filter(Number.isFinite)
    .reduce((sum, part) => sum + part, JSON.stringify(root).length);
  const limit = length <= MAX_INLINED ? MAX_INLINED : MAX_INLINED_PART;
  const write = (source: JsonSchema): JsonSchema => {
    const { $ref, ...siblings } = source;
    const members = Object.entries(siblings).map(([keyword, value]) => [
      keyword,
      mapSubschemas(keyword, value, write),
    ]);
    const rest = Object.fromEntries(members);
    return typeof $ref === "string" ? writeReference($ref, rest) : mergeAllOf(rest);
  };
  const writeReference = (reference: string, siblings: JsonSchema): JsonSchema => {
    const far = distances.get(reference) ?? Number.POSITIVE_INFINITY;
    if (far > distance) {
      const { type, description } = reader.definition(reference);
      return { ...given({ type, description }), ...annotationsOf(siblings) };
    }
    if (graph.sizeOf(reference) <= limit) {
      return combine(write(reader.definition(reference)), siblings);
    }
    return { $ref: `#/$defs/${names.of(reference)}`, ...siblings };
  };
  const schema = write(root);
  const written: [string, JsonSchema][] = [];
  // Writing a definition may append further ones to `names.all`.
  for (const [reference, name] of names.all) {
    written.push([name, write(reader.definition(reference))]);
  }
  return written.length === 0 ? schema : { ...schema, $defs: Object.fromEntries(written) };
}

function annotationsOf(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => isAnnotation(keyword)));
}

/** Combines a schema with the keywords beside its reference. */
function combine(schema: JsonSchema, siblings: JsonSchema): JsonSchema {
  const keywords = Object.keys(siblings);
  if (keywords.every(isAnnotation)) return { ...schema, ...siblings };
  if (isPlainObject(schema) && isPlainObject(siblings)) {
    return mergeAllOf({ allOf: [schema, siblings] });
  }
  return { allOf: [schema, siblings] };
}

/** Keywords that refuse more if the schemas they apply to are described less. */
const REFUSING: ReadonlySet<string> = new Set([
  ...["not", "if", "then", "else", "maxContains", "unevaluatedProperties", "unevaluatedItems"],
]);

/**
 * Removes whatever would refuse a value because parts are omitted: branches that can no longer be
 * told apart may all match.
 */
function acceptMore(schema: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).filter(([keyword]) => !REFUSING.has(keyword));
  const isEither = schema["anyOf"] !== undefined;
  return Object.fromEntries(
    kept.flatMap(([keyword, value]) => {
      if (keyword === "oneOf" && isEither) return [];
      const name = keyword === "oneOf" ? "anyOf" : keyword;
      return [[name, mapSubschemas(keyword, value, acceptMore)]];
    }),
  );
}

/** Cuts a schema at a depth, below which anything is accepted; it contains no references any more. */
function prune(schema: JsonSchema, depth: number): JsonSchema {
  const members = Object.entries(schema)
    .filter(([keyword]) => keyword !== "$defs" && keyword !== "$ref")
    .map(([keyword, value]) => [keyword, pruneValue(keyword, value, depth)] as const);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

function pruneValue(keyword: string, value: unknown, depth: number): unknown {
  const isSchemaList = KEYWORDS.get(keyword) === "schema list" && Array.isArray(value);
  if (depth < 1 && isSchemaList && value.some(isRecord)) return undefined;
  return mapSubschemas(keyword, value, (schema) => (depth < 1 ? {} : prune(schema, depth - 1)));
}

/**
 * Restores the schema of an exported endpoint: referenced schemas return under `$defs` with their
 * names, and nothing is inlined, merged or omitted. So importing an export yields the same
 * endpoints, however long their schemas.   AGTP-API §6.4, §14.2
 */
function keepSchema(root: JsonSchema, reader: SchemaReader): JsonSchema | undefined {
  const names = new DefinitionNames();
  const locate = (reference: string): string => `#/$defs/${names.of(reference)}`;
  const schema = rewriteSchema(root, locate);
  const written: [string, JsonSchema][] = [];
  // Rewriting a definition may append further ones to `names.all`.
  for (const [reference, name] of names.all) {
    if (written.length >= KEPT_BOUNDS.maxReferences) return undefined;
    written.push([name, rewriteSchema(reader.definition(reference), locate)]);
  }
  const kept = written.length === 0 ? schema : { ...schema, $defs: Object.fromEntries(written) };
  return checkSchema(kept, KEPT_BOUNDS).length === 0 ? kept : undefined;
}

/** Names under `$defs` by reference, derived from the last part of the reference. */
class DefinitionNames {
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
