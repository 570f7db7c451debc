/**
 * Opens the state that workers share, in their parent: what the journal has beyond the store is made
 * up for before any of them begins.
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
  /** Undefined: records end with the process. */
  readonly journalDirectory: string | undefined;
  readonly durability: Durability;
  readonly leaseMs: number;
  onFault(error: unknown): void;
  onNotice(notice: StateNotice): void;
}

export interface OpenSharedState {
  readonly shared: SharedState;
  /** Keeps the journal within limits; undefined where there is none. */
  readonly retention: Retention | undefined;
  /** Everything that is kept, as the lines of a file. */
  exported(serverId: string): AsyncIterable<string>;
  /** Keeps where the chains end, and closes everything; once no worker is left. */
  close(): Promise<void>;
}

/** Opens the shared state over a store, which it takes over; rejects with what the journal lacks. */
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
      // Both a journal and a memory can be exported.
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
