/**
 * The store of a worker: its parent's, over the link. Both ends keep the order of requests, so a later read sees an
 * earlier commit, awaited or not.
 */
import type { Link } from "../../base/link.ts";
import { encodeChange } from "../entry-limits.ts";
import { FeedWatchers } from "../feed-watchers.ts";
import type {
  Change,
  CommitOutcome,
  Expectation,
  Feed,
  FeedWatcher,
  ListRange,
  Store,
  StoredEntry,
} from "../store.ts";

export interface AskedCommit {
  readonly changes: readonly Change[];
  readonly expectations: readonly Expectation[];
}

export class ParentStore implements Store {
  readonly #link: Link;
  readonly watchers: FeedWatchers = new FeedWatchers();

  constructor(link: Link) {
    this.#link = link;
  }

  get(collection: string, key: string): Promise<unknown> {
    return this.#link.ask("get", [collection, key]);
  }

  list(collection: string, range: ListRange = {}): Promise<readonly StoredEntry[]> {
    const { limit, ...rest } = range;
    const isLimited = limit !== undefined && Number.isFinite(limit);
    return this.#link.ask("list", [collection, isLimited ? range : rest]);
  }

  async commit(
    changes: readonly Change[],
    expectations: readonly Expectation[] = [],
  ): Promise<CommitOutcome> {
    // Checked here, since a change that breaks the limits is the caller's bug.
    for (const change of changes) encodeChange(change);
    return this.#link.ask("commit", { changes, expectations } satisfies AskedCommit);
  }

  changes(after: number, only?: string): Promise<Feed> {
    return this.#link.ask("changes", [after, only]);
  }

  everywhere(revision: number): Promise<void> {
    return this.#link.ask("everywhere", revision);
  }

  watch(collection: string, watcher: FeedWatcher): void {
    this.watchers.watch(collection, watcher);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
