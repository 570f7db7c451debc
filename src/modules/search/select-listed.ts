/** The entries that meet all conditions whose values an index has listed. */
import type { Paced } from "../../base/paced.ts";
import type { ListedCondition } from "./filter.ts";
import type { SearchIndex } from "./search-index.ts";

/** Counts, for each entry, the conditions that it meets, one after the other. */
export function* selectListed(
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
