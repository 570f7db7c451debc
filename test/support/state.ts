/** The state of a server over a directory, opened as often as a test likes. */
import { join } from "node:path";
import type { Journal } from "../../src/state/journal/journal.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import type { StateNotice } from "../../src/state/notice.ts";
import { Attributor, Ledger } from "../../src/state/records/ledger.ts";
import type { RecordFacts } from "../../src/state/records/record.ts";
import { createJournalStore, type RecordStore } from "../../src/state/records/record-store.ts";
import { createRecordSigner, createSealer } from "../../src/state/records/sealer.ts";
import { openState, type ServerState, type StateOptions } from "../../src/state/state.ts";
import type { Store } from "../../src/state/store.ts";
import { alterStore } from "./store.ts";

/** A store that outlives whoever opened it, and that a test can break. */
export interface LastingStore extends Store {
  fault: Error | undefined;
}

/** A memory store that is not closed; while it has a fault, it commits nothing. */
export function makeLastingStore(): LastingStore {
  const store = createMemoryStore();
  const lasting: LastingStore = {
    fault: undefined,
    ...alterStore(store, {
      async commit(...args) {
        if (lasting.fault !== undefined) throw lasting.fault;
        return store.commit(...args);
      },
      close: () => Promise.resolve(),
    }),
  };
  return lasting;
}

/** State, and what it reported as faults. */
export interface TestState extends ServerState {
  readonly attributor: Attributor;
  readonly faults: readonly unknown[];
  readonly notices: readonly StateNotice[];
}

/**
 * Opens the state that is kept in a store and a directory. One that is opened over another that was
 * not closed is what a process finds that follows a killed one.
 */
export async function openTestState(
  directory: string,
  store: Store,
  options: Pick<StateOptions, "disk" | "now"> = {},
): Promise<TestState> {
  const faults: unknown[] = [];
  const notices: StateNotice[] = [];
  const journalDirectory = join(directory, "journal");
  const onFault = (error: unknown): void => void faults.push(error);
  const onNotice = (notice: StateNotice): void => void notices.push(notice);
  const state = await openState({ store, journalDirectory, onFault, onNotice, ...options });
  const sealer = createSealer(createRecordSigner());
  const { ledger } = state;
  const attributor = new Attributor({ serverId: "agents.example", sealer, ledger });
  return { ...state, attributor, faults, notices };
}

/** State in memory, over a journal that a test can break. */
export async function openBreakableState(
  journal: Journal,
  place: Pick<RecordStore, "isInStore"> = {},
): Promise<ServerState> {
  const onFault = (): void => undefined;
  const store = createMemoryStore();
  const state = await openState({ store, journalDirectory: undefined, onFault });
  const records = { ...createJournalStore(journal), ...place };
  return { ...state, ledger: new Ledger(records, new Map(), onFault) };
}

/** What a record of some agent says, where a test does not care. */
export function makeFacts(agentId: string, changes: Partial<RecordFacts> = {}): RecordFacts {
  return {
    ...{ agentId, ownerId: "acme", requestId: "", responseId: "", actionId: undefined },
    ...{ method: "QUERY", requestedMethod: undefined, path: "/", status: 200 },
    ...{ sessionId: undefined, taskId: undefined, principalId: undefined },
    ...{ assurance: "unverified", requestBody: "", responseBody: "" },
    ...changes,
  };
}
