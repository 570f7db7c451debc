/** The options of a collection: how stored values are decoded, who owns the items, and which of them may be kept. */
import type { NamingOptions } from "./item-names.ts";
import type { Quota, Rank } from "./quota.ts";
import type { Change } from "./store.ts";

/** The definition of a collection. */
export interface CollectionOptions<Item> extends NamingOptions<Item> {
  readonly name: string;
  /** Decodes a stored value; undefined if it is not an item. */
  read(value: unknown, key: string): Item | undefined;
  /** Returns an item's owner; default: one owner for every item. */
  ownerOf?(item: Item, key: string): string;
  /** Returns an item's sort key, ascending; default: by key. */
  orderOf?(item: Item): number;
  /** Returns when an item expires, in milliseconds since the epoch. */
  forgottenAt?(item: Item, key: string): number;
  /** A function if the bounds can change while the collection is open. */
  readonly quota?: Quota | (() => Quota);
  /** Returns an item's size for the quota; default: the characters of its JSON. */
  sizeOf?(item: Item): number;
  /** Returns changes of other collections that go with the deletion of an item, or of its large part. */
  changesOnDelete?(item: Item, key: string): readonly Change[];
  /** Called when an item is changed or deleted, by any writer. */
  onChange?(before: Item | undefined, after: Item | undefined, key: string): void;
  /** Returns an item's eviction rank; default: the oldest goes first. */
  rankOf?(item: Item, now: number, key: string): Rank;
  /** Returns an item without its large part, to free space; default: nothing is freed this way. */
  withoutSize?(item: Item): Item;
  /** Milliseconds since the epoch. */
  now?(): number;
}
