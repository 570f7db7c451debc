/**
 * Opens the ledger of a daemon: chain heads from the store, brought up to date from what the journal
 * has beyond them. After a crash every acknowledged record is in its chain, and none is twice.
 * AGTP-IDENTIFIERS "Attribution Chain"
 */
import { decodeJws } from "../identity/jws.ts";
import { isRecord } from "../json-value.ts";
import type { Change, Store } from "../store/store.ts";
import { FileJournal, type JournalPosition } from "./file-journal.ts";
import { createMemoryJournal, type JournalRecord } from "./journal.ts";
import { type ChainHead, Ledger } from "./ledger.ts";

/** Where the ledger keeps what. */
export interface LedgerOptions {
  readonly store: Store;
  /** Undefined: records end with the process. */
  readonly journalDirectory: string | undefined;
  readonly segmentBytes?: number;
  /** Stores what else was made of the records before a checkpoint; where it rejects, none is made. */
  beforeCheckpoint?(): Promise<void>;
  /** A journal that cannot be written, or work beside serving that failed. */
  onFault(error: unknown): void;
}

/** A ledger that is open. */
export interface OpenLedger {
  readonly ledger: Ledger;
  /** Lifecycle events that the journal has beyond the last checkpoint, in order. */
  readonly events: readonly JournalRecord[];
  /** Stores where the chains end, so that the journal up to here is not read again. */
  checkpoint(): Promise<void>;
  /** Writes what is pending, keeps the heads, and closes the journal; not the store. */
  close(): Promise<void>;
}

const HEADS = "chain-heads";
const CHECKPOINTS = "chain-checkpoints";
const JOURNAL = "journal";
const START: JournalPosition = { segment: 1, offset: 0 };

/** Opens the journal and brings the chain heads up to date. */
export async function openLedger(options: LedgerOptions): Promise<OpenLedger> {
  const { journalDirectory, onFault } = options;
  if (journalDirectory === undefined) {
    const ledger = new Ledger(createMemoryJournal(), new Map(), onFault);
    const checkpoint = (): Promise<void> => Promise.resolve();
    return { ledger, events: [], checkpoint, close: () => ledger.close() };
  }
  return openKept({ ...options, journalDirectory });
}

async function openKept(
  options: LedgerOptions & { readonly journalDirectory: string },
): Promise<OpenLedger> {
  const { store, journalDirectory, segmentBytes, onFault } = options;
  const checkpoint = readPosition(await store.get(CHECKPOINTS, JOURNAL)) ?? START;
  let checkpointNow: () => Promise<void> = () => Promise.resolve();
  const journal = await FileJournal.open({
    directory: journalDirectory,
    firstSegment: checkpoint.segment,
    ...(segmentBytes === undefined ? {} : { segmentBytes }),
    onFinished: () => {
      // The records of this turn are in the heads only when the turn is over.
      setImmediate(() => void checkpointNow().catch(onFault));
    },
    onFault,
  });
  const heads = await readHeads(store);
  const { grown, events } = await replay(journal, checkpoint);
  const ledger = new Ledger(journal, new Map([...heads, ...grown]), onFault);
  ledger.markChanged(grown.keys());
  checkpointNow = () => storeCheckpoint(options, ledger, journal);
  return {
    ledger,
    events,
    checkpoint: checkpointNow,
    close: async () => {
      await ledger.settled().catch(() => undefined);
      try {
        await checkpointNow();
      } finally {
        await ledger.close();
      }
    },
  };
}

/** What the journal tells from a position on. */
interface Replay {
  readonly grown: ReadonlyMap<string, ChainHead>;
  readonly events: readonly JournalRecord[];
}

async function replay(journal: FileJournal, from: JournalPosition): Promise<Replay> {
  const grown = new Map<string, ChainHead>();
  const events: JournalRecord[] = [];
  for await (const { auditId, jws } of journal.replay(from)) {
    const payload = decodeJws(jws)?.payload;
    if (payload === undefined) continue;
    const { agent_id: agentId, issued_at: issuedAt, method } = payload;
    if (typeof agentId !== "string" || typeof issuedAt !== "string") continue;
    const at = Date.parse(issuedAt);
    grown.set(agentId, { auditId, at, method: typeof method === "string" ? method : "" });
    if ("event_type" in payload) events.push({ auditId, jws });
  }
  return { grown, events };
}

async function storeCheckpoint(
  { store, beforeCheckpoint }: LedgerOptions,
  ledger: Ledger,
  journal: FileJournal,
): Promise<void> {
  // What is written from here on is told of once more: nothing may have been made of it yet.
  const { position } = journal;
  await beforeCheckpoint?.();
  const changed = ledger.takeChanged();
  try {
    await store.commit([...headChanges(changed), checkpointChange(position)]);
  } catch (error) {
    // A later checkpoint lies beyond these records, and nothing would tell of them again.
    ledger.markChanged(changed.keys());
    throw error;
  }
}

async function readHeads(store: Store): Promise<Map<string, ChainHead>> {
  const heads = new Map<string, ChainHead>();
  for (const { key, value } of await store.list(HEADS)) {
    if (!isRecord(value)) continue;
    const { audit_id: auditId, at, method } = value;
    if (typeof auditId !== "string" || typeof at !== "number") continue;
    heads.set(key, { auditId, at, method: typeof method === "string" ? method : "" });
  }
  return heads;
}

function headChanges(heads: ReadonlyMap<string, ChainHead>): readonly Change[] {
  return [...heads].map(([key, { auditId, at, method }]) => ({
    kind: "put",
    collection: HEADS,
    key,
    value: { audit_id: auditId, at, method },
  }));
}

function checkpointChange({ segment, offset }: JournalPosition): Change {
  return { kind: "put", collection: CHECKPOINTS, key: JOURNAL, value: { segment, offset } };
}

function readPosition(value: unknown): JournalPosition | undefined {
  if (!isRecord(value)) return undefined;
  const { segment, offset } = value;
  return typeof segment === "number" && typeof offset === "number"
    ? { segment, offset }
    : undefined;
}
