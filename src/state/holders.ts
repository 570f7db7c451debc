/**
 * Ownership of work among the nodes of a store. An item that only one process may work on names its holder; once
 * that process is known to be gone, another takes the item over by compare-and-set. The former holder's writes then
 * fail, since each is conditional on the entry that names the holder.
 */

/** An item with a holder. */
export interface Held {
  /** The holding process; undefined if it has none yet. */
  readonly heldBy?: string;
}

/** The processes that may hold items of a store. */
export interface Holders {
  /** This process; undefined if no other uses the store. */
  readonly self?: string;
  /** True for a process that serves no more; false at first for one not asked about before. */
  isGone(process: string): boolean;
  /** Calls back whenever a process is found gone, until the returned function is called. */
  watch(onGone: () => void): () => void;
}

/** The holders of a store that only this process uses. */
export const SOLE_HOLDER: Holders = { isGone: () => true, watch: () => () => undefined };

/** Thrown when another process has taken the item over, so that this one must not write it. */
export class HolderLostError extends Error {
  constructor() {
    super("another node has taken this over");
    this.name = "HolderLostError";
  }
}

/** True if this process holds an item. */
export function holds({ self }: Holders, item: object): boolean {
  return self === undefined || (item as Held).heldBy === self;
}

/** True if this process holds an item, or may take it over. */
export function mayHold(holders: Holders, item: object): boolean {
  const { heldBy } = item as Held;
  return holds(holders, item) || heldBy === undefined || holders.isGone(heldBy);
}

/** True if another process held an item and is gone, so that this one may take it over. */
export function isLeft(holders: Holders, item: object): boolean {
  return !holds(holders, item) && mayHold(holders, item);
}

/** Returns the item with this process as its holder. */
export function holding<Item extends object>({ self }: Holders, item: Item): Item {
  return self === undefined ? item : { ...item, heldBy: self };
}

/** Returns the item with its previous holder. */
export function heldAs<Item extends object>({ self }: Holders, before: object, after: Item): Item {
  const { heldBy } = before as Held;
  return self === undefined || heldBy === undefined ? after : { ...after, heldBy };
}
