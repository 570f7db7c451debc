/**
 * Opens the ledger of a daemon: chain heads from the store, brought up to date from what the journal
 * has beyond them. After a crash every acknowledged record is in its chain, and none is twice.
 * AGTP-IDENTIFIERS "Attribution Chain"
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
  /** Undefined: records end with the process. */
  readonly journalDirectory: string | undefined;
  readonly segmentBytes?: number;
  /** Stores what else was made of the records before a checkpoint; where it rejects, none is made. */
  beforeCheckpoint?(): Promise<void>;
  /** A journal that cannot be written, or work beside serving that failed. */
  onFault(error: unknown): void;
  onNotice?(notice: StateNotice): void;
  readonly disk?: JournalDisk;
  /** The records of several nodes, in the place of a journal. */
  readonly shared?: SharedRecords;
  /** "process" without it. */
  readonly durability?: Durability;
  onCutStep?(step: CutStep): void;
  now?(): number;
}

/** Records that are kept where other nodes append as well. */
export interface SharedRecords {
  readonly records: RecordStore;
  /** Where all chains ended. */
  readonly heads: ReadonlyMap<string, ChainHead>;
  /** The latest lifecycle events, in order: the store may not have seen them. */
  readonly events: readonly JournalRecord[];
  latestEvents?(): Promise<readonly JournalRecord[]>;
  /** The records, as retention takes them away. */
  readonly retained?: RetainedRecords;
  /** Everything that the nodes keep, as the lines of an export. */
  exported?(serverId: string): AsyncIterable<string>;
}

/** Records of chains over a journal that is open. */
interface OpenRecords {
  /** Lifecycle events that the journal has beyond the last checkpoint, in order. */
  readonly events: readonly JournalRecord[];
  /** When the newest record was made, in milliseconds since the epoch; minus infinity without any. */
  readonly newestAt: number;
  /** Stores where the chains end, so that the journal up to here is not read again. */
  checkpoint(): Promise<void>;
  /** The records, for an export beside those that come. */
  readonly exported: RecordsSource | undefined;
  /** Keeps the journal within limits; undefined without one. */
  readonly retention?: Retention | undefined;
  /** Writes what is pending, keeps the heads, and closes the journal; not the store. */
  close(): Promise<void>;
}

interface OpenLedger extends OpenRecords {
  readonly ledger: Ledger;
}

/** Chains that grow in a journal, and which of them have. */
export interface GrowingChains {
  readonly heads: ChainHeads;
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Makes the chains over a store of records, from where each of them ends. */
type MakeChains<Chains extends GrowingChains> = (
  records: RecordStore,
  heads: ReadonlyMap<string, ChainHead>,
) => Chains;

const START: JournalPosition = { segment: 1, offset: 0 };

/** Opens the ledger; rejects with what the journal lacks. */
export async function openLedger(options: LedgerOptions): Promise<OpenLedger> {
  if (options.shared !== undefined) return openShared(options.shared, options);
  const { chains: ledger, ...opened } = await openChains(
    options,
    (records, heads) => new Ledger(records, heads, reporting(options), clockOf(options)),
  );
  return { ...opened, ledger };
}

/** Opens the journal and brings the chain heads up to date; rejects with what the journal lacks. */
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
  // A later one would lie beyond the heads of one that can fail yet.
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

/** A checkpoint is followed by a pause so many times as long, within a bound: a start after a kill replays what is written in it. */
const PAUSE_SHARE = 50;
const MOST_PAUSE_MS = 5_000;

/**
 * Checkpoints behind finished segments. At full load one is finished each half second, and a checkpoint stores the
 * head of every chain that has grown: with 10,000 of them that was a sixth of the processor's time.
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
    // Not at once: the records of this turn are in the heads only when the turn is over.
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
  // The journal's position reaches what was written last.
  await nextTurn();
  try {
    await checkpoint();
  } finally {
    await chains.close();
  }
}

/** The operator has nothing to mend where the outcome of a record is not known. */
function reporting({ onFault, onNotice }: LedgerOptions): (error: Error) => void {
  return (error) => {
    if (onNotice === undefined || !(error instanceof UnknownOutcomeError)) onFault(error);
    else onNotice(unknownNotice(error));
  };
}

/** So many Audit-IDs stand in one line. */
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

/** A commit keeps the loop from everything else: 10,000 heads in one took 100 ms. */
const SLICE = 256;

/** Commits the heads, and behind them the position; a replay comes by heads again that stand behind it. */
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
  // Records written from here on are replayed again: they may not have been taken in yet.
  const { position } = journal;
  await beforeCheckpoint?.();
  const changed = chains.heads.takeChanged();
  try {
    // The store is synced: it must not know of records that a power cut takes from the journal.
    await journal.sync();
    await commitInSlices(store, knownChainChanges(changed, position));
  } catch (error) {
    // A later checkpoint lies beyond these records, and nothing would tell of them again.
    chains.heads.mark(changed.keys());
    throw error;
  }
  return position;
}
