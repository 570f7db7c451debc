/**
 * Which entries have a value, by the facet that has it: a filter that names values costs what has
 * them, and not what has not.
 */
import { SpreadMap } from "../../base/spread-map.ts";
import type { SearchEntry } from "./entry.ts";
import { LISTED_FACETS } from "./listed-facets.ts";

/** Entries by facet and value; letter case does not count. */
export class FacetIndex {
  readonly #entries = new SpreadMap<number[]>();

  add(entry: SearchEntry, number: number): void {
    for (const [facet, valuesOf] of LISTED_FACETS) {
      for (const value of valuesOf(entry)) {
        if (value !== undefined) this.#put(keyOf(facet, value), number);
      }
    }
  }

  #put(key: string, number: number): void {
    const numbers = this.#entries.get(key);
    if (numbers === undefined) this.#entries.set(key, [number]);
    else if (numbers.at(-1) !== number) numbers.push(number);
  }

  /** The numbers of the entries that have the value, in their order. */
  having(facet: string, value: string): readonly number[] {
    return this.#entries.get(keyOf(facet, value)) ?? [];
  }
}

function keyOf(facet: string, value: string): string {
  return `${facet} ${value.toLowerCase()}`;
}
