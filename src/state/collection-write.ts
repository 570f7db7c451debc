/** How a collection is written, and what comes of it. */
import type { Change, Store } from "./store.ts";

/** How a write is made. */
export interface WriteOptions {
  /** Changes of other collections that belong to it, as it was decided: all are made or none. */
  readonly also?: readonly Change[] | (() => readonly Change[]);
  /** Seen at once, and undone where it cannot be stored: for what takes something away. */
  readonly isEarly?: boolean;
}

/** How an item is added. */
export interface AddOptions<Item> extends WriteOptions {
  /** The queue that it waits in, where it excludes others than those of its own key. */
  readonly turn?: string;
  /** Another item that keeps it out, once its turn has come. */
  unless?(): Item | undefined;
}

/** How an item is changed. */
export interface ChangeOptions extends WriteOptions {
  /** It may be larger than it was: what the quota has too much of then goes. */
  readonly makesRoom?: boolean;
}

/** The outcome of a change; `item` is undefined where there is none. */
export interface Changing<Item> {
  readonly item: Item | undefined;
  readonly isChanged: boolean;
}

/** The outcome of adding an item. */
export type Adding<Item> =
  /** `gone`: the keys that made room. */
  | { readonly kind: "added"; readonly item: Item; readonly gone: readonly string[] }
  /** Another has the key, or keeps it out. */
  | { readonly kind: "taken"; readonly item: Item }
  | { readonly kind: "full" };

/** A write that somebody else commits. */
export interface Draft {
  readonly changes: readonly Change[];
  /** Takes in that the commit of this revision made it. */
  settle(revision: number): void;
  /** Called once it was committed and seen, or was not. */
  release(): void;
}

/** Commits drafts together, of whichever collections, and what belongs to them: all or nothing. */
export async function commitDrafts(
  store: Store,
  drafts: readonly Draft[],
  also: readonly Change[],
): Promise<void> {
  try {
    const outcome = await store.commit([...drafts.flatMap(({ changes }) => changes), ...also]);
    if (outcome.kind !== "committed") return;
    for (const draft of drafts) draft.settle(outcome.revision);
  } finally {
    for (const draft of drafts) draft.release();
  }
}
