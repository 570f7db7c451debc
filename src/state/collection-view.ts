/**
 * The entries of a collection that are in memory: found without waiting, in their order, by their
 * owners. A view takes in what its own writes have stored and what the store's feed tells of others,
 * in whatever order the two arrive.
 */
import { mapPaced, type Paced, sortPaced } from "../base/paced.ts";
import type { CollectionOptions } from "./collection-options.ts";
import { ItemNames } from "./item-names.ts";
import { Overdue } from "./overdue.ts";
import { Holdings, type Rank, type Wanted } from "./quota.ts";
import { type Change, type Expectation, knows, type StoredEntry, type Told } from "./store.ts";

export interface Write<Item> {
  readonly key: string;
  /** Undefined: it is deleted. */
  readonly item: Item | undefined;
  /** It makes room by its size. */
  readonly isShrunk?: boolean;
}

interface Held<Item> {
  readonly item: Item;
  /** The revision of the store's entry; 0 while there is none. */
  readonly revision: number;
  readonly characters: number;
  /** Shown before it is stored. */
  readonly isEarly?: true;
}

interface Overlaid<Item> {
  readonly stored: Held<Item> | undefined;
  readonly writes: readonly Write<Item>[];
}

export class CollectionView<Item> {
  readonly #options: CollectionOptions<Item>;
  readonly #held = new Map<string, Held<Item>>();
  /** Keys of stored values that are no items: with which revision, so that they can be replaced. */
  readonly #foreign = new Map<string, number>();
  readonly #holdings: Holdings;
  readonly #names: ItemNames<Item>;
  /** Keys that own writes settled while the feed is being asked, with their revisions. */
  readonly #settled = new Map<string, number>();
  /** Keys with writes that are shown before they are stored, the latest last, over what is stored. */
  readonly #early = new Map<string, Overlaid<Item>>();
  /** Keys that were told to be gone while the feed is being asked: who was asked before may have them still. */
  readonly #gone = new Map<string, Told>();
  /** How often the feed is being asked. */
  #asking = 0;
  /** The last that told of a key that is gone. */
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

  /** Undefined as well for what nobody needs any more. */
  get(key: string): Item | undefined {
    const held = this.#held.get(key);
    return held === undefined || this.isForgotten(held.item, key) ? undefined : held.item;
  }

  /** The newest item that has a name in an index. */
  find(index: string, name: string): Item | undefined {
    const key = this.#names.keyOf(index, name);
    return key === undefined ? undefined : this.get(key);
  }

  /** Tells whether an item is stored as it is found: an early one may not be yet. */
  isStored(key: string): boolean {
    const held = this.#held.get(key);
    return held !== undefined && held.isEarly === undefined;
  }

  /** How many have a name in a group, those that are forgotten too. */
  countIn(group: string, name: string): number {
    return this.#names.keysIn(group, name).size;
  }

  /** The items that have a name in a group, the longest in it first. */
  inGroup(group: string, name: string): readonly Item[] {
    return [...this.#names.keysIn(group, name)].flatMap((key) => this.get(key) ?? []);
  }

  /** Lists all items, the oldest first. */
  values(): readonly Item[] {
    return [...this.each()];
  }

  /** Every item in its turn, the oldest first, as it is then. */
  *each(): Generator<Item> {
    for (const [key, { item }] of this.#held) if (!this.isForgotten(item, key)) yield item;
  }

  /** Tells whether an owner has any, those that are forgotten too. */
  hasOwner(owner: string): boolean {
    return this.#holdings.has(owner);
  }

  /** An owner's, the oldest first. */
  ofOwner(owner: string): readonly Item[] {
    return [...this.#holdings.keysOf(owner)].flatMap((key) => this.get(key) ?? []);
  }

  protected isForgotten(item: Item, key: string): boolean {
    const { forgottenAt } = this.#options;
    return forgottenAt !== undefined && forgottenAt(item, key) < this.now();
  }

  /** The owner whose bound may refuse a new item; undefined: none does. */
  protected boundedOwner(key: string, item: Item): string | undefined {
    const neverGoes = this.#holdings.refusesOwners && this.#rankOf(item, key) === undefined;
    return neverGoes ? this.#ownerOf(item, key) : undefined;
  }

  /** The keys that go for one more item, or for more of one; undefined: there is no room for it. */
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
      // An item that nobody needs any more may not be swept yet.
      return forgottenAt(held.item, other) < now ? 0 : rank;
    });
  }

