/** Options and outcomes of a collection's writes. */
import type { Change, Expectation, Store } from "./store.ts";

/** A change of another collection, possibly conditional on its entry's revision. */
export type AlsoChange = Change & {
  /** The revision that the entry must have, 0 for none; undefined: any. */
  readonly expected?: number;
};

/** Thrown if another process wrote the entry of an accompanying change; nothing was written. */
export class AlsoTakenError extends Error {
  override readonly name = "AlsoTakenError";

  constructor({ collection, key }: Pick<Change, "collection" | "key">) {
    super(`"${key}" of the collection "${collection}" was written meanwhile`);
  }
}

export interface WriteOptions {
  /**
   * Changes of other collections in the same commit. If the expectation of one fails, the write rejects with
   * AlsoTakenError.
   */
  readonly also?: readonly AlsoChange[] | (() => readonly AlsoChange[]);
  /** True to make the write visible at once, and undo it if it cannot be stored; meant for revocations. */
  readonly isEarly?: boolean;
}

export interface AddOptions<Item> extends WriteOptions {
  /** A name under which one item is added at a time, across all nodes. */
  readonly turn?: string;
  /** Returns another item that prevents the addition, called in its turn; no other node adds one meanwhile. */
  unless?(): Item | undefined;
  /** Returns other items to change along with it, by key, called in its turn. */
  alters?(): ReadonlyMap<string, Item>;
  /** Returns false to refuse the addition besides the quota; called in its turn. */
  hasRoom?(): boolean;
}

export interface ChangeOptions extends WriteOptions {
  /** True if the item may grow; items beyond the quota are then evicted. */
  readonly makesRoom?: boolean;
}

/** The outcome of a change; `item` is undefined if there is none. */
export interface Changing<Item> {
  readonly item: Item | undefined;
  readonly isChanged: boolean;
}

export type Adding<Item> =
  /** `gone`: the evicted keys. */
  | { readonly kind: "added"; readonly item: Item; readonly gone: readonly string[] }
  /** An item has the key, or prevents the addition. */
  | { readonly kind: "taken"; readonly item: Item }
  | { readonly kind: "full" };

export interface DraftOptions extends Pick<WriteOptions, "isEarly"> {
  /** True to fail the commit if the key has changed meanwhile. */
  readonly isGuarded?: boolean;
}

/** A write that its caller commits. */
export interface Draft {
  readonly changes: readonly Change[];
  readonly expectations: readonly Expectation[];
  /** Applies the write to the view, committed with this revision. */
  settle(revision: number): void;
  /** Releases the reserved space, called after the commit or its failure. */
  release(): void;
}

/** Commits drafts of any collections, with further changes, atomically. Returns false if a guarded key has changed. */
export async function commitDrafts(
  store: Store,
  drafts: readonly Draft[],
  also: readonly Change[],
): Promise<boolean> {
  const changes = [...drafts.flatMap((draft) => draft.changes), ...also];
  const expectations = drafts.flatMap((draft) => draft.expectations);
  try {
    const outcome = await store.commit(changes, expectations);
    if (outcome.kind !== "committed") return false;
    for (const draft of drafts) draft.settle(outcome.revision);
    return true;
  } finally {
    for (const draft of drafts) draft.release();
  }
}
