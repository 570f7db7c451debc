/**
 * Opens the ledger of a daemon with the chain heads from the store, updated from the journal beyond them. After a
 * crash every acknowledged record is in its chain exactly once.   AGTP-IDENTIFIERS "Attribution Chain"
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { Turns } from "../../base/turns.ts";
import { continueIdsAfter } from "../../identity/uuid.ts";
import { withCut } from "../journal/cut-chains.ts";
import { FileJournal } from "../journal/file-journal.ts";
import {
  createMemoryJournal,
  type JournalPosition,
  type JournalRecord,
} from "../journal/journal.ts";
import { compareJournal } from "../journal/journal-comparison.ts";
import { JournalDamageError } from "../journal/journal-damage.ts";
import type { JournalDisk } from "../journal/journal-disk.ts";
import { replayJournal } from "../journal/journal-replay.ts";
import { JournalRetention } from "../journal/journal-retention.ts";
import type { CutStep } from "../journal/make-cut.ts";
import { type RetainedRecords, Retention } from "../journal/retention.ts";
import { journalSource, type RecordsSource, rememberedRecords } from "../moving/export-state.ts";
import type { StateNotice } from "../notice.ts";
import type { Durability } from "../state-sections.ts";
import type { Change, Store } from "../store.ts";
import { knownChainChanges, readKnownChains } from "./known-chains.ts";
import { Ledger, type LedgerClock, newestOf } from "./ledger.ts";
import {
  type ChainHead,
  type ChainHeads,
  createJournalStore,
  type RecordStore,
  UnknownOutcomeError,
} from "./record-store.ts";

export interface LedgerOptions {
  readonly store: Store;
  /** Undefined: records are lost with the process. */
  readonly journalDirectory: string | undefined;
  readonly segmentBytes?: number;
  /** Stores what was derived from the records, before a checkpoint; a rejection prevents the checkpoint. */
  beforeCheckpoint?(): Promise<void>;
  /** Called if the journal cannot be written, or background work failed. */
  onFault(error: unknown): void;
  onNotice?(notice: StateNotice): void;
  readonly disk?: JournalDisk;
  /** The shared records of several nodes, instead of a journal. */
  readonly shared?: SharedRecords;
  /** Default: "process". */
  readonly durability?: Durability;
  onCutStep?(step: CutStep): void;
  now?(): number;
}

/** Records in a store to which other nodes append too. */
export interface SharedRecords {
  readonly records: RecordStore;
  /** The chain heads at the opening. */
  readonly heads: ReadonlyMap<string, ChainHead>;
  /** The latest lifecycle events in order, which the store may lack. */
  readonly events: readonly JournalRecord[];
  latestEvents?(): Promise<readonly JournalRecord[]>;
  /** The records as retention sees them. */
  readonly retained?: RetainedRecords;
  /** Yields the state of every node, as lines of an export. */
  exported?(serverId: string): AsyncIterable<string>;
}

/** Chains over an open journal. */
interface OpenRecords {
  /** Lifecycle events in the journal after the last checkpoint, in order. */
  readonly events: readonly JournalRecord[];
  /** When the newest record was made, in milliseconds since the epoch; minus infinity without any. */
  readonly newestAt: number;
  /** Stores the chain heads, so that the journal up to here is not replayed again. */
  checkpoint(): Promise<void>;
  /** The records, for an export during operation. */
  readonly exported: RecordsSource | undefined;
  /** Keeps the journal within its limits; undefined without one. */
  readonly retention?: Retention | undefined;
  /** Writes pending records, stores the heads, and closes the journal, but not the store. */
  close(): Promise<void>;
}

interface OpenLedger extends OpenRecords {
  readonly ledger: Ledger;
}

