/** Everything in a collection, a page at a time: what is large is never in memory twice. */
import type { Store, StoredEntry } from "./store.ts";

const PAGE = 500;

/** The entries, by key. */
export async function* readAll(store: Store, collection: string): AsyncGenerator<StoredEntry> {
  let after: string | undefined;
  do {
    const range = { limit: PAGE, ...(after === undefined ? {} : { after }) };
    const page = await store.list(collection, range);
    yield* page;
    after = page.length < PAGE ? undefined : page.at(-1)?.key;
  } while (after !== undefined);
}
