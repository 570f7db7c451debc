/**
 * Keeps a collection's view up to date by the store's feed. One query runs at a time, and callers during it share
 * the next: the running one may have been sent before the commit that they need to see.
 */
import { atOnce, inSlices, type Paced } from "../base/paced.ts";
import {
  type ChangedEntry,
  type Feed,
  type FeedWatcher,
  readAll,
  type Store,
  type StoredEntry,
  type Told,
} from "./store.ts";

interface FeedTaker {
  /** Marks that a feed is being queried: until `caughtUp`, its news may be older than the view's own settled writes. */
  ask(): void;
  caughtUp(): void;
  forgetRevisions(): void;
  adopt(key: string, entry: StoredEntry | undefined, feed: Told): void;
  adoptAll(entries: readonly StoredEntry[], feed: Told): Paced<void>;
}

export class CollectionFeed implements FeedWatcher {
  readonly #store: Store;
  readonly #name: string;
  readonly #view: FeedTaker;
  #refreshing: Promise<void> = Promise.resolve();
  /** The refresh queued behind the running one. */
  #awaited: Promise<void> | undefined;
  /** True until the first full load is done; before that, no one reads the view. */
  #isFirst = true;
  /** The view includes every commit up to this revision, apart from its own later writes. */
  #seen = 0;
  /** True if everything must be reloaded, whatever was seen before. */
  #isOutdated = false;

  constructor(store: Store, name: string, view: FeedTaker) {
    this.#store = store;
    this.#name = name;
    this.#view = view;
  }

  /** Reads the changes of other processes. */
  refresh(): Promise<void> {
    this.#awaited ??= this.#refreshing.then(() => {
      this.#awaited = undefined;
      const refreshing = this.#refresh().finally(() => this.#view.caughtUp());
      this.#refreshing = refreshing.catch(() => undefined);
      return refreshing;
    });
    return this.#awaited;
  }

  async #refresh(): Promise<void> {
    this.#view.ask();
    const feed = await this.#store.changes(this.#seen, this.#name);
    const { upTo, changed } = feed;
    // An empty view needs more than the latest changes.
    if (changed === undefined || this.#seen === 0 || this.#isOutdated) {
      const entries: StoredEntry[] = [];
      for await (const entry of readAll(this.#store, this.#name)) entries.push(entry);
      const adopting = this.#view.adoptAll(entries, feed);
      // After the first load the view is in use, and must not show a newer guard beside older items.
      await (this.#isFirst ? inSlices(adopting) : atOnce(adopting));
      this.#isFirst = false;
      this.#isOutdated = false;
    } else {
      this.#adopt(changed, feed);
    }
    this.#seen = upTo;
  }

  /** Called before the store queries its feed. */
  ask(): void {
    this.#view.ask();
  }

  /** Applies the store's feed, after a running refresh. */
  take(feed: Feed | undefined): void | Promise<void> {
    if (feed?.changed?.length !== 0) return this.#takeIn(feed);
    this.#reach(feed);
    this.#view.caughtUp();
  }

  async #takeIn(feed: Feed | undefined): Promise<void> {
    try {
      await this.#refreshing;
      if (feed?.changed !== undefined) {
        this.#adopt(feed.changed, feed);
        this.#reach(feed);
      }
      if (feed?.isAnew === true) {
        this.#isOutdated = true;
        this.#view.forgetRevisions();
      }
    } finally {
      this.#view.caughtUp();
    }
    if (feed !== undefined && feed.changed === undefined) await this.refresh();
  }

  /**
   * Advances `#seen` if the feed has no gap: otherwise so much may accumulate that the store can only answer with a
   * reload.
   */
  #reach({ after, upTo }: Feed): void {
    if (after !== undefined && after <= this.#seen) this.#seen = Math.max(this.#seen, upTo);
  }

  #adopt(changed: readonly ChangedEntry[], feed: Feed): void {
    for (const { collection, key, entry } of changed) {
      if (collection === this.#name) this.#view.adopt(key, entry, feed);
    }
  }
}
