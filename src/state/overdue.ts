/**
 * The look for what of a collection nobody needs any more: a few keys with each item that is added, or
 * all of them in steps. What it finds is for others to delete.
 */
import type { Paced } from "../base/paced.ts";

/** How long after one look the next item that is added begins another. */
const EVERY_MS = 60_000;
/** Each that is added looks at so many: 100,000 at once held the loop for 100 ms. */
const AT_ONCE = 256;

/** Whose items they are, and which of them are over. */
interface Looked<Item> {
  readonly held: ReadonlyMap<string, { readonly item: Item }>;
  isForgotten(item: Item, key: string): boolean;
  now(): number;
}

export class Overdue<Item> {
  readonly #looked: Looked<Item>;
  #begunAt = Number.NEGATIVE_INFINITY;
  /** How far a look has come; undefined: it has come to the end. */
  #left: Iterator<readonly [string, { readonly item: Item }], undefined> | undefined;

  constructor(looked: Looked<Item>) {
    this.#looked = looked;
  }

  has(key: string): boolean {
    const held = this.#looked.held.get(key);
    return held !== undefined && this.#looked.isForgotten(held.item, key);
  }

  /** The keys of a look that is due, or under way, as far as this part of it finds any. */
  some(): readonly string[] {
    const now = this.#looked.now();
    if (this.#left === undefined) {
      // By its size: a clock that stepped back does not put the look off.
      if (Math.abs(now - this.#begunAt) < EVERY_MS) return [];
      this.#begunAt = now;
      this.#left = this.#looked.held.entries();
    }
    const some: string[] = [];
    for (let count = 0; count < AT_ONCE; count += 1) {
      const { value } = this.#left.next();
      if (value === undefined) {
        this.#left = undefined;
        break;
      }
      const [key, { item }] = value;
      if (this.#looked.isForgotten(item, key)) some.push(key);
    }
    return some;
  }

  /** Every such key, and those of items that are due for something. */
  *all(isDue: (item: Item) => boolean): Paced<readonly string[]> {
    this.#begunAt = this.#looked.now();
    const all: string[] = [];
    for (const [key, { item }] of this.#looked.held) {
      if (this.#looked.isForgotten(item, key) || isDue(item)) all.push(key);
      yield;
    }
    return all;
  }
}
