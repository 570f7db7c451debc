/**
 * The seam under the ledger: who decides which record comes next in a chain. A batch is appended by
 * compare-and-set: each chain names the record that it was sealed after, and where another writer
 * was sooner, nothing of that chain is kept and its head is answered.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import { reasonOf } from "../../base/thrown.ts";
import type { WhereCut } from "../journal/archived-records.ts";
import type { Journal, JournalRecord, RecordPlace, RecordReader } from "../journal/journal.ts";
import type { Chain } from "./draft.ts";

/** The last record of an agent's chain. */
export interface ChainHead {
  readonly auditId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The method that the record is about. */
  readonly method: string;
  /** Undefined where the journal ends with the process, or an earlier build has not noted it. */
  readonly place?: RecordPlace | undefined;
}

/** A signed record of a chain. */
export interface ChainedRecord extends JournalRecord {
  readonly chain: Chain;
}

/** Records that are appended together. */
export interface RecordBatch {
  /** By chain in order: each one's first names its expected head, each later one the one before. */
  readonly records: readonly ChainedRecord[];
  /** The Audit-ID that each chain of the batch is expected to end with; 64 zeros for a new one. */
  readonly expected: ReadonlyMap<string, string>;
  /** By agent when that record was made, in milliseconds since the epoch. */
  readonly since?: ReadonlyMap<string, number>;
  /** All records with a line feed each, where they came as octets. */
  readonly lines?: Uint8Array | undefined;
}

/** A journal that resolves once a power cut cannot lose a record; one call at a time. */
interface DurableJournal extends Journal {
  writeDurably(
    records: readonly JournalRecord[],
    lines?: Uint8Array,
  ): Promise<Omit<RecordPlace, "length">>;
}

/** A batch that was decided. */
export interface Appended {
  /** Where the first record stands, each other one behind the line feed of the one before. */
  readonly first?: Omit<RecordPlace, "length"> | undefined;
  /**
   * The chains that end otherwise than was expected, with their heads as they are, undefined where
   * there is none: none of their records is kept, those of all other chains are. Undefined: there are
   * no other writers.
   */
  readonly moved?: ReadonlyMap<string, ChainHead | undefined> | undefined;
}

export interface RecordStore {
  /**
   * True where `append` answers at once and loses to nobody: records are then appended while others
   * of their batch are still being signed.
   */
  readonly isImmediate: boolean;
  /** True where they lie in the store: what keeps them from being kept is a fault of the store. */
  readonly isInStore?: boolean;
  /** How many batches may be under way at once; one without it. */
  readonly batches?: number;
  /**
   * True where batches are decided in the order in which they were appended: one may then expect the
   * records of another that is still under way, and loses where that has lost.
   */
  readonly isOrdered?: boolean;
  /**
   * Appends a batch. Settled once what it kept cannot be lost; where that is not known, it finds out
   * first.
   * @throws where none of the batch is kept, and `UnknownOutcomeError` where nobody can tell.
   */
  append(batch: RecordBatch): Appended | Promise<Appended>;
  /** Throws while nothing can be appended. */
  probe(): void;
  /** The compact JWS of a record; reads beside what is being appended. */
  find(auditId: string): Promise<string | undefined>;
  /** Finds many records of one chain, one behind the other; without this, `find` does. */
  openReader?(): RecordReader;
  /** As a reader's; for stores without `openReader`. */
  before?(agentId: string, auditId: string | undefined): Promise<JournalRecord | undefined>;
  /** Where a record went that was cut off; without this, nothing ever is. */
  whereCut?(auditId: string): Promise<WhereCut | undefined>;
  /** The heads of chains as they are now; without this, the ledger knows them itself. */
  headsOf?(agentIds: readonly string[]): Promise<ReadonlyMap<string, ChainHead>>;
  close(): Promise<void>;
}

/** The records may be kept or not, and it could not be found out. */
export class UnknownOutcomeError extends Error {
  override readonly name = "UnknownOutcomeError";
  /** The Audit-IDs by which they can be looked up, as far as they are known. */
  readonly auditIds: readonly string[];

  constructor(cause: unknown, auditIds: readonly string[] = []) {
    super(reasonOf(cause), { cause });
    this.auditIds = auditIds;
  }
}

/** The records of one process in its own journal: nobody else writes, so every batch is kept. */
export function createJournalStore(journal: Journal): RecordStore {
  return {
    isImmediate: true,
    append: ({ records, lines }) => ({ first: journal.write(records, lines) }),
    probe: () => journal.probe(),
    find: (auditId) => journal.find(auditId),
    openReader: () => journal.openReader?.() ?? journal,
    close: () => journal.close(),
  };
}

/** As `createJournalStore`, where what is kept has to survive a power cut. */
export function createPowerSafeStore(journal: DurableJournal): RecordStore {
  return {
    ...createJournalStore(journal),
    isImmediate: false,
    append: async ({ records, lines }) => ({ first: await journal.writeDurably(records, lines) }),
  };
}
