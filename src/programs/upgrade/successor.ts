/**
 * Finds the method to use instead of one that a catalog no longer has: the successor that was
 * announced, or its successor where that is gone as well.   AGTP-API §4.2
 */
import type { Catalog } from "../../catalog/catalog.ts";

/** The first announced successor that the newer catalog has; undefined when none was named. */
export function successorOf(method: string, older: Catalog, newer: Catalog): string | undefined {
  const seen = new Set<string>();
  let name = method;
  while (!seen.has(name)) {
    seen.add(name);
    const next = (newer.verbs.get(name) ?? older.verbs.get(name))?.successor;
    if (next === undefined || newer.has(next)) return next === method ? undefined : next;
    name = next;
  }
  return undefined;
}
