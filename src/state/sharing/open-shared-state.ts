/**
 * Opens the state shared by workers, in their parent: the store is updated from the journal before any worker
 * begins.
 */

import type { Retention } from "../journal/retention.ts";
import { exportState } from "../moving/export-state.ts";
import type { StateNotice } from "../notice.ts";
import { openChains } from "../records/open-ledger.ts";
import { LifecycleRegister } from "../registers/lifecycle-register.ts";
import type { Durability } from "../state-sections.ts";
import type { Store } from "../store.ts";
import { SealedChains } from "./sealed-chains.ts";
import { SharedState } from "./shared-state.ts";

interface SharedStatePlaces {
  readonly store: Store;
  /** Undefined: records are lost with the process. */
  readonly journalDirectory: string | undefined;
  readonly durability: Durability;
  readonly leaseMs: number;
  onFault(error: unknown): void;
  onNotice(notice: StateNotice): void;
}

export interface OpenSharedState {
  readonly shared: SharedState;
  /** Keeps the journal within its limits; undefined if there is none. */
  readonly retention: Retention | undefined;
  /** Yields the exported state, as lines of a file. */
  exported(serverId: string): AsyncIterable<string>;
  /** Stores the chain heads and closes everything; called once no worker is left. */
  close(): Promise<void>;
}

/** Opens the shared state over a store and takes ownership of it; rejects with the journal's damage. */
export async function openSharedState(places: SharedStatePlaces): Promise<OpenSharedState> {
  const { store, leaseMs } = places;
  let shared: SharedState | undefined;
  const beforeCheckpoint = async (): Promise<void> => shared?.save();
  const opened = await openChains(
    { ...places, beforeCheckpoint },
    (records, heads) => new SealedChains(records, heads),
  );
  await LifecycleRegister.open(store, opened.events);
  await opened.checkpoint();
  shared = new SharedState({ store, chains: opened.chains, leaseMs });
  const own = shared;
  return {
    shared,
    retention: opened.retention,
    exported: async function* (serverId) {
      await own.save();
      await opened.checkpoint();
      // Both kinds of journal, on disk and in memory, can be exported.
      if (opened.exported !== undefined) {
        yield* exportState({ serverId, store, records: opened.exported });
      }
    },
    close: async () => {
      try {
        await opened.close();
      } finally {
        await store.close();
      }
    },
  };
}
