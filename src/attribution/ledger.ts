/**
 * The chains of all agents of this server: which record comes last for each, and that no reply
 * leaves before its record is in the journal. Records made in one turn of the event loop are written
 * together. What cannot be written is taken back, so that a chain never names a record that is lost.
 * AGTP-IDENTIFIERS "Attribution Chain"
 */
import type { Journal, JournalRecord } from "./journal.ts";
import { NO_AUDIT_ID } from "./record.ts";

/** The last record of an agent's chain. */
export interface ChainHead {
  readonly auditId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The method that the record is about. */
  readonly method: string;
}

/** A record for an agent's chain. */
export interface ChainedRecord extends JournalRecord {
  readonly agentId: string;
  readonly at: number;
  readonly method: string;
}

/** Told once the records before it are written, or with why they could not be. */
export type Settled = (failure: Error | undefined) => void;

/** How long a journal that failed is not tried again. */
const RETRY_AFTER_MS = 1_000;

export class Ledger {
  readonly #journal: Journal;
  readonly #heads: Map<string, ChainHead>;
  readonly #onFailure: (error: Error) => void;
  #pending: JournalRecord[] = [];
  /** Heads as the journal knows them, for the chains that have pending records. */
  #durable = new Map<string, ChainHead | undefined>();
  #waiting: Settled[] = [];
  #isScheduled = false;
  #failedAt: number | undefined;
  /** Chains that grew since `takeChanged`. */
  #changed = new Set<string>();

  constructor(
    journal: Journal,
    heads: ReadonlyMap<string, ChainHead>,
    onFailure: (error: Error) => void,
  ) {
    this.#journal = journal;
    this.#heads = new Map(heads);
    this.#onFailure = onFailure;
  }

  /** False for a while after a record could not be written: nothing should be begun that needs one. */
  get isWritable(): boolean {
    return this.#failedAt === undefined || performance.now() - this.#failedAt > RETRY_AFTER_MS;
  }

  headOf(agentId: string): ChainHead | undefined {
    return this.#heads.get(agentId);
  }

  /** The `previous_audit_id` of the agent's next record. */
  previousOf(agentId: string): string {
    return this.#heads.get(agentId)?.auditId ?? NO_AUDIT_ID;
  }

  /** Takes the next record of a chain; it names `previousOf` its agent. */
  append({ agentId, auditId, jws, at, method }: ChainedRecord): void {
    const head = this.#heads.get(agentId);
    if (!this.#durable.has(agentId)) this.#durable.set(agentId, head);
    this.#heads.set(agentId, { auditId, at, method });
    this.#pending.push({ auditId, jws });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  /** Calls back when what was appended so far is settled: at once, when nothing is pending. */
  settle(done: Settled): void {
    if (this.#pending.length === 0) done(undefined);
    else this.#waiting.push(done);
  }

  /** As `settle`, for those who can wait; rejects where records could not be written. */
  settled(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.settle((failure) => (failure === undefined ? resolve() : reject(failure)));
    });
  }

  /** The compact JWS of a record that was written. */
  find(auditId: string): Promise<string | undefined> {
    return this.#journal.find(auditId);
  }

  /** Writes what is pending, now. */
  flush(): void {
    this.#isScheduled = false;
    const records = this.#pending;
    const waiting = this.#waiting;
    const durable = this.#durable;
    if (records.length === 0) return;
    this.#pending = [];
    this.#waiting = [];
    this.#durable = new Map();
    const failure = this.#write(records);
    if (failure === undefined) for (const agentId of durable.keys()) this.#changed.add(agentId);
    else this.#takeBack(durable, failure);
    for (const done of waiting) done(failure);
  }

  /** The heads that changed since the last call, as the journal knows them. */
  takeChanged(): ReadonlyMap<string, ChainHead> {
    this.flush();
    const changed = new Map<string, ChainHead>();
    for (const agentId of this.#changed) {
      const head = this.#heads.get(agentId);
      if (head !== undefined) changed.set(agentId, head);
    }
    this.#changed = new Set();
    return changed;
  }

  /** Writes what is pending; nothing may be appended after it. */
  close(): Promise<void> {
    this.flush();
    return this.#journal.close();
  }

  #write(records: readonly JournalRecord[]): Error | undefined {
    try {
      this.#journal.write(records);
      this.#failedAt = undefined;
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #takeBack(durable: ReadonlyMap<string, ChainHead | undefined>, failure: Error): void {
    for (const [agentId, head] of durable) {
      if (head === undefined) this.#heads.delete(agentId);
      else this.#heads.set(agentId, head);
    }
    this.#failedAt = performance.now();
    this.#onFailure(failure);
  }
}
