/** Stores of every driver, for the time of a test. */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openStore } from "../../src/state/open-store.ts";
import type { Store } from "../../src/state/store.ts";
import { makeDirectory } from "./directory.ts";

/** Opens a store that must open; it is closed when the running test is over. */
export async function openTestStore(
  driver: "memory" | "sqlite",
  path: string = join(makeDirectory(), "state.db"),
): Promise<Store> {
  const { store, problems } = await openStore({ driver, path }, "agtp-server.toml");
  if (store === undefined) throw new Error(JSON.stringify(problems));
  onTestFinished(() => store.close());
  return store;
}

/** A store that does some things in another way, for tests of what goes wrong. */
export function alterStore(store: Store, altered: Partial<Store>): Store {
  return {
    get: (collection, key) => store.get(collection, key),
    list: (collection, range) => store.list(collection, range),
    commit: (changes, expectations) => store.commit(changes, expectations),
    changes: (after, collection) => store.changes(after, collection),
    close: () => store.close(),
    ...altered,
  };
}
