/**
 * The in-memory entries of a collection, with synchronous lookups by key, order and owner. A view applies its own
 * stored writes and the store's feed, in whatever order the two arrive.
 */
import { mapPaced, type Paced, sortPaced } from "../base/paced.ts";
import type { CollectionOptions } from "./collection-options.ts";
import { ItemNames } from "./item-names.ts";
import { Overdue } from "./overdue.ts";
import { Holdings, type Rank, type Wanted } from "./quota.ts";
import { type Change, type Expectation, knows, type StoredEntry, type Told } from "./store.ts";

export interface Write<Item> {
  readonly key: string;
  /** Undefined: a deletion. */
  readonly item: Item | undefined;
  /** True if the item gives up its large part to free space. */
  readonly isShrunk?: boolean;
}

interface Held<Item> {
  readonly item: Item;
  /** The revision of the stored entry; 0 if there is none. */
  readonly revision: number;
  readonly characters: number;
  /** True if the item is visible before it is stored. */
  readonly isEarly?: true;
}

interface Overlaid<Item> {
  readonly stored: Held<Item> | undefined;
  readonly writes: readonly Write<Item>[];
}

export class CollectionView<Item> {
  readonly #options: CollectionOptions<Item>;
  readonly #held = new Map<string, Held<Item>>();
  /** Revisions of stored values that could not be decoded, so that they can be replaced. */
  readonly #foreign = new Map<string, number>();
  readonly #holdings: Holdings;
  readonly #names: ItemNames<Item>;
  /** Revisions of own writes that were settled while the feed is being queried, by key. */
  readonly #settled = new Map<string, number>();
  /** Writes that are visible before they are stored, by key, latest last, with the stored entry beneath. */
  readonly #early = new Map<string, Overlaid<Item>>();
  /** Keys that a feed reported as deleted while others are being queried; older answers may still contain them. */
  readonly #gone = new Map<string, Told>();
  /** The number of feed queries in progress. */
  #asking = 0;
  /** The last feed that reported a deletion. */
  #toldGone: Told | undefined;
  protected readonly overdue: Overdue<Item> = new Overdue<Item>({
    held: this.#held,
    isForgotten: (item, key) => this.isForgotten(item, key),
    now: () => this.now(),
  });

  protected constructor(options: CollectionOptions<Item>) {
    this.#options = options;
    this.#holdings = new Holdings(options.quota);
    this.#names = new ItemNames(options);
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#options.now?.() ?? Date.now();
  }

  get size(): number {
    return this.#held.size;
  }

  /** Returns undefined for an expired item too. */
  get(key: string): Item | undefined {
    const held = this.#held.get(key);
    return held === undefined || this.isForgotten(held.item, key) ? undefined : held.item;
  }

  /** Returns the newest item with a name in an index. */
  find(index: string, name: string): Item | undefined {
    const key = this.#names.keyOf(index, name);
    return key === undefined ? undefined : this.get(key);
  }

  /** True if the visible item is stored; an early one may not be yet. */
  isStored(key: string): boolean {
    const held = this.#held.get(key);
    return held !== undefined && held.isEarly === undefined;
  }

  /** Counts the items with a name in a group, expired ones included. */
  countIn(group: string, name: string): number {
    return this.#names.keysIn(group, name).size;
  }

