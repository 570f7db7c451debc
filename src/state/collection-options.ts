/** The options of a collection: how stored values are read as its items, whose they are, and which may stay. */
import type { NamingOptions } from "./item-names.ts";
import type { Quota, Rank } from "./quota.ts";
import type { Change } from "./store.ts";

/** The parts that make a collection. */
export interface CollectionOptions<Item> extends NamingOptions<Item> {
  readonly name: string;
  /** The item of a stored value; undefined for a value that is none. */
  read(value: unknown, key: string): Item | undefined;
  /** The owner of an item; without this, all are of one owner. */
  ownerOf?(item: Item, key: string): string;
  /** The order in which items are found, smallest first; by key without this. */
  orderOf?(item: Item): number;
  /** When nobody needs it any more, in milliseconds since the epoch. */
  forgottenAt?(item: Item, key: string): number;
  /** A function where the bounds change while the collection is open. */
  readonly quota?: Quota | (() => Quota);
  /** The size that it counts for against the quota's sizes; the characters of its JSON without this. */
  sizeOf?(item: Item): number;
  /** Changes of other collections that the deletion of an item, or of its size, brings with it. */
  changesOnDelete?(item: Item, key: string): readonly Change[];
  /** Called once an item is another, or gone, whoever has written it. */
  onChange?(before: Item | undefined, after: Item | undefined, key: string): void;
  /** Ranks the items to evict where there is no room; without this, the oldest goes first. */
  rankOf?(item: Item, now: number, key: string): Rank;
  /** The rest of an item that makes room by its size alone; without this, nothing. */
  withoutSize?(item: Item): Item;
  /** Milliseconds since the epoch. */
  now?(): number;
}
