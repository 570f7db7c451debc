/**
 * The storage interface: JSON values under ordered keys in named collections, changed by atomic commits with
 * optional preconditions. A commit that resolved survives the process. Each commit has a revision, which grows with
 * every commit of the same key and is never reused.
 */
import { setImmediate as nextRound } from "node:timers/promises";

export interface StoredEntry {
  readonly key: string;
  /** A JSON value. */
  readonly value: unknown;
  /** The revision of the commit that wrote it. */
  readonly revision: number;
}

/** The range of a listing; keys compare by their UTF-8 octets. */
export interface ListRange {
  /** Only keys with this prefix. */
  readonly prefix?: string;
  /** Only keys beyond this one, in the listing's direction. */
  readonly after?: string;
  readonly limit?: number;
  /** True to list from the last key to the first. */
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

/** A precondition of a commit: the revision of an entry that it was decided from. */
export interface Expectation {
  readonly collection: string;
  readonly key: string;
  /** 0: no entry. */
  readonly revision: number;
}

/** A successful commit, or the preconditions that failed, with nothing changed. */
export type CommitOutcome =
  | { readonly kind: "committed"; readonly revision: number }
  | { readonly kind: "conflict"; readonly failed: readonly Expectation[] };

/** A changed key, with its current entry. */
export interface ChangedEntry {
  readonly collection: string;
  readonly key: string;
  /** Undefined: deleted. */
  readonly entry: StoredEntry | undefined;
}

/** The changes of a store since a revision. */
export interface Feed {
  /** The feed is complete from this revision on; undefined: it may have gaps. */
  readonly after?: number;
  /** The feed is complete up to this revision. */
  readonly upTo: number;
  /** Undefined if too much has changed to list. */
  readonly changed: readonly ChangedEntry[] | undefined;
  /** True if the feed includes the commit of a revision; default: those up to `upTo`. */
  knows?(revision: number): boolean;
  /** True if another server has replaced the previous one, so that no known revision is valid. */
  readonly isAnew?: boolean;
}

/** The position of a feed in the order of commits. */
export type Told = Pick<Feed, "upTo" | "knows">;

/** True if a feed includes the commit of a revision. */
export function knows(told: Told, revision: number): boolean {
  return told.knows?.(revision) ?? revision <= told.upTo;
}

/** Applies the changes of other nodes. */
export interface FeedWatcher {
  /** Marks that the next `take` may be older than this node's own later writes. */
  ask(): void;
  /** Applies a feed; undefined if the query failed. Settles once the feed is applied. */
  take(feed: Feed | undefined): void | Promise<void>;
}

export interface Store {
  /** Returns undefined if the key has no entry. */
  get(collection: string, key: string): Promise<unknown>;
  list(collection: string, range?: ListRange): Promise<readonly StoredEntry[]>;
  /** Commits every change or, if an expectation fails, none. */
  commit(changes: readonly Change[], expectations?: readonly Expectation[]): Promise<CommitOutcome>;
  /** Returns the keys changed after a revision, in one collection or in all, each once. */
  changes(after: number, collection?: string): Promise<Feed>;
  /**
   * Resolves once every serving node knows a commit; nodes that do not know it have stopped serving by then.
   * Undefined if there are no other nodes.
   */
  everywhere?(revision: number): Promise<void>;
  /** Reports changes to a collection as they arrive; undefined if nobody else writes. */
  watch?(collection: string, watcher: FeedWatcher): void;
  /** Returns the names of the collections, sorted; undefined if the store cannot be exported. */
  collections?(): Promise<readonly string[]>;
  /**
   * Makes every pending and later call fail once the store has not answered for this many milliseconds. Called
   * before `close`; undefined if the store always answers quickly.
   */
  giveUpAfter?(milliseconds: number): void;
  close(): Promise<void>;
}

const PAGE = 500;

/** Yields the entries of a collection by key, page by page, so that a large one is never in memory as a whole. */
export async function* readAll(store: Store, collection: string): AsyncGenerator<StoredEntry> {
  let after: string | undefined;
  do {
    const range = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const page = await store.list(collection, range);
    yield* page;
    after = page.length < PAGE ? undefined : page.at(-1)?.key;
    // A file store answers synchronously, so the pages of a large collection would share one turn.
    if (after !== undefined) await nextRound();
  } while (after !== undefined);
}