  /** Returns the items with a name in a group, the earliest member first. */
  inGroup(group: string, name: string): readonly Item[] {
    return [...this.#names.keysIn(group, name)].flatMap((key) => this.get(key) ?? []);
  }

  /** Returns the items, oldest first. */
  values(): readonly Item[] {
    return [...this.each()];
  }

  /** Iterates lazily over the items, oldest first, each in its state when it is reached. */
  *each(): Generator<Item> {
    for (const [key, { item }] of this.#held) if (!this.isForgotten(item, key)) yield item;
  }

  /** True if an owner has an item, expired ones included. */
  hasOwner(owner: string): boolean {
    return this.#holdings.has(owner);
  }

  /** Returns an owner's items, oldest first. */
  ofOwner(owner: string): readonly Item[] {
    return [...this.#holdings.keysOf(owner)].flatMap((key) => this.get(key) ?? []);
  }

  protected isForgotten(item: Item, key: string): boolean {
    const { forgottenAt } = this.#options;
    return forgottenAt !== undefined && forgottenAt(item, key) < this.now();
  }

  /** Returns the owner whose quota may refuse a new item; undefined if none can. */
  protected boundedOwner(key: string, item: Item): string | undefined {
    const neverGoes = this.#holdings.refusesOwners && this.#rankOf(item, key) === undefined;
    return neverGoes ? this.#ownerOf(item, key) : undefined;
  }

  /** Returns the keys to evict for a new or a growing item; undefined if there is no room. */
  protected surplus(
    key: string,
    item: Item,
    size: Pick<Wanted, "characters" | "growing"> = { characters: this.#sizeOf(item) },
  ): readonly string[] | undefined {
    const wanted = { owner: this.#ownerOf(item, key), rank: this.#rankOf(item, key), ...size };
    const now = this.now();
    const { rankOf, forgottenAt } = this.#options;
    return this.#holdings.surplus(wanted, (other) => {
      const held = this.#held.get(other);
      if (held === undefined) return undefined;
      const rank = rankOf === undefined ? 0 : rankOf(held.item, now, other);
      if (rank === 0 || forgottenAt === undefined) return rank;
      // An expired item may not have been swept yet.
      return forgottenAt(held.item, other) < now ? 0 : rank;
    });
  }

  /** Returns the writes that free space for an item that grows, as far as possible. */
  protected roomToGrow(key: string, item: Item): readonly Write<Item>[] {
    const characters = this.#sizeOf(item) - (this.#held.get(key)?.characters ?? 0);
    const going = this.surplus(key, item, { characters, growing: key }) ?? [];
    return going.map((other) => {
      const before = this.#held.get(other)?.item;
      return { key: other, item: before && this.#options.withoutSize?.(before), isShrunk: true };
    });
  }

  /**
   * Counts writes against the quota before they are stored, so that space is not given twice. Returns a function
   * that undoes it.
   */
  protected reserve(writes: readonly Write<Item>[]): () => void {
    for (const { key, item } of writes) {
      if (item === undefined) this.#holdings.delete(key);
      else this.#holdings.set(key, this.#ownerOf(item, key), this.#sizeOf(item));
    }
    return () => {
      for (const { key } of writes) this.#count(key);
    };
  }

  /** Makes writes visible before they are stored. Returns a function that ends this, whatever the outcome. */
  protected show(writes: readonly Write<Item>[]): () => void {
    for (const write of writes) {
      const { key } = write;
      const { stored, writes: before } = this.#early.get(key) ?? { stored: this.#held.get(key) };
      this.#overlay(key, { stored, writes: [...(before ?? []), write] });
    }
    return () => {
      for (const write of writes) {
        const { stored, writes: shown = [] } = this.#early.get(write.key) ?? {};
        this.#overlay(write.key, { stored, writes: shown.filter((one) => one !== write) });
        this.#count(write.key);
      }
    };
  }

  #overlay(key: string, overlaid: Overlaid<Item>): void {
    const { stored, writes } = overlaid;
    const latest = writes.at(-1);
    if (latest === undefined) {
      this.#early.delete(key);
      this.#hold(key, stored);
      return;
    }
    this.#early.set(key, overlaid);
    const { item } = latest;
    const { revision = 0, characters = 0 } = stored ?? {};
    this.#hold(key, item && { item, revision, characters, isEarly: true });
  }

  /** Returns a key's stored entry as known here, beneath any early write. */
  #storedOf(key: string): Held<Item> | undefined {
    const overlaid = this.#early.get(key);
    return overlaid === undefined ? this.#held.get(key) : overlaid.stored;
  }

  /** Returns the expectation for a write that is decided from this key's current entry. */
  protected expectationOf(key: string): Expectation {
    return { collection: this.#options.name, key, revision: this.#revisionOf(key) };
  }

  /** Returns the revision of the stored entry, even if it is not an item; 0 if there is none. */
  #revisionOf(key: string): number {
    return this.#storedOf(key)?.revision ?? this.#foreign.get(key) ?? 0;
  }

  protected changesOf({ key, item, isShrunk = false }: Write<Item>): readonly Change[] {
    const { name: collection, changesOnDelete } = this.#options;
    const before = this.#held.get(key)?.item;
    const isLeft = item !== undefined && !isShrunk && before && !this.isForgotten(before, key);
    const others = before === undefined || isLeft ? [] : (changesOnDelete?.(before, key) ?? []);
    if (item === undefined) return [{ kind: "delete", collection, key }, ...others];
    return [{ kind: "put", collection, key, value: item }, ...others];
  }

  /** Applies own stored changes; those of other collections are ignored. */
  protected settle(changes: readonly Change[], revision: number): void {
    for (const change of changes) {
      if (change.collection !== this.#options.name) continue;
      const { key } = change;
      if (this.#asking > 0) this.#settled.set(key, revision);
      const known = this.#revisionOf(key);
      // The feed may have reported a later writer's deletion already.
      const isOld = known === 0 && this.#toldGone && knows(this.#toldGone, revision);
      if (known >= revision || isOld === true) continue;
      // Parsed anew: a string sliced from a message would keep the whole message in memory.
      const value = change.kind === "put" ? JSON.parse(JSON.stringify(change.value)) : undefined;
      this.#keep(key, value, revision);
    }
  }

  /** Marks that a feed is being queried: until `caughtUp`, its news may be older than own settled writes. */
  protected ask(): void {
    this.#asking += 1;
  }

  protected caughtUp(): void {
    this.#asking -= 1;
    if (this.#asking > 0) return;
    this.#settled.clear();
    this.#gone.clear();
  }

  /** Resets every known revision to 0, after the store has restarted its numbering; the next reading wins. */
  protected forgetRevisions(): void {
    this.#settled.clear();
    this.#gone.clear();
    this.#toldGone = undefined;
    for (const [key, held] of this.#held) this.#held.set(key, { ...held, revision: 0 });
    for (const key of this.#foreign.keys()) this.#foreign.set(key, 0);
    for (const [key, { stored, writes }] of this.#early) {
      this.#early.set(key, { stored: stored && { ...stored, revision: 0 }, writes });
    }
  }

  /** Applies the state of a key as a feed reported it. */
  protected adopt(key: string, entry: StoredEntry | undefined, feed: Told): void {
    const before = this.#revisionOf(key);
    const known = Math.max(before, this.#settled.get(key) ?? 0);
    if (entry === undefined) {
      this.#toldGone = feed;
      // The feed predates the entry, so it does not mean a deletion.
      if (!knows(feed, known)) return;
      this.#keep(key, undefined, feed.upTo);
      if (this.#asking > 0) this.#gone.set(key, feed);
      return;
    }
    const gone = this.#gone.get(key);
    if (gone !== undefined && knows(gone, entry.revision)) return;
    // A feed reports the writer's own writes too.
    if (before === entry.revision) return;
    if (known <= entry.revision) this.#keep(key, entry.value, entry.revision);
  }

  /** Applies a full reading, taken with a feed or later; keys missing from it are deleted. */
  protected *adoptAll(entries: readonly StoredEntry[], feed: Told): Paced<void> {
    const { orderOf, read } = this.#options;
    const stored = new Set(entries.map(({ key }) => key));
    const known = [this.#held, this.#early, this.#foreign].flatMap((keys) => [...keys.keys()]);
    for (const key of new Set(known)) {
      if (!stored.has(key)) this.adopt(key, undefined, feed);
    }
    const ordered = yield* mapPaced(entries, (entry) => {
      const item = orderOf && read(entry.value, entry.key);
      return { entry, order: (item && orderOf?.(item)) ?? 0 };
    });
    for (const { entry } of yield* sortPaced(ordered, (one, other) => one.order - other.order)) {
      this.adopt(entry.key, entry, feed);
      yield;
    }
  }

  #keep(key: string, value: unknown, revision: number): void {
    const item = value === undefined ? undefined : this.#options.read(value, key);
    if (value !== undefined && item === undefined) this.#foreign.set(key, revision);
    else this.#foreign.delete(key);
    const stored = item && { item, revision, characters: this.#sizeOf(item) };
    const overlaid = this.#early.get(key);
    // An early write stays visible until its outcome is known.
    if (overlaid !== undefined) this.#overlay(key, { ...overlaid, stored });
    else {
      this.#hold(key, stored);
      this.#count(key);
    }
  }

  #hold(key: string, held: Held<Item> | undefined): void {
    const before = this.#held.get(key)?.item;
    this.#names.move(key, before, held?.item);
    if (held === undefined) this.#held.delete(key);
    else this.#held.set(key, held);
    if (before !== held?.item) this.#options.onChange?.(before, held?.item, key);
  }

  #count(key: string): void {
    const held = this.#held.get(key);
    if (held === undefined) this.#holdings.delete(key);
    else this.#holdings.set(key, this.#ownerOf(held.item, key), held.characters);
  }

  #ownerOf(item: Item, key: string): string {
    return this.#options.ownerOf?.(item, key) ?? "";
  }

  #sizeOf(item: Item): number {
    return this.#options.sizeOf?.(item) ?? JSON.stringify(item).length;
  }

  #rankOf(item: Item, key: string): Rank {
    const { rankOf } = this.#options;
    return rankOf === undefined ? 0 : rankOf(item, this.now(), key);
  }
}
