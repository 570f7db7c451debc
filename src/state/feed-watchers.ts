/** The watchers of a store's collections; one query serves all of them. */
import type { Feed, FeedWatcher } from "./store.ts";

export class FeedWatchers {
  /** By collection. */
  readonly #watchers = new Map<string, Set<FeedWatcher>>();

  /** The number of watched collections, which only grows. */
  get size(): number {
    return this.#watchers.size;
  }

  watch(collection: string, watcher: FeedWatcher): void {
    const watchers = this.#watchers.get(collection) ?? new Set();
    this.#watchers.set(collection, watchers.add(watcher));
  }

  /** Runs the query and passes each watcher its part; resolves once every part is applied. */
  async take<Told>(
    ask: (collections: readonly string[]) => Promise<Told>,
    ownOf: (told: Told, collection: string) => Feed,
  ): Promise<Told> {
    const watchers = [...this.#watchers];
    for (const [, all] of watchers) for (const watcher of all) watcher.ask();
    let told: Told | undefined;
    try {
      told = await ask(watchers.map(([collection]) => collection));
      return told;
    } finally {
      const taken = watchers.flatMap(([collection, all]) => {
        const own = told && ownOf(told, collection);
        return [...all].map((watcher) => watcher.take(own)).filter((one) => one !== undefined);
      });
      if (taken.length > 0) await Promise.all(taken);
    }
  }
}
