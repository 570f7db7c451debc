/**
 * A collection of the store for lookups by gates: reads are synchronous and local; writes are committed first,
 * conditional on the entries that they were decided from. After a conflict the store's feed is read and the write is
 * decided anew. Owner index, quota, expiry, sweep and rollback of failed writes are implemented here, once.
 */
import { hash } from "node:crypto";
import { atOnce, inSlices } from "../base/paced.ts";
import { KeyedTurns } from "../base/turns.ts";
import { CollectionFeed } from "./collection-feed.ts";
import type { CollectionOptions } from "./collection-options.ts";
import { CollectionView, type Write } from "./collection-view.ts";
import {
  type Adding,
  type AddOptions,
  AlsoTakenError,
  type ChangeOptions,
  type Changing,
  type Draft,
  type DraftOptions,
  type WriteOptions,
} from "./collection-write.ts";
import type { Change, Store } from "./store.ts";

/** A writer that loses this often has met a fault rather than a race. */
const ATTEMPTS = 100;
/** The most items that one commit of a sweep changes. */
const SWEPT_TOGETHER = 1_000;

/** The options of a write, with the guards that serialize it against others. */
interface GuardedOptions extends WriteOptions {
  readonly guards?: readonly string[];
}

interface Written {
  /** Undefined if there was nothing to write. */
  readonly revision?: number;
}

export class Collection<Item> extends CollectionView<Item> {
  readonly #store: Store;
  readonly #name: string;
  /** By key: serializes the writes of this process. */
  readonly #turns = new KeyedTurns();
  readonly #feed: CollectionFeed;

