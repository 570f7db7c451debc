/**
 * The storage seam: JSON values under ordered keys, in named collections, changed in atomic groups
 * that may depend on what they were decided from. What `commit` resolved for survives the process.
 * A revision numbers each commit of a store, grows with each commit of the same key, and never comes
 * twice.
 */

export interface StoredEntry {
  readonly key: string;
  /** A JSON value. */
  readonly value: unknown;
  /** The revision of the commit that put it. */
  readonly revision: number;
}

/** The entries to list; keys are compared by their UTF-8 octets. */
export interface ListRange {
  /** Only keys that begin so. */
  readonly prefix?: string;
  /** Only keys beyond this one, in the direction of the listing. */
  readonly after?: string;
  readonly limit?: number;
  /** From the last key to the first. */
  readonly isReversed?: boolean;
}

export type Change =
  | {
      readonly kind: "put";
      readonly collection: string;
      readonly key: string;
      /** A JSON value; implementations keep a copy. */
      readonly value: unknown;
    }
  | { readonly kind: "delete"; readonly collection: string; readonly key: string };

/** A precondition of a commit: the entry that it was decided from. */
export interface Expectation {
  readonly collection: string;
  readonly key: string;
  /** 0: there is no entry. */
  readonly revision: number;
}

/** A commit that was made, or the preconditions that do not hold: then nothing has changed. */
export type CommitOutcome =
  | { readonly kind: "committed"; readonly revision: number }
  | { readonly kind: "conflict"; readonly failed: readonly Expectation[] };

/** A key that has changed: its entry as it is now. */
export interface ChangedEntry {
  readonly collection: string;
  readonly key: string;
  /** Undefined: it is gone. */
  readonly entry: StoredEntry | undefined;
}

/** How a store has come on since a revision. */
export interface Feed {
  /** The revision from which on all is told; without it, something may be left out. */
  readonly after?: number;
  /** The revision that this is complete up to. */
  readonly upTo: number;
  /** Undefined: too much has changed to say what. */
  readonly changed: readonly ChangedEntry[] | undefined;
  /** True for the revision of a commit that this was said with; without it, those up to `upTo`. */
  knows?(revision: number): boolean;
  /** True where another server has taken the place of the one before: no revision that is known holds. */
  readonly isAnew?: boolean;
}

/** The place in the order of commits at which something was told. */
export type Told = Pick<Feed, "upTo" | "knows">;

/** Tells whether a commit was made when something was told. */
export function knows(told: Told, revision: number): boolean {
  return told.knows?.(revision) ?? revision <= told.upTo;
}

/** Takes in what other nodes have changed. */
export interface FeedWatcher {
  /** From now on the next `take` may be older than what this node has written meanwhile. */
  ask(): void;
  /** Undefined: it could not be asked. Settled once what it says has been taken in. */
  take(feed: Feed | undefined): void | Promise<void>;
}

export interface Store {
  /** Undefined: nothing is kept under the key. */
  get(collection: string, key: string): Promise<unknown>;
  list(collection: string, range?: ListRange): Promise<readonly StoredEntry[]>;
  /** All changes or none; none where an expectation does not hold. */
  commit(changes: readonly Change[], expectations?: readonly Expectation[]): Promise<CommitOutcome>;
  /** The keys that commits beyond a revision have changed, of one collection or of all, each once. */
  changes(after: number, collection?: string): Promise<Feed>;
  /**
   * Resolves once a commit is known to every node that serves, or those that do not know of it serve
   * no longer; without this, there are no other nodes.
   */
  everywhere?(revision: number): Promise<void>;
  /** Tells of the changes to a collection as they arrive; without this, nobody else writes. */
  watch?(collection: string, watcher: FeedWatcher): void;
  /** The names of all collections, in order; without this, the store cannot be exported. */
  collections?(): Promise<readonly string[]>;
  /**
   * From now on, a store that has answered nothing for so many milliseconds is not waited for any more: all that is
   * asked of it fails. Called before `close`; without this, no answer is long in coming.
   */
  giveUpAfter?(milliseconds: number): void;
  close(): Promise<void>;
}

const PAGE = 500;

/** All entries of a collection by key, a page at a time: what is large is never in memory twice. */
export async function* readAll(store: Store, collection: string): AsyncGenerator<StoredEntry> {
  let after: string | undefined;
  do {
    const range = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const page = await store.list(collection, range);
    yield* page;
    after = page.length < PAGE ? undefined : page.at(-1)?.key;
  } while (after !== undefined);
}
