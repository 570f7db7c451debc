/**
 * Narrows a search: to the kinds of entries, live sources or namespaces of its scope, and to what
 * an index has listed under its conditions. A name that means nothing here is no fault, and is said
 * to mean nothing.   AGTP "QUERY" scope
 */

import type { Paced } from "../../base/paced.ts";
import type { QuerySource } from "../../dispatch/module/query-source.ts";
import type { SearchEntry } from "./entry.ts";
import type { ListedCondition } from "./filter.ts";
import type { SearchIndex } from "./search-index.ts";

/** The kinds that every server has. */
export const KINDS = ["endpoint", "agent", "recipe", "api"] as const;

/** A scope, read. */
export interface Scope {
  readonly unknown: readonly string[];
  /** Tells whether a kind or source is looked into at all. */
  includes(kind: string): boolean;
  /** Tells whether it was asked for by its own name. */
  names(kind: string): boolean;
  admits(entry: SearchEntry): boolean;
}

/** Reads the names of a scope; undefined is everything. */
export function readScope(
  named: readonly string[] | undefined,
  sources: readonly QuerySource[],
  namespaces: ReadonlySet<string>,
): Scope {
  if (named === undefined) {
    return { unknown: [], includes: () => true, names: () => false, admits: () => true };
  }
  const live = sources.map(({ name }) => name);
  const kinds = new Set<string>();
  const domains = new Set<string>();
  const unknown: string[] = [];
  for (const name of named) {
    const kind = [...KINDS, ...live].find((one) => isNameOf(one, name.toLowerCase()));
    if (kind !== undefined) kinds.add(kind);
    else if (namespaces.has(name)) domains.add(name);
    else unknown.push(name);
  }
  return {
    unknown,
    includes: (kind) => kinds.has(kind) || (kind === "endpoint" && domains.size > 0),
    names: (kind) => kinds.has(kind),
    admits: ({ kind, facets }) => kinds.has(kind) || domains.has(facets.namespace ?? ""),
  };
}

/** One or many: "agent" and "agents" are the same place. */
function isNameOf(kind: string, name: string): boolean {
  return name === kind || name === `${kind}s` || kind === `${name}s`;
}

/**
 * Selects the entries that meet all conditions whose values an index has listed: it counts for each
 * the conditions that it meets, one after the other.
 */
export function* selectingListed(
  { entries, facets }: SearchIndex,
  conditions: readonly ListedCondition[],
): Paced<(number: number) => boolean> {
  if (conditions.length === 0) return () => true;
  const met = new Uint8Array(entries.length);
  for (const [place, { facet, values }] of conditions.entries()) {
    for (const value of new Set(values.map((one) => one.toLowerCase()))) {
      for (const number of facets.having(facet, value)) {
        if (met[number] === place) met[number] = place + 1;
      }
      yield;
    }
  }
  return (number) => met[number] === conditions.length;
}
