/**
 * A collection of the store that gates look things up in: reads are synchronous and local, writes go
 * to the store first, under the condition that nothing they were decided from has changed. What
 * another writer did is taken in from the store's feed, and the write is decided anew. The owner
 * index, quota, expiry, sweep and the undoing of a failed write are its own, once for all.
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

/** A writer that loses against others so often has met a fault, not a race. */
const ATTEMPTS = 100;
/** Those that a commit of a sweep changes at most. */
const SWEPT_TOGETHER = 1_000;

/** How a write is made, by which guards it is kept apart from others'. */
interface GuardedOptions extends WriteOptions {
  readonly guards?: readonly string[];
}

interface Written {
  /** Undefined: there was nothing to write. */
  readonly revision?: number;
}

export class Collection<Item> extends CollectionView<Item> {
  readonly #store: Store;
  readonly #name: string;
  /** By key: the writes of one process do not race each other. */
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

  /** Opens a collection, and deletes what nobody needs any more. */
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

  /** Keeps a new item, where its key is free and there is room. */
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

  /** Moves an item on; `decide` says how from what it is now, and undefined where it need not. */
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

  /** Keeps an item under a key, whatever was there. */
  async put(key: string, item: Item): Promise<void> {
    await this.#inTurn(key, () => this.#write([{ key, item }], {}));
  }

  /** Keeps several items in one commit, whatever was there; what they are is asked for each attempt. */
  async putAll(decide: () => ReadonlyMap<string, Item>, options: WriteOptions = {}): Promise<void> {
    await this.#attempt(() => {
      const writes = [...decide()].map(([key, item]) => ({ key, item }));
      return this.#write(writes, options);
    });
  }

  /** Deletes an item that is the one meant, and answers it: of many that take it one gets it. */
  async take(key: string, isMeant: (item: Item) => boolean): Promise<Item | undefined> {
    const { item } = await this.#inTurn(key, async () => {
      const before = this.get(key);
      if (before === undefined || !isMeant(before)) return { item: undefined };
      return (await this.#write([{ key, item: undefined }], {})) ? { item: before } : undefined;
    });
    return item;
  }

  /** Deletes items; those that are not there are no fault. */
  async delete(keys: readonly string[]): Promise<void> {
    await this.#delete(keys, {});
  }

  /** Deletes items, here at once, until no node serves from them any more; answers the keys of those there were. */
  async deleteEverywhere(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const { revision, known } = await this.#delete(keys, { isEarly: true });
    if (revision !== undefined) await this.#store.everywhere?.(revision);
    return known;
  }

  /** The same for all that nobody needs as of now, where the rules that say so change next. */
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

  /** Deletes what nobody needs any more, and moves on what `mature` says; answers the latter. */
  async sweep(mature?: (item: Item) => Item | undefined): Promise<readonly Item[]> {
    const due = await inSlices(this.overdue.all((item) => mature?.(item) !== undefined));
    const matured: Item[] = [];
    for (let from = 0; from < due.length; from += SWEPT_TOGETHER) {
      matured.push(...(await this.#sweepAway(due.slice(from, from + SWEPT_TOGETHER), mature)));
    }
    return matured;
  }

  /** The same for some keys; what they are is looked at anew. */
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
   * The changes that keep an item, for a commit that somebody else makes: it is seen once `settle`
   * was called, or `refresh` has resolved, and at once where it is early. Its room is kept until
   * `release` is called. Undefined: there is none.
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

  /** Waits until a key is known on every node as it is here. */
  async everywhere(key: string): Promise<void> {
    if (this.#store.everywhere === undefined) return;
    // Unknown also where another server's revisions have just taken the place of all that were known.
    if (this.expectationOf(key).revision === 0) await this.refresh();
    const { revision } = this.expectationOf(key);
    if (revision > 0) await this.#store.everywhere(revision);
  }

  /** Takes in what others have changed. */
  refresh(): Promise<void> {
    return this.#feed.refresh();
  }

  /** The same where there are others: of one's own changes there may be more than are told of, and all would be read. */
  catchUp(): Promise<void> {
    return this.#store.watch === undefined ? Promise.resolve() : this.refresh();
  }

  /** Attempts a write of a key after those of it that came before. */
  #inTurn<Done>(key: string, attempt: () => Promise<Done | undefined>): Promise<Done> {
    return this.#turns.run(key, () => this.#attempt(attempt));
  }

  /** The same for several keys; everybody takes them in one order, so that nobody waits for ever. */
  #inTurns<Done>(keys: readonly string[], attempt: () => Promise<Done | undefined>): Promise<Done> {
    const inOrder = [...new Set(keys)].toSorted();
    const whole = inOrder.reduceRight(
      (inner, key) => () => this.#turns.run(key, inner),
      () => this.#attempt(attempt),
    );
    return whole();
  }

  /** The guards of a new item: of its turn, and of its owner's bound where others write, too. */
  #guardsOf(key: string, item: Item, { turn }: AddOptions<Item>): readonly string[] {
    const owner = this.#store.watch === undefined ? undefined : this.boundedOwner(key, item);
    const names = owner === undefined ? [] : [`owner ${owner}`];
    return [...new Set((turn === undefined ? names : [...names, turn]).map(guardOf))];
  }

  /** Tries until it is done; undefined says that it was decided from what is over. */
  async #attempt<Done>(attempt: () => Promise<Done | undefined>): Promise<Done> {
    for (let count = 0; count < ATTEMPTS; count += 1) {
      const done = await attempt();
      if (done !== undefined) return done;
      await this.refresh();
    }
    throw new Error(`the collection "${this.#name}" changes faster than it can be written`);
  }

  /** Undefined: what it was decided from has changed. */
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

  /** The write of a new item, behind the deletions that make room for it; undefined: there is none. */
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

/** The writes of others that change with a new item; those that made room for it are gone. */
function alterations<Item>(
  { alters }: AddOptions<Item>,
  gone: readonly string[],
): readonly Write<Item>[] {
  const altered = [...(alters?.() ?? [])].map(([key, item]) => ({ key, item }));
  return altered.filter(({ key }) => !gone.includes(key));
}

/** Names share so many guards: they are never deleted, and two that meet at one only try again. */
const GUARDS = 256;

/**
 * The key of the guard of a name: the entry beside the items that keeps apart, over all nodes, those who add
 * under one name. Whoever adds writes it, and expects it as it was when nobody was found there. It is in
 * the same collection, since a view takes in a collection as a whole, and comes before the items, since a reading
 * in pages must have no item that is older than its guard.
 */
function guardOf(name: string): string {
  return `!turn ${hash("sha256", name, "buffer").readUInt8(0) % GUARDS}`;
}

/** The text of a guard, of which the revision alone matters. */
function guardChange(collection: string, key: string): Change {
  return { kind: "put", collection, key, value: { isGuard: true } };
}
