/**
 * Whose work is whose among the nodes of a store. What only one of them may work at names the process
 * that does; once that is known to serve no more, another takes it over by compare-and-set. From then
 * on the former holder's writes fail, since each is decided from the entry that names the holder.
 */

/** An item that somebody works at. */
export interface Held {
  /** The process; undefined: nobody yet. */
  readonly heldBy?: string;
}

/** The processes that may work at what is in a store. */
export interface Holders {
  /** This one; undefined where no other works over the same store. */
  readonly self?: string;
  /** True for a process that serves no more; of one that nobody asked about before, that is not known yet. */
  isGone(process: string): boolean;
  /** Calls back each time that some process is found gone, until the function that is answered was called. */
  watch(onGone: () => void): () => void;
}

/** Nobody else works over the store. */
export const SOLE_HOLDER: Holders = { isGone: () => true, watch: () => () => undefined };

/** Another process works at it by now: what this one wanted to write is over. */
export class HolderLostError extends Error {
  constructor() {
    super("another node has taken this over");
    this.name = "HolderLostError";
  }
}

/** Tells whether this process works at an item. */
export function holds({ self }: Holders, item: object): boolean {
  return self === undefined || (item as Held).heldBy === self;
}

/** Tells whether this process works at an item, or may take it over. */
export function mayHold(holders: Holders, item: object): boolean {
  const { heldBy } = item as Held;
  return holds(holders, item) || heldBy === undefined || holders.isGone(heldBy);
}

/** Tells whether this process may take an item over: another one worked at it, and is gone. */
export function isLeft(holders: Holders, item: object): boolean {
  return !holds(holders, item) && mayHold(holders, item);
}

/** The item with this process as its holder. */
export function holding<Item extends object>({ self }: Holders, item: Item): Item {
  return self === undefined ? item : { ...item, heldBy: self };
}

/** The item with the holder that it had before. */
export function heldAs<Item extends object>({ self }: Holders, before: object, after: Item): Item {
  const { heldBy } = before as Held;
  return self === undefined || heldBy === undefined ? after : { ...after, heldBy };
}
