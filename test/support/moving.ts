/** State to be moved: records of two agents, and entries of a collection. */
import type { ServerState } from "../../src/state/state.ts";
import { readAll, type Store } from "../../src/state/store.ts";
import { makeDraft } from "./ledger.ts";

export const ALICE: string = "a".repeat(64);
export const BOB: string = "b".repeat(64);

/** Adds so many records and entries. */
export async function grow({ ledger, store }: ServerState, count: number): Promise<void> {
  for (let more = 0; more < count; more += 1) {
    ledger.add(makeDraft(more % 3 === 0 ? BOB : ALICE));
    await ledger.settled();
    const value = { more, text: "ä\u2028\n".repeat(more) };
    await store.commit([{ kind: "put", collection: "things", key: `key ${more}`, value }]);
  }
}

/** The entries of a collection, in order. */
export async function entriesOf(store: Store, collection = "things"): Promise<readonly unknown[]> {
  const entries: unknown[] = [];
  for await (const { key, value } of readAll(store, collection)) entries.push([key, value]);
  return entries;
}
