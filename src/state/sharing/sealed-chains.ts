/**
 * The chains that several workers append to. A batch was sealed by its worker after the heads that
 * it knew; where another was sooner, nothing of that chain is kept and its head is answered. What
 * arrives in one turn of the loop is written together.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import type { WhereCut } from "../journal/archived-records.ts";
import type { JournalRecord } from "../journal/journal.ts";
import type { GrowingChains } from "../records/open-ledger.ts";
import { lengthOf, NO_AUDIT_ID } from "../records/record.ts";
import {
  type Appended,
  type ChainedRecord,
  type ChainHead,
  ChainHeads,
  type RecordBatch,
  type RecordStore,
} from "../records/record-store.ts";

/** By agent, where chains end otherwise than was expected; null: such a chain has no record. */
export type Moved = readonly (readonly [string, ChainHead | null])[];

interface PendingBatch {
  readonly batch: RecordBatch;
  resolve(moved: Moved): void;
  reject(error: unknown): void;
}

export class SealedChains implements GrowingChains {
  readonly #records: RecordStore;
  readonly #heads: ChainHeads;
  /** In order; of those that are in the store everywhere, none. */
  #events: JournalRecord[] = [];
  #pending: PendingBatch[] = [];
  #writing: Promise<void> | undefined;

  constructor(records: RecordStore, heads: ReadonlyMap<string, ChainHead>) {
    this.#records = records;
    this.#heads = new ChainHeads(heads);
  }

  /** Where all chains end. */
  get heads(): ReadonlyMap<string, ChainHead> {
    return this.#heads.all;
  }

  /** The events that a worker may have appended and not stored. */
  get events(): readonly JournalRecord[] {
    return this.#events;
  }

  /** Forgets the oldest events: what they led to is in the store. */
  forgetEvents(count: number): void {
    this.#events = this.#events.slice(count);
  }

  /** Resolves with the chains that others have moved; rejects where nothing of the batch is kept. */
  append(batch: RecordBatch): Promise<Moved> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ batch, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Throws while nothing can be appended. */
  probe(): void {
    this.#records.probe();
  }

  find(auditId: string): Promise<string | undefined> {
    return this.#records.find(auditId);
  }

  async before(agentId: string, auditId: string | undefined): Promise<JournalRecord | undefined> {
    const reader = this.#records.openReader?.() ?? this.#records;
    return reader.before?.(agentId, auditId);
  }

  whereCut(auditId: string): Promise<WhereCut | undefined> {
    return this.#records.whereCut?.(auditId) ?? Promise.resolve(undefined);
  }

  takeChanged(): ReadonlyMap<string, ChainHead> {
    return this.#heads.takeChanged();
  }

  markChanged(agentIds: Iterable<string>): void {
    this.#heads.mark(agentIds);
  }

  async settled(): Promise<void> {
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.settled();
    await this.#records.close();
  }

  async #writeAll(): Promise<void> {
    // After all that arrives in this turn of the loop.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#pending.length > 0) await this.#write(this.#pending.splice(0));
    this.#writing = undefined;
  }

  async #write(group: readonly PendingBatch[]): Promise<void> {
    const heads = new Map<string, ChainHead>();
    const kept: ChainedRecord[] = [];
    const lost = group.map(({ batch }) => this.#decide(batch, heads, kept));
    try {
      if (kept.length > 0) {
        // The heads were compared here: nobody else writes to the journal.
        const lines = lost.some(({ length }) => length > 0) ? undefined : linesOf(group);
        const { first } = await this.#records.append({ records: kept, expected: new Map(), lines });
        this.#adopt(kept, first);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
      return;
    }
    for (const [index, { resolve }] of group.entries()) {
      resolve((lost[index] ?? []).map((agentId) => [agentId, this.#heads.get(agentId) ?? null]));
    }
  }

  /** The chains of a batch that have moved; the records of the others are kept behind those before. */
  #decide(
    { records, expected }: RecordBatch,
    heads: Map<string, ChainHead>,
    kept: ChainedRecord[],
  ): readonly string[] {
    const lost: string[] = [];
    for (const [agentId, auditId] of expected) {
      const head = heads.get(agentId) ?? this.#heads.get(agentId);
      if ((head?.auditId ?? NO_AUDIT_ID) !== auditId) lost.push(agentId);
    }
    for (const [index, record] of records.entries()) {
      const { agentId, at, method } = record.chain;
      if (lost.includes(agentId)) continue;
      kept.push(record);
      if (isLastOfRun(records, index)) heads.set(agentId, { auditId: record.auditId, at, method });
    }
    return lost;
  }

  #adopt(kept: readonly ChainedRecord[], first: Appended["first"]): void {
    let offset = first?.offset ?? 0;
    for (const [index, record] of kept.entries()) {
      const { auditId, chain } = record;
      const { agentId, at, method, isEvent } = chain;
      const length = lengthOf(record);
      if (isLastOfRun(kept, index)) {
        const place = first && { segment: first.segment, offset, length };
        this.#heads.move(agentId, { auditId, at, method, place });
      }
      offset += length + 1;
      if (isEvent === true) this.#events.push({ auditId, jws: record.jws });
    }
  }
}

/** False where the next record is of the same chain, which then ends with that. */
function isLastOfRun(records: readonly ChainedRecord[], index: number): boolean {
  return records[index + 1]?.chain.agentId !== records[index]?.chain.agentId;
}

/** The lines of some batches; undefined where not all of them came as octets. */
function linesOf(group: readonly PendingBatch[]): Uint8Array | undefined {
  const lines = group.flatMap(({ batch }) => batch.lines ?? []);
  if (lines.length < group.length) return undefined;
  return lines.length === 1 ? lines[0] : Buffer.concat(lines);
}
