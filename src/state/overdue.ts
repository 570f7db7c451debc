/**
 * Finds the expired items of a collection, incrementally with each added item, or completely in steps. Deleting them
 * is up to the caller.
 */
import type { Paced } from "../base/paced.ts";

/** The shortest time between the beginnings of two incremental scans. */
const EVERY_MS = 60_000;
/** Items scanned per added item: 100,000 at once held the event loop for 100 ms. */
const AT_ONCE = 256;

/** The items to scan, and their expiry. */
interface Looked<Item> {
  readonly held: ReadonlyMap<string, { readonly item: Item }>;
  isForgotten(item: Item, key: string): boolean;
  now(): number;
}

export class Overdue<Item> {
  readonly #looked: Looked<Item>;
  #begunAt = Number.NEGATIVE_INFINITY;
  /** The rest of the current scan; undefined if none is in progress. */
  #left: Iterator<readonly [string, { readonly item: Item }], undefined> | undefined;

  constructor(looked: Looked<Item>) {
    this.#looked = looked;
  }

  has(key: string): boolean {
    const held = this.#looked.held.get(key);
    return held !== undefined && this.#looked.isForgotten(held.item, key);
  }

  /** Returns the expired keys of the next part of a scan, starting one if it is due. */
  some(): readonly string[] {
    const now = this.#looked.now();
    if (this.#left === undefined) {
      // By absolute difference, so that a clock set back does not delay the scan.
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

  /** Returns every expired key, and the keys of items for which `isDue` holds. */
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
