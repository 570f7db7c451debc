/**
 * The store that forgets at the end: `driver = "memory"`, and tests. Values are kept as JSON, so
 * that a caller never shares one with the store, nor finds in it what JSON cannot say.
 */
import { type EncodedChange, encodeChange } from "./encoded-change.ts";
import { checkName } from "./entry-limits.ts";
import { compareKeys, compileRange } from "./key-range.ts";
import type { Change, ListRange, Store, StoredEntry } from "./store.ts";

interface Collection {
  /** Key -> JSON. */
  readonly values: Map<string, string>;
  /** The same keys, in order. */
  readonly keys: string[];
}

/** A store in memory. */
export function createMemoryStore(): Store {
  return new MemoryStore();
}

class MemoryStore implements Store {
  readonly #collections = new Map<string, Collection>();
  #isClosed = false;

  async get(collection: string, key: string): Promise<unknown> {
    this.#checkOpen();
    checkName("collection", collection);
    checkName("key", key);
    const json = this.#collections.get(collection)?.values.get(key);
    return json === undefined ? undefined : JSON.parse(json);
  }

  async list(collection: string, range?: ListRange): Promise<readonly StoredEntry[]> {
    this.#checkOpen();
    checkName("collection", collection);
    const { from, below, limit, isReversed } = compileRange(range);
    const { keys, values } = this.#collections.get(collection) ?? emptyCollection();
    const start = positionOf(keys, from);
    const end = below === undefined ? keys.length : positionOf(keys, below);
    const covered = isReversed
      ? keys.slice(Math.max(start, end - limit), Math.max(start, end)).reverse()
      : keys.slice(start, Math.min(end, start + limit));
    return covered.map((key) => ({ key, value: JSON.parse(values.get(key) ?? "null") }));
  }

  async commit(changes: readonly Change[]): Promise<void> {
    this.#checkOpen();
    const encoded = changes.map(encodeChange);
    for (const change of encoded) this.#apply(change);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#collections.clear();
  }

  #apply({ collection: name, key, json }: EncodedChange): void {
    const collection = this.#collections.get(name) ?? emptyCollection();
    this.#collections.set(name, collection);
    const { values, keys } = collection;
    if (json === undefined) {
      if (values.delete(key)) keys.splice(positionOf(keys, key), 1);
      return;
    }
    if (!values.has(key)) keys.splice(positionOf(keys, key), 0, key);
    values.set(key, json);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Error("the store is closed");
  }
}

function emptyCollection(): Collection {
  return { values: new Map(), keys: [] };
}

/** Where a key is, or would be. */
function positionOf(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keys[middle] ?? "", key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