  private constructor(store: Store, options: CollectionOptions<Item>) {
    super(options);
    this.#store = store;
    this.#name = options.name;
    this.#feed = new CollectionFeed(store, options.name, {
      ask: () => this.ask(),
      caughtUp: () => this.caughtUp(),
      forgetRevisions: () => this.forgetRevisions(),
      adopt: (...told) => this.adopt(...told),
      adoptAll: (...told) => this.adoptAll(...told),
    });
  }

  /** Opens a collection, and deletes expired items. */
  static async open<Item>(
    store: Store,
    options: CollectionOptions<Item>,
  ): Promise<Collection<Item>> {
    const collection = new Collection(store, options);
    store.watch?.(options.name, collection.#feed);
    await collection.refresh();
    await collection.sweep();
    return collection;
  }

  /** Adds an item if its key is free and the quota allows it. */
  add(key: string, item: Item, options: AddOptions<Item> = {}): Promise<Adding<Item>> {
    const guards = this.#guardsOf(key, item, options);
    const turns = options.turn === undefined ? [key, ...guards] : guards;
    return this.#inTurns(turns, async () => {
      const taken = this.get(key) ?? options.unless?.();
      if (taken !== undefined) return { kind: "taken", item: taken };
      const making = options.hasRoom?.() === false ? undefined : this.#makeRoom(key, item);
      if (making === undefined) return { kind: "full" };
      const { surplus: gone } = making;
      const writes = [...making.writes, ...alterations(options, gone)];
      const release = this.reserve(writes);
      try {
        const isDone = await this.#write(writes, { ...options, guards });
        return isDone ? { kind: "added", item: this.get(key) ?? item, gone } : undefined;
      } finally {
        release();
      }
    });
  }

  /** Changes an item; `decide` returns the new item, or undefined to leave it. */
  change(
    key: string,
    decide: (item: Item) => Item | undefined,
    options: ChangeOptions = {},
  ): Promise<Changing<Item>> {
    return this.#inTurn(key, async () => {
      const before = this.get(key);
      const next = before === undefined ? undefined : decide(before);
      if (next === undefined) return { item: before, isChanged: false };
      const room = options.makesRoom === true ? this.roomToGrow(key, next) : [];
      const writes = [...room, { key, item: next }];
      const release = options.makesRoom === true ? this.reserve(writes) : undefined;
      try {
        const isDone = await this.#write(writes, options);
        return isDone ? { item: this.get(key) ?? next, isChanged: true } : undefined;
      } finally {
        release?.();
      }
    });
  }

  /** Stores an item under a key, replacing any other. */
  async put(key: string, item: Item): Promise<void> {
    await this.#inTurn(key, () => this.#write([{ key, item }], {}));
  }

  /** Stores several items in one commit, replacing any others; `decide` is called for each attempt. */
  async putAll(decide: () => ReadonlyMap<string, Item>, options: WriteOptions = {}): Promise<void> {
    await this.#attempt(() => {
      const writes = [...decide()].map(([key, item]) => ({ key, item }));
      return this.#write(writes, options);
    });
  }

  /** Deletes and returns an item if `isMeant`; only one of several concurrent callers gets it. */
  async take(key: string, isMeant: (item: Item) => boolean): Promise<Item | undefined> {
    const { item } = await this.#inTurn(key, async () => {
      const before = this.get(key);
      if (before === undefined || !isMeant(before)) return { item: undefined };
      return (await this.#write([{ key, item: undefined }], {})) ? { item: before } : undefined;
    });
    return item;
  }

  /** Deletes items; missing keys are ignored. */
  async delete(keys: readonly string[]): Promise<void> {
    await this.#delete(keys, {});
  }

  /** Deletes items, here at once, and resolves once no node serves them any more; returns the keys that existed. */
  async deleteEverywhere(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const { revision, known } = await this.#delete(keys, { isEarly: true });
    if (revision !== undefined) await this.#store.everywhere?.(revision);
    return known;
  }

  /** Deletes expired items everywhere, before the rules of expiry change. */
  async deleteOverdue(): Promise<void> {
    await this.deleteEverywhere(atOnce(this.overdue.all(() => false)));
  }

  #delete(
    keys: readonly string[],
    options: WriteOptions,
  ): Promise<Written & { readonly known: ReadonlySet<string> }> {
    const writes = keys.map((key) => ({ key, item: undefined }));
    return this.#attempt(async () => {
      const known = new Set(keys.filter((key) => this.get(key) !== undefined));
      const written = await this.#write(writes, options);
      return written && { ...written, known };
    });
  }

  /** Deletes expired items, and changes those for which `mature` returns an item; returns the latter. */
  async sweep(mature?: (item: Item) => Item | undefined): Promise<readonly Item[]> {
    const due = await inSlices(this.overdue.all((item) => mature?.(item) !== undefined));
    const matured: Item[] = [];
    for (let from = 0; from < due.length; from += SWEPT_TOGETHER) {
      matured.push(...(await this.#sweepAway(due.slice(from, from + SWEPT_TOGETHER), mature)));
    }
    return matured;
  }

  /** Does the same for some keys, whose items are looked at anew. */
  #sweepAway(
    keys: readonly string[],
    mature: ((item: Item) => Item | undefined) | undefined,
  ): Promise<readonly Item[]> {
    return this.#attempt(async () => {
      const writes = keys.flatMap((key): readonly Write<Item>[] => {
        if (this.overdue.has(key)) return [{ key, item: undefined }];
        const before = this.get(key);
        const item = before && mature?.(before);
        return item === undefined ? [] : [{ key, item }];
      });
      const isDone = await this.#write(writes, {});
      return isDone ? writes.flatMap(({ item }) => item ?? []) : undefined;
    });
  }

  /**
   * Returns the changes that store an item, for a commit by the caller. The item is visible after `settle` or a
   * refresh, or at once if early; its space is reserved until `release`. Undefined if there is no room.
   */
  draft(
    key: string,
    item: Item,
    { isEarly = false, isGuarded = false }: DraftOptions = {},
  ): Draft | undefined {
    const making = this.#makeRoom(key, item);
    if (making === undefined) return undefined;
    const { writes } = making;
    const changes = writes.flatMap((write) => this.changesOf(write));
    const expectations = isGuarded ? [this.expectationOf(key)] : [];
    const lift = isEarly ? this.show([{ key, item }]) : undefined;
    const free = this.reserve(writes);
    return {
      changes,
      expectations,
      settle: (revision) => this.settle(changes, revision),
      release: () => {
        lift?.();
        free();
      },
    };
  }

  /** Resolves once every node knows a key as this one does. */
  async everywhere(key: string): Promise<void> {
    if (this.#store.everywhere === undefined) return;
    // It is unknown also after another server has replaced the store's and revisions were reset.
    if (this.expectationOf(key).revision === 0) await this.refresh();
    const { revision } = this.expectationOf(key);
    if (revision > 0) await this.#store.everywhere(revision);
  }

  /** Reads the changes of other processes. */
  refresh(): Promise<void> {
    return this.#feed.refresh();
  }

  /** Refreshes only if others write too: own changes may exceed the change log, which would reload everything. */
  catchUp(): Promise<void> {
    return this.#store.watch === undefined ? Promise.resolve() : this.refresh();
  }

  /** Attempts a write after earlier writes of the same key. */
  #inTurn<Done>(key: string, attempt: () => Promise<Done | undefined>): Promise<Done> {
    return this.#turns.run(key, () => this.#attempt(attempt));
  }

  /** Does the same for several keys, locked in sorted order to avoid deadlocks. */
  #inTurns<Done>(keys: readonly string[], attempt: () => Promise<Done | undefined>): Promise<Done> {
    const inOrder = [...new Set(keys)].toSorted();
    const whole = inOrder.reduceRight(
      (inner, key) => () => this.#turns.run(key, inner),
      () => this.#attempt(attempt),
    );
    return whole();
  }

  /** Returns the guards for a new item: its turn, and its owner's quota if others write too. */
  #guardsOf(key: string, item: Item, { turn }: AddOptions<Item>): readonly string[] {
    const owner = this.#store.watch === undefined ? undefined : this.boundedOwner(key, item);
    const names = owner === undefined ? [] : [`owner ${owner}`];
    return [...new Set((turn === undefined ? names : [...names, turn]).map(guardOf))];
  }

  /** Repeats an attempt until it succeeds; undefined means that it was decided from outdated entries. */
  async #attempt<Done>(attempt: () => Promise<Done | undefined>): Promise<Done> {
    for (let count = 0; count < ATTEMPTS; count += 1) {
      const done = await attempt();
      if (done !== undefined) return done;
      await this.refresh();
    }
    throw new Error(`the collection "${this.#name}" changes faster than it can be written`);
  }

  /** Returns undefined if an entry has changed since the write was decided. */
  async #write(
    writes: readonly Write<Item>[],
    { also = [], isEarly = false, guards = [] }: GuardedOptions,
  ): Promise<Written | undefined> {
    const others = typeof also === "function" ? also() : also;
    if (writes.length + others.length === 0) return {};
    const keys = [...writes.map(({ key }) => key), ...guards];
    const expectations = keys.map((key) => this.expectationOf(key));
    const otherExpectations = others.flatMap(({ collection, key, expected: revision }) =>
      revision === undefined ? [] : [{ collection, key, revision }],
    );
    const changes = [
      ...writes.flatMap((write) => this.changesOf(write)),
      ...guards.map((key) => guardChange(this.#name, key)),
    ];
    const lift = isEarly ? this.show(writes) : undefined;
    try {
      const outcome = await this.#store.commit(
        [...changes, ...others],
        [...expectations, ...otherExpectations],
      );
      if (outcome.kind !== "committed") {
        const taken = outcome.failed.find(({ collection, key }) =>
          otherExpectations.some((one) => one.collection === collection && one.key === key),
        );
        if (taken !== undefined) throw new AlsoTakenError(taken);
        return undefined;
      }
      const { revision } = outcome;
      this.settle(changes, revision);
      return { revision };
    } finally {
      lift?.();
    }
  }

  /** Returns the write of a new item with the evictions it needs; undefined if there is no room. */
  #makeRoom(key: string, item: Item) {
    const surplus = this.surplus(key, item);
    if (surplus === undefined) return undefined;
    const going = new Set([...surplus, ...this.overdue.some()]);
    const writes: readonly Write<Item>[] = [
      ...[...going].map((other) => ({ key: other, item: undefined })),
      { key, item },
    ];
    return { surplus, writes };
  }
}

/** Returns the writes of items that change along with a new one, apart from evicted ones. */
function alterations<Item>(
  { alters }: AddOptions<Item>,
  gone: readonly string[],
): readonly Write<Item>[] {
  const altered = [...(alters?.() ?? [])].map(([key, item]) => ({ key, item }));
  return altered.filter(({ key }) => !gone.includes(key));
}

/** Names share this many guards. They are never deleted, and a collision only costs a retry. */
const GUARDS = 256;

/**
 * Returns the key of a name's guard: an entry that serializes additions under one name across nodes. Each addition
 * writes it, on condition that it is unchanged since the name was looked up. It is in the same collection, since a
 * view reads a collection as a whole, and sorts before the items, since a paged reading must not have items older
 * than their guard.
 */
function guardOf(name: string): string {
  return `!turn ${hash("sha256", name, "buffer").readUInt8(0) % GUARDS}`;
}

/** Returns the write of a guard, of which only the revision matters. */
function guardChange(collection: string, key: string): Change {
  return { kind: "put", collection, key, value: { isGuard: true } };
}
