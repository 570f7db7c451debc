/**
 * The volatile store: `driver = "memory"`, and tests. Values are kept as JSON, so that callers never share objects
 * with the store, and non-JSON values are not returned.
 */
import { firstIndex } from "../base/first-index.ts";
import { ChangeLog } from "./change-log.ts";
import { checkName, type EncodedChange, encodeChange } from "./entry-limits.ts";
import { compareKeys, compileRange } from "./key-range.ts";
import type {
  Change,
  CommitOutcome,
  Expectation,
  Feed,
  ListRange,
  Store,
  StoredEntry,
} from "./store.ts";

interface KeptValue {
  readonly json: string;
  readonly revision: number;
}

interface Collection {
  readonly values: Map<string, KeptValue>;
  /** Sorted keys. */
  readonly keys: string[];
}

/** Creates a store in memory. */
export function createMemoryStore(): Store {
  return new MemoryStore();
}

class MemoryStore implements Store {
  readonly #collections = new Map<string, Collection>();
  readonly #log = new ChangeLog(1);
  #isClosed = false;

  async get(collection: string, key: string): Promise<unknown> {
    this.#checkOpen();
    checkName("collection", collection);
    checkName("key", key);
    return this.#read(collection, key)?.value;
  }

  async list(collection: string, range?: ListRange): Promise<readonly StoredEntry[]> {
    this.#checkOpen();
    checkName("collection", collection);
    const { from, below, limit, isReversed } = compileRange(range);
    const { keys } = this.#collections.get(collection) ?? emptyCollection();
    const start = positionOf(keys, from);
    const end = below === undefined ? keys.length : positionOf(keys, below);
    const covered = isReversed
      ? keys.slice(Math.max(start, end - limit), Math.max(start, end)).reverse()
      : keys.slice(start, Math.min(end, start + limit));
    return covered.flatMap((key) => this.#read(collection, key) ?? []);
  }

  async commit(
    changes: readonly Change[],
    expectations: readonly Expectation[] = [],
  ): Promise<CommitOutcome> {
    this.#checkOpen();
    const encoded = changes.map(encodeChange);
    const failed = expectations.filter(({ collection, key, revision }) => {
      return revision !== (this.#collections.get(collection)?.values.get(key)?.revision ?? 0);
    });
    if (failed.length > 0) return { kind: "conflict", failed };
    if (encoded.length === 0) return { kind: "committed", revision: this.#log.revision };
    const revision = this.#log.revision + 1;
    for (const change of encoded) this.#apply(change, revision);
    this.#log.add(revision, encoded);
    return { kind: "committed", revision };
  }

  async changes(after: number, only?: string): Promise<Feed> {
    this.#checkOpen();
    return this.#log.feed(after, only, (collection, key) => this.#read(collection, key));
  }

  async collections(): Promise<readonly string[]> {
    this.#checkOpen();
    const used = [...this.#collections].filter(([, { keys }]) => keys.length > 0);
    return used.map(([name]) => name).toSorted(compareKeys);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#collections.clear();
  }

  #read(collection: string, key: string): StoredEntry | undefined {
    const kept = this.#collections.get(collection)?.values.get(key);
    return kept && { key, value: JSON.parse(kept.json), revision: kept.revision };
  }

  #apply({ collection: name, key, json }: EncodedChange, revision: number): void {
    const collection = this.#collections.get(name) ?? emptyCollection();
    this.#collections.set(name, collection);
    const { values, keys } = collection;
    if (json === undefined) {
      if (values.delete(key)) keys.splice(positionOf(keys, key), 1);
      return;
    }
    if (!values.has(key)) keys.splice(positionOf(keys, key), 0, key);
    values.set(key, { json, revision });
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Error("the store is closed");
  }
}

function emptyCollection(): Collection {
  return { values: new Map(), keys: [] };
}

/** Returns the position of a key, or its insertion point. */
function positionOf(keys: readonly string[], key: string): number {
  return firstIndex(keys.length, (index) => compareKeys(keys[index] ?? "", key) >= 0);
}
