/** How a collection is written, and what comes of it. */
import type { Change, Expectation, Store } from "./store.ts";

/** A change of another collection, which may depend on how its entry stands. */
export type AlsoChange = Change & {
  /** The revision that the entry has to have, 0 for none; without this, any. */
  readonly expected?: number;
};

/** Somebody else has written the entry of a change that belonged to a write: nothing was written. */
export class AlsoTakenError extends Error {
  override readonly name = "AlsoTakenError";

  constructor({ collection, key }: Pick<Change, "collection" | "key">) {
    super(`"${key}" of the collection "${collection}" was written meanwhile`);
  }
}

export interface WriteOptions {
  /**
   * Changes of other collections that belong to it, as it was decided: all are made or none. Where one
   * expects another entry than there is, the write rejects with AlsoTakenError.
   */
  readonly also?: readonly AlsoChange[] | (() => readonly AlsoChange[]);
  /** Seen at once, and undone where it cannot be stored: for what takes something away. */
  readonly isEarly?: boolean;
}

export interface AddOptions<Item> extends WriteOptions {
  /** A name that one item is added under at a time, over all nodes. */
  readonly turn?: string;
  /** Another item that keeps it out, once its turn has come; on no node is one added meanwhile. */
  unless?(): Item | undefined;
  /** Others that change with it, once its turn has come: by their keys, as they are then. */
  alters?(): ReadonlyMap<string, Item>;
  /** Asked for besides the quota, once its turn has come. */
  hasRoom?(): boolean;
}

export interface ChangeOptions extends WriteOptions {
  /** It may be larger than it was: what the quota has too much of then goes. */
  readonly makesRoom?: boolean;
}

/** The outcome of a change; `item` is undefined where there is none. */
export interface Changing<Item> {
  readonly item: Item | undefined;
  readonly isChanged: boolean;
}

export type Adding<Item> =
  /** `gone`: the keys that made room. */
  | { readonly kind: "added"; readonly item: Item; readonly gone: readonly string[] }
  /** Another has the key, or keeps it out. */
  | { readonly kind: "taken"; readonly item: Item }
  | { readonly kind: "full" };

export interface DraftOptions extends Pick<WriteOptions, "isEarly"> {
  /** The commit is not made where somebody else has written the key meanwhile. */
  readonly isGuarded?: boolean;
}

/** A write that somebody else commits. */
export interface Draft {
  readonly changes: readonly Change[];
  readonly expectations: readonly Expectation[];
  /** Takes in that the commit of this revision made it. */
  settle(revision: number): void;
  /** Called once it was committed and seen, or was not. */
  release(): void;
}

/**
 * Commits drafts together, of whichever collections, and what belongs to them: all or nothing.
 * False: somebody else has written a guarded key.
 */
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
