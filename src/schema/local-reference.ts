/**
 * Follows a local `$ref`, in a schema as it is written. For readers that look at a schema without
 * judging values by it; that every reference leads somewhere has been checked before.
 */
import { unescapeToken } from "../base/dotted-key.ts";
import { isRecord } from "../base/json-value.ts";
import type { JsonSchema } from "./json-schema.ts";
import { KEYWORDS } from "./schema-vocabulary.ts";

/** The target of a local reference; anchors are in `$defs` only. Undefined: there is none. */
export function resolveLocalReference(reference: string, root: JsonSchema): unknown {
  const fragment = decodeFragment(reference.slice(1));
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

/** Undefined: it is not percent-encoded as it should be. */
export function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function findAnchor(name: string, root: JsonSchema): unknown {
  const definitions = root["$defs"];
  if (!isRecord(definitions)) return undefined;
  return Object.values(definitions).find(
    (schema) => isRecord(schema) && schema["$anchor"] === name,
  );
}

/** The value of a keyword with its schemas replaced; a value that holds none is left as it is. */
export function mapSubschemas(
  keyword: string,
  value: unknown,
  map: (schema: unknown) => unknown,
): unknown {
  switch (KEYWORDS.get(keyword)) {
    case "schema":
      return map(value);
    case "schema list":
      return Array.isArray(value) ? value.map(map) : value;
    case "schema map":
    case "schema map by pattern":
      if (!isRecord(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, map(one)]));
    default:
      return value;
  }
}
