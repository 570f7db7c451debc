/** Seeded random numbers: the same seed produces the same plan. */

/** Generates numbers from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** The Mulberry32 generator. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Picks one of the items. */
export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

/** A random integer between two bounds. */
export function between(random: Random, least: number, most: number): number {
  return Math.round(least + random() * (most - least));
}
