/**
 * Follows a local `$ref`, in a schema as it is written. For readers that look at a schema without
 * judging values by it; that every reference leads somewhere has been checked before.
 */
import { unescapeToken } from "../base/json-pointer.ts";
import { isRecord } from "../base/json-value.ts";
import type { JsonSchema } from "./json-schema.ts";

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
