/**
 * Schemas of endpoints in an OpenAPI document. References in them are to their own root, which in a
 * document is somewhere else: such a schema becomes a component as a whole, and the references lead
 * there.   AGTP-API §14.2
 */
import type { JsonSchema } from "../contract/endpoint.ts";
import { resolveLocalReference } from "../contract/local-reference.ts";
import { isRecord } from "../json-value.ts";
import { escapeToken } from "./reference.ts";
import { DATA, MAPS, referencesIn } from "./schema-graph.ts";

/** The components that an export gathers. */
export class SchemaComponents {
  readonly #schemas = new Map<string, JsonSchema>();

  get schemas(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(this.#schemas);
  }

  /** What rewrites the schemas inside a root, which becomes a component if it refers to itself. */
  adopt(root: JsonSchema, name: string): (schema: JsonSchema) => JsonSchema {
    const { $schema: _dialect, $id: _id, ...nameless } = root;
    if (referencesIn(nameless).length === 0) return (schema) => strip(schema);
    const rewrite = (schema: JsonSchema): JsonSchema => rewriteSchema(schema, nameless, name);
    this.#schemas.set(name, rewrite(nameless));
    return (schema) => strip(rewrite(schema));
  }
}

/** A schema without what only its root may have. */
function strip({ $schema: _dialect, $id: _id, $defs: _defs, ...rest }: JsonSchema): JsonSchema {
  return rest;
}

function rewriteSchema(schema: JsonSchema, root: JsonSchema, name: string): JsonSchema {
  const members = Object.entries(schema)
    // Names of places are of one document each, and the references to them are gone.
    .filter(([keyword]) => keyword !== "$anchor")
    .map(([keyword, value]) => [keyword, rewriteValue(keyword, value, root, name)]);
  return Object.fromEntries(members);
}

function rewriteValue(keyword: string, value: unknown, root: JsonSchema, name: string): unknown {
  if (DATA.has(keyword)) return value;
  if (keyword === "$ref" && typeof value === "string") {
    return `#/components/schemas/${name}${pointerOf(value, root)}`;
  }
  const inner = (member: unknown): unknown =>
    isRecord(member) ? rewriteSchema(member, root, name) : member;
  if (Array.isArray(value)) return value.map(inner);
  if (!isRecord(value) || keyword === "dependentRequired") return value;
  if (!MAPS.has(keyword) && keyword !== "definitions") return inner(value);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inner(member)]));
}

/** The pointer that a local reference is, or that its anchor stands for. */
function pointerOf(reference: string, root: JsonSchema): string {
  const fragment = reference.slice(1);
  if (fragment === "" || fragment.startsWith("/")) return fragment;
  const target = resolveLocalReference(reference, root);
  const definitions = isRecord(root["$defs"]) ? Object.entries(root["$defs"]) : [];
  const [key = ""] = definitions.find(([, schema]) => schema === target) ?? [];
  return `/$defs/${encodeURIComponent(escapeToken(key))}`;
}
