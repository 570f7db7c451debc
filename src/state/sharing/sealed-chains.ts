/**
 * The chains to which several workers append. Each worker seals a batch after the heads that it knows; if another
 * was faster, nothing of that chain is stored and its head is returned. Batches that arrive in one event-loop turn
 * are written together.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import type { JournalRecord } from "../journal/journal.ts";
import type { GrowingChains } from "../records/open-ledger.ts";
import { NO_AUDIT_ID } from "../records/record.ts";
import {
  type Appended,
  type ChainHead,
  ChainHeads,
  type RecordStore,
} from "../records/record-store.ts";
import { type SealedBatch, withoutChains } from "./sealed-batch.ts";

/** Chains whose head was not the expected one, with their heads by agent; null: the chain has no record. */
export type Moved = readonly (readonly [string, ChainHead | null])[];

interface PendingBatch {
  readonly batch: SealedBatch;
  resolve(moved: Moved): void;
  reject(error: unknown): void;
}

export class SealedChains implements GrowingChains {
  readonly records: RecordStore;
  readonly heads: ChainHeads;
  /** In order, without those whose effect is stored. */
  #events: JournalRecord[] = [];
  #pending: PendingBatch[] = [];
  #writing: Promise<void> | undefined;
  /** Settles with the batch that arrived last. */
  #latest: Promise<unknown> = Promise.resolve();

  constructor(records: RecordStore, heads: ReadonlyMap<string, ChainHead>) {
    this.records = records;
    this.heads = new ChainHeads(heads);
  }

  /** The events that a worker may have appended without storing their effect. */
  get events(): readonly JournalRecord[] {
    return this.#events;
  }

  /** Forgets the events up to one, if it is still listed, since their effect is stored. */
  forgetEvents(last: JournalRecord): void {
    this.#events = this.#events.slice(this.#events.indexOf(last) + 1);
  }

  /** Resolves with the chains that others have moved; rejects if nothing of the batch is stored. */
  append(batch: SealedBatch): Promise<Moved> {
    const appended = new Promise<Moved>((resolve, reject) => {
      this.#pending.push({ batch, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
    this.#latest = appended;
    return appended;
  }

  /** Resolves once everything that arrived so far is decided. */
  async known(): Promise<void> {
    await this.#latest.catch(() => undefined);
  }

  async settled(): Promise<void> {
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.settled();
    await this.records.close();
  }

  async #writeAll(): Promise<void> {
    // Waits for the other batches of this event-loop turn.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#pending.length > 0) await this.#write(this.#pending.splice(0));
    this.#writing = undefined;
  }

  async #write(group: readonly PendingBatch[]): Promise<void> {
    const heads = new Map<string, string>();
    const kept: SealedBatch[] = [];
    const lost = group.map(({ batch }) => {
      const moved = this.#decide(batch, heads);
      const rest = moved === undefined ? batch : withoutChains(batch, moved);
      if (rest !== undefined) kept.push(rest);
      return moved;
    });
    try {
      if (kept.length > 0) {
        // The heads were compared here, and nobody else writes to the journal.
        const packed = kept.map(({ records }) => records);
        const { first } = await this.records.append({ records: [], expected: NONE, packed });
        this.#adopt(kept, first);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
      return;
    }
    for (const [index, { resolve }] of group.entries()) {
      resolve([...(lost[index] ?? [])].map((id) => [id, this.heads.get(id) ?? null]));
    }
  }

  /** Returns the moved chains of a batch, if any; its other chains advance. */
  #decide({ chains, records }: SealedBatch, heads: Map<string, string>): Set<string> | undefined {
    let lost: Set<string> | undefined;
    for (const { agentId, expected, last } of chains) {
      const head = heads.get(agentId) ?? this.heads.get(agentId)?.auditId ?? NO_AUDIT_ID;
      if (head === expected) heads.set(agentId, records.auditIdOf(last));
      else {
        lost ??= new Set();
        lost.add(agentId);
      }
    }
    return lost;
  }

  #adopt(kept: readonly SealedBatch[], first: Appended["first"]): void {
    let before = first?.offset ?? 0;
    for (const { chains, records, events } of kept) {
      for (const { agentId, at, method, last } of chains) {
        const offset = before + records.offsetOf(last);
        const place = first && { segment: first.segment, offset, length: records.lengthOf(last) };
        this.heads.move(agentId, { auditId: records.auditIdOf(last), at, method, place });
      }
      for (const index of events) this.#events.push(records.recordOf(index));
      before += records.lines.length;
    }
  }
}

const NONE: ReadonlyMap<string, string> = new Map();
