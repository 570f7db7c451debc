/**
 * Resolves local `$ref`s in a schema as written, and rewrites them. For readers that inspect a
 * schema without checking values; every reference was checked to have a target.
 */
import { unescapeToken } from "../base/dotted-key.ts";
import { isRecord } from "../base/json-value.ts";
import { decodePart } from "../base/percent-encoding.ts";
import type { JsonSchema } from "./json-schema.ts";
import { HARMLESS_FOREIGN, KEYWORDS } from "./schema-vocabulary.ts";

/** Returns the target of a local reference, undefined if there is none; anchors are in `$defs` only. */
export function resolveLocalReference(reference: string, root: JsonSchema): unknown {
  const fragment = decodePart(reference.slice(1));
  if (fragment === undefined) return undefined;
  if (fragment !== "" && !fragment.startsWith("/")) return findAnchor(fragment, root);
  let target: unknown = root;
  for (const token of fragment.split("/").slice(1)) {
    if (typeof target !== "object" || target === null) return undefined;
    const name = unescapeToken(token);
    target = Object.hasOwn(target, name) ? Reflect.get(target, name) : undefined;
  }
  return target;
}

function findAnchor(name: string, root: JsonSchema): unknown {
  const definitions = root["$defs"];
  if (!isRecord(definitions)) return undefined;
  return Object.values(definitions).find(
    (schema) => isRecord(schema) && schema["$anchor"] === name,
  );
}

/**
 * Maps the schemas in a keyword's value, even of an unknown keyword. A value without schemas is
 * unchanged, and so are true and false.
 */
export function mapSubschemas(
  keyword: string,
  value: unknown,
  map: (schema: JsonSchema) => unknown,
): unknown {
  const member = (one: unknown): unknown => (isRecord(one) ? map(one) : one);
  switch (HARMLESS_FOREIGN.has(keyword) ? "any" : (KEYWORDS.get(keyword) ?? "schema")) {
    case "schema":
    case "schema list":
      return Array.isArray(value) ? value.map(member) : member(value);
    case "schema map":
    case "schema map by pattern":
      if (!isRecord(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, member(one)]));
    default:
      return value;
  }
}

/**
 * Moves a schema to another place: its references are rewritten by `locate`, and the `leftOut`
 * keywords are removed from all its schemas. Properties with a keyword's name are kept.
 */
export function relocateSchema(
  schema: JsonSchema,
  locate: (reference: string) => string,
  leftOut: ReadonlySet<string>,
): JsonSchema {
  const write = (one: JsonSchema): JsonSchema => {
    const kept = Object.entries(one).filter(([keyword]) => !leftOut.has(keyword));
    const members = kept.map(([keyword, value]) => {
      const isReference = keyword === "$ref" && typeof value === "string";
      return [keyword, isReference ? locate(value) : mapSubschemas(keyword, value, write)];
    });
    return Object.fromEntries(members);
  };
  return write(schema);
}