/** Chains that grow in a journal, with their changed heads. */
export interface GrowingChains {
  readonly heads: ChainHeads;
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Creates the chains over a record store, from their heads. */
type MakeChains<Chains extends GrowingChains> = (
  records: RecordStore,
  heads: ReadonlyMap<string, ChainHead>,
) => Chains;

const START: JournalPosition = { segment: 1, offset: 0 };

/** Opens the ledger; rejects with the journal's damage. */
export async function openLedger(options: LedgerOptions): Promise<OpenLedger> {
  if (options.shared !== undefined) return openShared(options.shared, options);
  const { chains: ledger, ...opened } = await openChains(
    options,
    (records, heads) => new Ledger(records, heads, reporting(options), clockOf(options)),
  );
  return { ...opened, ledger };
}

/** Opens the journal and updates the chain heads; rejects with the journal's damage. */
export async function openChains<Chains extends GrowingChains>(
  options: Omit<LedgerOptions, "shared">,
  make: MakeChains<Chains>,
): Promise<OpenRecords & { readonly chains: Chains }> {
  const { journalDirectory } = options;
  if (journalDirectory !== undefined) return openKept({ ...options, journalDirectory }, make);
  const journal = createMemoryJournal();
  const chains = make(createJournalStore(journal), new Map());
  const checkpoint = (): Promise<void> => Promise.resolve();
  const newestAt = newestOf([]);
  const exported = rememberedRecords(journal);
  return { chains, events: [], newestAt, checkpoint, exported, close: () => chains.close() };
}

function openShared(shared: SharedRecords, options: LedgerOptions): OpenLedger {
  const { records, heads, events, retained } = shared;
  const retention = retained && new Retention(retained, options);
  const ledger = new Ledger(records, heads, reporting(options), clockOf(options));
  const newestAt = newestOf(heads.values());
  continueIdsAfter(newestAt);
  const checkpoint = async (): Promise<void> => options.beforeCheckpoint?.();
  const close = (): Promise<void> => closeChains(ledger, retention, checkpoint);
  return { ledger, events, newestAt, checkpoint, exported: undefined, retention, close };
}

interface KeptOptions extends LedgerOptions {
  readonly journalDirectory: string;
}

async function openKept<Chains extends GrowingChains>(
  options: KeptOptions,
  make: MakeChains<Chains>,
): Promise<OpenRecords & { readonly chains: Chains }> {
  const { journalDirectory, onFault } = options;
  const stored = await readKnownChains(options.store);
  const { known, events: older, added } = await withCut(journalDirectory, stored);
  const { damages, heads, placed } = await compareJournal(journalDirectory, known);
  if (damages.length > 0) throw new JournalDamageError(damages);
  const checkpoint = known.checkpoint ?? START;
  let checkpointNow: () => Promise<void> = () => Promise.resolve();
  const checkpoints = new SpacedCheckpoints(() => checkpointNow().catch(onFault));
  const isPowerSafe = options.durability === "power";
  const journal = await FileJournal.open({
    ...options,
    directory: journalDirectory,
    firstSegment: checkpoint.segment,
    isPowerSafe,
    onFinished: () => checkpoints.finished(),
  });
  const { grown, events, damages: found } = await replayJournal(journal, checkpoint, heads);
  if (found.length > 0) {
    await journal.close();
    throw new JournalDamageError(found);
  }
  const all = new Map([...heads, ...grown]);
  let takenIn = checkpoint.segment;
  let readers = 0;
  const use = { takenIn: () => takenIn, isHeld: () => readers > 0 };
  const retained = await JournalRetention.open(journal, use, options.onCutStep);
  const retention = new Retention(retained, options);
  const hold = async () => {
    readers += 1;
    await retained.still();
    return () => {
      readers -= 1;
    };
  };
  const kept = createJournalStore(journal);
  const records: RecordStore = {
    ...kept,
    isImmediate: !isPowerSafe,
    append: isPowerSafe
      ? async ({ records, packed }) => ({ first: await journal.writeDurably(records, packed) })
      : kept.append,
    whereCut: (auditId) => retained.whereCut(auditId),
  };
  const chains = make(records, all);
  const newestAt = newestOf(all.values());
  continueIdsAfter(newestAt);
  for (const agentIds of [placed, grown.keys(), added]) chains.heads.mark(agentIds);
  // Serialized: a later checkpoint would skip the heads of an earlier one that may yet fail.
  const turns = new Turns();
  checkpointNow = () =>
    turns.run(async () => {
      const { segment } = await storeCheckpoint(options, chains, journal);
      takenIn = segment;
    });
  return {
    chains,
    events: [...older, ...events],
    newestAt,
    checkpoint: checkpointNow,
    retention,
    exported: journalSource(journalDirectory, () => journal.position, hold),
    close: () => {
      checkpoints.close();
      return closeChains(chains, retention, checkpointNow);
    },
  };
}

/**
 * The pause after a checkpoint, as a multiple of its duration, up to a bound: a restart after a kill replays what
 * was written in it.
 */
const PAUSE_SHARE = 50;
const MOST_PAUSE_MS = 5_000;

/**
 * Checkpoints after finished segments. At full load a segment is finished every half second, and a checkpoint stores
 * the head of each chain that has grown: with 10,000 of them it took a sixth of the CPU time.
 */
class SpacedCheckpoints {
  readonly #make: () => Promise<void>;
  #nextAt = Number.NEGATIVE_INFINITY;
  #isMaking = false;
  #isDue = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(make: () => Promise<void>) {
    this.#make = make;
  }

