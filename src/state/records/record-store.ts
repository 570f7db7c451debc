/**
 * The interface under the ledger, which decides the next record of a chain. A batch is appended by compare-and-set:
 * each chain names the record that it follows, and if another writer was faster, nothing of that chain is stored and
 * its current head is returned. Also the chain heads of this process.   AGTP-IDENTIFIERS "Attribution Chain"
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
  /** The method of the recorded request. */
  readonly method: string;
  /** Undefined if the journal is volatile, or an earlier build stored the head. */
  readonly place?: RecordPlace | undefined;
}

/** A signed record of a chain. */
export interface ChainedRecord extends JournalRecord {
  readonly chain: Chain;
}

/** Records that are appended together. */
export interface RecordBatch {
  /** Grouped by chain and in order: the first of a chain follows the expected head, each later one its predecessor. */
  readonly records: readonly ChainedRecord[];
  /** The expected head of each chain, as an Audit-ID; 64 zeros for a new chain. */
  readonly expected: ReadonlyMap<string, string>;
  /** By agent, when the expected head was made, in milliseconds since the epoch. */
  readonly since?: ReadonlyMap<string, number>;
  /** Further records, as raw octets. */
  readonly packed?: readonly PackedRecords[];
}

/** The outcome of a batch. */
export interface Appended {
  /** The place of the first record; each other follows the previous one's line feed. */
  readonly first?: JournalPosition | undefined;
  /**
   * Chains whose head was not the expected one, with their current heads, undefined if there is none: none of their
   * records is stored, while those of other chains are. Undefined: there are no other writers.
   */
  readonly moved?: ReadonlyMap<string, ChainHead | undefined> | undefined;
  /** Chains that the store has lost, with the errors; none of their records is stored either. */
  readonly failed?: ReadonlyMap<string, Error> | undefined;
}

export interface RecordStore {
  /**
   * True if `append` is synchronous and never loses a race; records are then appended while others of their batch
   * are being signed.
   */
  readonly isImmediate: boolean;
  /** True if records are kept in the store, so that a failure is the store's. */
  readonly isInStore?: boolean;
  /** The most batches in flight; default: one. */
  readonly batches?: number;
  /**
   * True if batches are decided in the order of their appends: a batch may then expect records of another in flight,
   * and loses if that one loses.
   */
  readonly isOrdered?: boolean;
  /**
   * Appends a batch. Settles once the stored records are safe; an unknown outcome is resolved first.
   * @throws if nothing of the batch is stored, and `UnknownOutcomeError` if the outcome cannot be determined
   */
  append(batch: RecordBatch): Appended | Promise<Appended>;
  /**
   * Requests a turn at a chain that others move too: resolves with its head at this writer's turn, which ends with
   * its next batch or after a while. Only a hint that saves vain sealing; `isLost`: the last batch lost.
   */
  turnAt?(agentId: string, isLost: boolean): Promise<ChainHead | undefined>;
  /** Calls back with chains at which other writers have lost to this one. */
  onRaced?(hear: (agentId: string) => void): void;
  /** Throws while nothing can be appended. */
  probe(): void;
  /** Returns the compact JWS of a record; works while others are appended. */
  find(auditId: string): Promise<string | undefined>;
  /** Returns a reader for many consecutive records of a chain; default: `find`. */
  openReader?(): RecordReader;
  /** As `RecordReader.before`, for stores without `openReader`. */
  before?(agentId: string, auditId: string | undefined): Promise<JournalRecord | undefined>;
  /** Returns where retention moved a record; undefined if retention does not apply. */
  whereCut?(auditId: string): Promise<WhereCut | undefined>;
  /** Returns the current heads of chains; undefined if the ledger knows them itself. */
  headsOf?(agentIds: readonly string[]): Promise<ReadonlyMap<string, ChainHead>>;
  close(): Promise<void>;
}

/** Thrown if it cannot be determined if the records were stored. */
export class UnknownOutcomeError extends Error {
  override readonly name = "UnknownOutcomeError";
  /** The Audit-IDs to look up, if known. */
  readonly auditIds: readonly string[];

  constructor(cause: unknown, auditIds: readonly string[] = []) {
    super(reasonOf(cause), { cause });
    this.auditIds = auditIds;
  }
}

/** Creates the record store over a process's own journal: nobody else writes, so every batch is stored. */
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

/** A mutable entry, since each record moves a head and a lookup in a map would cost more. */
interface ChainEnd {
  /** Undefined: the chain has no stored record. */
  head: ChainHead | undefined;
  /** True if moved or marked since `takeChanged`. */
  isChanged: boolean;
}

/** The head of each chain, and which of them this process has moved. */
export class ChainHeads {
  readonly #ends = new Map<string, ChainEnd>();
  /** Agents whose chains were moved or marked since `takeChanged`. */
  #changed: string[] = [];

  constructor(heads: ReadonlyMap<string, ChainHead>) {
    for (const [agentId, head] of heads) this.#endOf(nameText(agentId)).head = head;
  }

  /** The heads of every chain. */
  get all(): ReadonlyMap<string, ChainHead> {
    return headsOf(this.#ends);
  }

  /** Returns the head of a chain as known to this process. */
  get(agentId: string): ChainHead | undefined {
    return this.#ends.get(agentId)?.head;
  }

  /** Sets a head after this process wrote a record. */
  move(agentId: string, head: ChainHead): void {
    const end = this.#endOf(agentId);
    end.head = head;
    this.#mark(agentId, end);
  }

  /** Sets a head after another process moved it; undefined: the chain has no stored record. */
  learn(agentId: string, head: ChainHead | undefined): void {
    this.#endOf(agentId).head = head;
  }

  /** Returns the heads moved or marked since the last call, sorted by their first octet. */
  takeChanged(): ReadonlyMap<string, ChainHead> {
    const neighbours = byBeginning(this.#changed);
    const changed = neighbours.map((agentId) => [agentId, this.#endOf(agentId)] as const);
    for (const [, end] of changed) end.isChanged = false;
    this.#changed = [];
    return headsOf(changed);
  }

  /** Marks chains whose stored heads are outdated. */
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

/** Sorts by the first octet: 10,000 heads in random order take three times as long to write. */
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
  /** The time of the newest record in any chain. */
  readonly newestAt: number;
  /** Returns drafts whose heads have not moved yet. */
  pending(): Iterable<Chain>;
  /** Called once for each backward step, with its size in milliseconds. */
  onStepBack(milliseconds: number): void;
  now?(): number;
}

/**
 * The clock for records, shared by the chains of a process. It never returns a time before a chain's last record,
 * even if the system clock steps back, since a chain with decreasing times does not verify.
 */
export class ChainClock {
  readonly #options: ChainClockOptions;
  /** At least the time of every record. */
  #newestAt: number;
  /** The last reading of the system clock. */
  #lastReading: number;
  /** The latest time of each chain while the clock is behind; empty otherwise. */
  readonly #ahead = new Map<string, number>();

  constructor(options: ChainClockOptions) {
    this.#options = options;
    this.#newestAt = options.newestAt;
    this.#lastReading = options.newestAt;
    // Reports a step before the start immediately, instead of at the first request.
    this.#read();
  }

  /** Returns the time for the next record of a chain. */
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

  /** Notes another process's record, whose clock may be ahead. */
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
