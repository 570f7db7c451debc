/**
 * Keeps the view of a collection up to what others have written, by the store's feed. One question
 * is asked at a time, and whoever asks meanwhile waits for the next: the one that runs may have asked
 * before what the caller knows of was committed.
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
  /** From now on until `caughtUp`, what the feed says may be older than what was settled. */
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
  /** The one that comes after it. */
  #awaited: Promise<void> | undefined;
  /** Nobody looks anything up before the first of all readings is over. */
  #isFirst = true;
  /** The revision that the view is complete up to, but for its own writes. */
  #seen = 0;
  /** Everything is to be read, whatever has been seen. */
  #isOutdated = false;

  constructor(store: Store, name: string, view: FeedTaker) {
    this.#store = store;
    this.#name = name;
    this.#view = view;
  }

  /** Takes in what others have changed. */
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
    // A view that has seen nothing yet wants more than the latest changes.
    if (changed === undefined || this.#seen === 0 || this.#isOutdated) {
      const entries: StoredEntry[] = [];
      for await (const entry of readAll(this.#store, this.#name)) entries.push(entry);
      const adopting = this.#view.adoptAll(entries, feed);
      // Later on a view is in use, and a guard there must not be newer than its items.
      await (this.#isFirst ? inSlices(adopting) : atOnce(adopting));
      this.#isFirst = false;
      this.#isOutdated = false;
    } else {
      this.#adopt(changed, feed);
    }
    this.#seen = upTo;
  }

  /** The store is about to tell of others. */
  ask(): void {
    this.#view.ask();
  }

  /** Takes in what the store tells of others; what is read anew meanwhile comes first. */
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

  /** Changes that were told without a gap need not be asked for again: by then there may be too much to say. */
  #reach({ after, upTo }: Feed): void {
    if (after !== undefined && after <= this.#seen) this.#seen = Math.max(this.#seen, upTo);
  }

  #adopt(changed: readonly ChangedEntry[], feed: Feed): void {
    for (const { collection, key, entry } of changed) {
      if (collection === this.#name) this.#view.adopt(key, entry, feed);
    }
  }
}
