/**
 * The seam under the ledger: who decides which record comes next in a chain. A batch is appended by
 * compare-and-set: each chain names the record that it was sealed after, and where another writer
 * was sooner, nothing of that chain is kept and its head is answered. And where the chains of this process
 * end.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import { nameText } from "../../base/kept-text.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { WhereCut } from "../journal/archived-records.ts";
import type {
  Journal,
  JournalPosition,
  JournalRecord,
  RecordPlace,
  RecordReader,
} from "../journal/journal.ts";
import type { PackedRecords } from "../journal/packed-records.ts";
import type { Chain } from "./record.ts";

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
  /** Further records, which came as octets. */
  readonly packed?: readonly PackedRecords[];
}

/** A batch that was decided. */
export interface Appended {
  /** Where the first record stands, each other one behind the line feed of the one before. */
  readonly first?: JournalPosition | undefined;
  /**
   * The chains that end otherwise than was expected, with their heads as they are, undefined where
   * there is none: none of their records is kept, those of all other chains are. Undefined: there are
   * no other writers.
   */
  readonly moved?: ReadonlyMap<string, ChainHead | undefined> | undefined;
  /** The chains that the store has lost, each with why: none of their records is kept, either. */
  readonly failed?: ReadonlyMap<string, Error> | undefined;
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
  /**
   * Takes turns at a chain that others move as well: resolves with its head when it is this writer's turn, which ends
   * with its next batch or after a while. A hint, by which less is sealed in vain; `isLost`: the last batch lost.
   */
  turnAt?(agentId: string, isLost: boolean): Promise<ChainHead | undefined>;
  /** Has somebody told of chains that others have lost to this writer. */
  onRaced?(hear: (agentId: string) => void): void;
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
    append: ({ records, packed }) => ({ first: journal.write(records, packed) }),
    probe: () => journal.probe(),
    find: (auditId) => journal.find(auditId),
    openReader: () => journal.openReader?.() ?? journal,
    close: () => journal.close(),
  };
}

/** The end of a chain; moved without a look at a map, as each record moves one. */
interface ChainEnd {
  /** Undefined: nothing of the chain is kept. */
  head: ChainHead | undefined;
  /** Moved, or marked, since `takeChanged`. */
  isChanged: boolean;
}

/** The last record of each chain, and which of them this process has moved. */
export class ChainHeads {
  readonly #ends = new Map<string, ChainEnd>();
  /** Agents whose chains this process has moved since `takeChanged`. */
  #changed: string[] = [];

  constructor(heads: ReadonlyMap<string, ChainHead>) {
    for (const [agentId, head] of heads) this.#endOf(nameText(agentId)).head = head;
  }

  /** Where all chains end. */
  get all(): ReadonlyMap<string, ChainHead> {
    return headsOf(this.#ends);
  }

  /** The last record of a chain that this process knows of. */
  get(agentId: string): ChainHead | undefined {
    return this.#ends.get(agentId)?.head;
  }

  /** Takes in a record that this process has written. */
  move(agentId: string, head: ChainHead): void {
    const end = this.#endOf(agentId);
    end.head = head;
    this.#mark(agentId, end);
  }

  /** Takes in where another process has left a chain; undefined: nothing of it is kept. */
  learn(agentId: string, head: ChainHead | undefined): void {
    this.#endOf(agentId).head = head;
  }

  /** The heads that were moved, or marked, since the last call; those that a store has together are neighbours. */
  takeChanged(): ReadonlyMap<string, ChainHead> {
    const neighbours = byBeginning(this.#changed);
    const changed = neighbours.map((agentId) => [agentId, this.#endOf(agentId)] as const);
    for (const [, end] of changed) end.isChanged = false;
    this.#changed = [];
    return headsOf(changed);
  }

  /** Marks chains that the store does not know as they are. */
  mark(agentIds: Iterable<string>): void {
    for (const agentId of agentIds) this.#mark(agentId, this.#endOf(agentId));
  }

  #mark(agentId: string, end: ChainEnd): void {
    if (end.isChanged) return;
    end.isChanged = true;
    this.#changed.push(agentId);
  }

  #endOf(agentId: string): ChainEnd {
    const known = this.#ends.get(agentId);
    if (known !== undefined) return known;
    const end = { head: undefined, isChanged: false };
    this.#ends.set(agentId, end);
    return end;
  }
}

/** In the order of their first octet: 10,000 heads in no order are written in three times the time. */
function byBeginning(agentIds: readonly string[]): readonly string[] {
  const groups = new Map<string, string[]>();
  for (const agentId of agentIds) {
    const beginning = agentId.slice(0, 2);
    const group = groups.get(beginning);
    if (group === undefined) groups.set(beginning, [agentId]);
    else group.push(agentId);
  }
  const sorted = [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.flatMap(([, group]) => group);
}

function headsOf(ends: Iterable<readonly [string, ChainEnd]>): ReadonlyMap<string, ChainHead> {
  const heads = new Map<string, ChainHead>();
  for (const [agentId, { head }] of ends) if (head !== undefined) heads.set(agentId, head);
  return heads;
}

interface ChainClockOptions {
  readonly heads: Pick<ChainHeads, "get">;
  /** The time of the newest record of all chains. */
  readonly newestAt: number;
  /** Drafts that are in no head yet. */
  pending(): Iterable<Chain>;
  /** Told once for each step, with its size in milliseconds. */
  onStepBack(milliseconds: number): void;
  now?(): number;
}

/**
 * Reads the time of records; one for all chains of a process. It never lies before the record that a chain
 * ends with, though the machine's clock may step back: a chain whose time runs backwards does not verify.
 */
export class ChainClock {
  readonly #options: ChainClockOptions;
  /** No chain has a record that is later. */
  #newestAt: number;
  /** The last reading of the machine's clock. */
  #lastReading: number;
  /** Where chains are while the clock is behind one of them; empty otherwise. */
  readonly #ahead = new Map<string, number>();

  constructor(options: ChainClockOptions) {
    this.#options = options;
    this.#newestAt = options.newestAt;
    this.#lastReading = options.newestAt;
    // A step before the start is told of at the start, not with the first request.
    this.#read();
  }

  /** The time of the next record of a chain. */
  next(agentId: string): number {
    const now = this.#read();
    if (now >= this.#newestAt) {
      this.#newestAt = now;
      if (this.#ahead.size > 0) this.#ahead.clear();
      return now;
    }
    const { at: headAt = now } = this.#options.heads.get(agentId) ?? {};
    const at = Math.max(now, headAt, this.#ahead.get(agentId) ?? now);
    this.#ahead.set(agentId, at);
    return at;
  }

  /** Takes in a record that another process has written: its clock may be ahead. */
  reach(at: number): void {
    if (at > this.#newestAt) this.#newestAt = at;
  }

  #read(): number {
    const { now = Date.now, onStepBack, pending } = this.#options;
    const reading = now();
    const step = this.#lastReading - reading;
    this.#lastReading = reading;
    if (step > 0) {
      for (const { agentId, at } of pending()) this.#ahead.set(agentId, at);
      onStepBack(step);
    }
    return reading;
  }
}