  finished(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    if (this.#isMaking) {
      this.#isDue = true;
      return;
    }
    // Deferred, because the records of this turn reach the heads only at its end.
    const pauseMs = Math.max(0, this.#nextAt - performance.now());
    this.#timer = setTimeout(() => void this.#makeNow(), pauseMs);
  }

  async #makeNow(): Promise<void> {
    this.#timer = undefined;
    this.#isMaking = true;
    const begunAt = performance.now();
    await this.#make();
    const endedAt = performance.now();
    this.#nextAt = endedAt + Math.min(PAUSE_SHARE * (endedAt - begunAt), MOST_PAUSE_MS);
    this.#isMaking = false;
    if (!this.#isDue) return;
    this.#isDue = false;
    this.finished();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}

async function closeChains(
  chains: GrowingChains,
  retention: Retention | undefined,
  checkpoint: () => Promise<void>,
): Promise<void> {
  await retention?.close();
  await chains.settled().catch(() => undefined);
  // After this turn, the journal's position covers the last write.
  await nextTurn();
  try {
    await checkpoint();
  } finally {
    await chains.close();
  }
}

/** An unknown outcome is a notice rather than a fault, since the operator has nothing to repair. */
function reporting({ onFault, onNotice }: LedgerOptions): (error: Error) => void {
  return (error) => {
    if (onNotice === undefined || !(error instanceof UnknownOutcomeError)) onFault(error);
    else onNotice(unknownNotice(error));
  };
}

/** The most Audit-IDs in one line of the log. */
const IDS_TOLD = 8;

function unknownNotice({ auditIds, message }: UnknownOutcomeError): StateNotice {
  const told = auditIds.slice(0, IDS_TOLD).join(" ");
  return {
    ...{ level: "warn", event: "record-outcome-unknown" },
    message: `nobody knows whether records were kept, and their requests are answered 503 outcome-unknown: ${message}`,
    fields: { records: auditIds.length, ...(told === "" ? {} : { audit_ids: told }) },
  };
}

function clockOf({ onNotice, now }: LedgerOptions): LedgerClock {
  const onStepBack = (milliseconds: number): void =>
    onNotice?.({
      level: "warn",
      event: "clock-stepped-back",
      message: `the clock is ${milliseconds} ms behind what it was: records keep the time of the ones before them until it has caught up`,
      fields: { step_ms: milliseconds },
    });
  return { onStepBack, ...(now && { now }) };
}

/** The most changes per commit, which blocks the event loop: 10,000 heads in one took 100 ms. */
const SLICE = 256;

/** Commits the heads first and then the position; a replay repeats heads beyond the position harmlessly. */
async function commitInSlices(store: Store, changes: readonly Change[]): Promise<void> {
  for (let from = 0; from < changes.length; from += SLICE) {
    await store.commit(changes.slice(from, from + SLICE));
  }
}

async function storeCheckpoint(
  { store, beforeCheckpoint }: LedgerOptions,
  chains: GrowingChains,
  journal: FileJournal,
): Promise<JournalPosition> {
  // Later records are replayed after a crash: they may not be in the heads yet.
  const { position } = journal;
  await beforeCheckpoint?.();
  const changed = chains.heads.takeChanged();
  try {
    // The store is synced, and must not know of records that a power failure removes from the journal.
    await journal.sync();
    await commitInSlices(store, knownChainChanges(changed, position));
  } catch (error) {
    // Otherwise a later checkpoint would be beyond these records, without their heads.
    chains.heads.mark(changed.keys());
    throw error;
  }
  return position;
}
