/**
 * The chains of all agents of this server: which record comes last for each, and that no reply
 * leaves before its record is in the journal. Drafts of one turn of the event loop are sealed and
 * written together, one group after another. A head moves only when its record is written, so that a
 * chain never names a record that was lost.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import type { RecordDraft } from "./draft.ts";
import type { Journal, JournalRecord } from "./journal.ts";
import { NO_AUDIT_ID } from "./record.ts";
import type { Sealer, SealingJob } from "./sealer.ts";

/** The last record of an agent's chain. */
export interface ChainHead {
  readonly auditId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The method that the record is about. */
  readonly method: string;
}

/** Told once the drafts before it are sealed and written, or with why they could not be. */
export type Settled = (failure: Error | undefined) => void;

/** How long a journal that failed is not tried again. */
const RETRY_AFTER_MS = 1_000;

/** Drafts that are sealed together, and who waits for them. */
interface Group {
  readonly sealer: Sealer;
  readonly drafts: RecordDraft[];
  readonly waiting: Settled[];
}

export class Ledger {
  readonly #journal: Journal;
  readonly #heads: Map<string, ChainHead>;
  readonly #onFailure: (error: Error) => void;
  /** The first one is being sealed if `#isSealing`; the last one takes what is added. */
  readonly #groups: Group[] = [];
  #isSealing = false;
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

  /** The last record of an agent's chain that is written. */
  headOf(agentId: string): ChainHead | undefined {
    return this.#heads.get(agentId);
  }

  /** Takes a draft; it is sealed before `settle` calls back. */
  add(draft: RecordDraft): RecordDraft {
    this.#openGroup(draft.sealer).drafts.push(draft);
    if (!this.#isScheduled && !this.#isSealing) {
      this.#isScheduled = true;
      // After all that arrived in this turn of the loop was answered.
      setImmediate(() => this.#sealNext());
    }
    return draft;
  }

  /** Calls back when what was added so far is settled: at once, when that is so already. */
  settle(done: Settled): void {
    const group = this.#groups.at(-1);
    if (group === undefined) done(undefined);
    else group.waiting.push(done);
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

  /** The heads that changed since the last call. */
  takeChanged(): ReadonlyMap<string, ChainHead> {
    const changed = new Map<string, ChainHead>();
    for (const agentId of this.#changed) {
      const head = this.#heads.get(agentId);
      if (head !== undefined) changed.set(agentId, head);
    }
    this.#changed = new Set();
    return changed;
  }

  /** Has `takeChanged` tell of chains that the store does not know as they are. */
  markChanged(agentIds: Iterable<string>): void {
    for (const agentId of agentIds) this.#changed.add(agentId);
  }

  /** Waits for what is pending, and closes the journal; nothing may be added after it. */
  async close(): Promise<void> {
    await this.settled().catch(() => undefined);
    await this.#journal.close();
  }

  /** The group that a draft joins: one that is being sealed takes no more. */
  #openGroup(sealer: Sealer): Group {
    const last = this.#groups.at(-1);
    const isTaken = this.#isSealing && this.#groups.length === 1;
    if (last !== undefined && !isTaken && last.sealer === sealer) return last;
    const group: Group = { sealer, drafts: [], waiting: [] };
    this.#groups.push(group);
    return group;
  }

  #sealNext(): void {
    this.#isScheduled = false;
    const group = this.#groups[0];
    if (group === undefined || this.#isSealing) return;
    this.#isSealing = true;
    const { sealer, drafts } = group;
    let sealed: ReturnType<Sealer["seal"]>;
    try {
      sealed = sealer.seal(this.#jobOf(drafts));
    } catch (error) {
      this.#finish(group, asError(error));
      return;
    }
    if (sealed instanceof Promise) {
      sealed.then(
        (records) => this.#finish(group, this.#write(drafts, records)),
        (error: unknown) => this.#finish(group, asError(error)),
      );
    } else this.#finish(group, this.#write(drafts, sealed));
  }

  #jobOf(drafts: readonly RecordDraft[]): SealingJob {
    const numbers = new Map<string, number>();
    const previous: string[] = [];
    const chains = drafts.map(({ chain }) => {
      if (chain === undefined) return -1;
      const known = numbers.get(chain.agentId);
      if (known !== undefined) return known;
      numbers.set(chain.agentId, previous.length);
      return previous.push(this.#heads.get(chain.agentId)?.auditId ?? NO_AUDIT_ID) - 1;
    });
    return { payloads: drafts.map(({ payload }) => payload), chains, previous };
  }

  /** Writes the records that are in a chain, and moves the heads; the others need no journal. */
  #write(drafts: readonly RecordDraft[], records: readonly JournalRecord[]): Error | undefined {
    const failure = this.#keep(records.filter((_, index) => drafts[index]?.chain !== undefined));
    for (const [index, draft] of drafts.entries()) {
      const record = records[index];
      if (record === undefined) return failure ?? new Error("a record was not sealed");
      const { chain } = draft;
      if (chain === undefined) draft.seal(record.jws, record.auditId);
      else if (failure === undefined) {
        draft.seal(record.jws, record.auditId);
        const { agentId, at, method } = chain;
        this.#heads.set(agentId, { auditId: record.auditId, at, method });
        this.#changed.add(agentId);
      }
    }
    return failure;
  }

  #keep(records: readonly JournalRecord[]): Error | undefined {
    if (records.length === 0) return undefined;
    try {
      this.#journal.write(records);
      this.#failedAt = undefined;
      return undefined;
    } catch (error) {
      return asError(error);
    }
  }

  #finish(group: Group, failure: Error | undefined): void {
    this.#groups.shift();
    this.#isSealing = false;
    if (failure !== undefined) {
      this.#failedAt = performance.now();
      this.#onFailure(failure);
    }
    // Whoever is told now may add more.
    for (const done of group.waiting) done(failure);
    if (this.#groups.length > 0 && !this.#isScheduled) this.#sealNext();
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