  /** The writes that make room for an item that is there and grows, as far as there is anything. */
  protected roomToGrow(key: string, item: Item): readonly Write<Item>[] {
    const characters = this.#sizeOf(item) - (this.#held.get(key)?.characters ?? 0);
    const going = this.surplus(key, item, { characters, growing: key }) ?? [];
    return going.map((other) => {
      const before = this.#held.get(other)?.item;
      return { key: other, item: before && this.#options.withoutSize?.(before), isShrunk: true };
    });
  }

  /**
   * Counts writes before they are stored, so that no room is given twice. Answers what takes the
   * count back.
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

  /** Shows writes before they are stored. Returns what ends that, whatever became of them. */
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

  /** How a key is stored, as far as is known; what is shown may be another. */
  #storedOf(key: string): Held<Item> | undefined {
    const overlaid = this.#early.get(key);
    return overlaid === undefined ? this.#held.get(key) : overlaid.stored;
  }

  /** The expectation that a write of this key is decided from. */
  protected expectationOf(key: string): Expectation {
    return { collection: this.#options.name, key, revision: this.#revisionOf(key) };
  }

  /** The revision of the store's entry, which may be no item; 0 where there is none. */
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

  /** Changes that this view has made are stored; those of other collections are nothing to it. */
  protected settle(changes: readonly Change[], revision: number): void {
    for (const change of changes) {
      if (change.collection !== this.#options.name) continue;
      const { key } = change;
      if (this.#asking > 0) this.#settled.set(key, revision);
      const known = this.#revisionOf(key);
      // The feed may have told of a later writer, who may have deleted it.
      const isOld = known === 0 && this.#toldGone && knows(this.#toldGone, revision);
      if (known >= revision || isOld === true) continue;
      // Read anew: a text cut from a message would keep the whole message alive.
      const value = change.kind === "put" ? JSON.parse(JSON.stringify(change.value)) : undefined;
      this.#keep(key, value, revision);
    }
  }

  /** From now on until `caughtUp`, what the feed says may be older than what was settled. */
  protected ask(): void {
    this.#asking += 1;
  }

  protected caughtUp(): void {
    this.#asking -= 1;
    if (this.#asking > 0) return;
    this.#settled.clear();
    this.#gone.clear();
  }

  /** The next reading holds, whatever is known: the store counts its revisions in another way. */
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

  /** Takes in how a key stood as a feed was told. */
  protected adopt(key: string, entry: StoredEntry | undefined, feed: Told): void {
    const before = this.#revisionOf(key);
    const known = Math.max(before, this.#settled.get(key) ?? 0);
    if (entry === undefined) {
      this.#toldGone = feed;
      // An entry that the feed did not know of is not gone: it came later.
      if (!knows(feed, known)) return;
      this.#keep(key, undefined, feed.upTo);
      if (this.#asking > 0) this.#gone.set(key, feed);
      return;
    }
    const gone = this.#gone.get(key);
    if (gone !== undefined && knows(gone, entry.revision)) return;
    // The feed tells a writer of its own writes, too.
    if (before === entry.revision) return;
    if (known <= entry.revision) this.#keep(key, entry.value, entry.revision);
  }

  /** Takes in all entries as they stood when a feed was told, or later; what is not among them is gone. */
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
    // A write on its way into the store is shown until it is known what became of it.
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
