/**
 * The chains of all agents of this server: which record comes last for each, and that no reply
 * leaves before its record is in the journal. Drafts of one turn of the event loop are sealed and
 * written together, one group after another. A head moves only when its record is written, so that a
 * chain never names a record that was lost.   AGTP-IDENTIFIERS "Attribution Chain"
 */

import type { LateFields } from "../../wire/message.ts";
import type { WhereCut } from "../journal/archived-records.ts";
import type { JournalRecord, RecordPlace, RecordReader } from "../journal/journal.ts";
import { ChainClock } from "./chain-clock.ts";
import { type Chain, RecordDraft } from "./draft.ts";
import { NO_AUDIT_ID } from "./record.ts";
import type {
  Appended,
  ChainedRecord,
  ChainHead,
  RecordBatch,
  RecordStore,
} from "./record-store.ts";
import type { Sealer, SealingJob } from "./sealer.ts";

export type { ChainHead };

/** The machine's clock, and the listener for its steps backward. */
export interface LedgerClock {
  onStepBack(milliseconds: number): void;
  now?(): number;
}

/** Told once the drafts before it are sealed and written, or with why they could not be. */
export type Settled = (failure: Error | undefined) => void;

/** Replies that wait to be sent. */
export interface LateReplies {
  readonly late: readonly LateFields[];
}

/** How long a journal that failed is not tried again: what is promised to be over within a second. */
const RETRY_AFTER_MS = 500;

/** A chain that others have moved so often is no race any more. */
const ATTEMPTS = 1_000;

/** Drafts that are sealed together, and who waits for them. */
interface Group {
  readonly sealer: Sealer;
  readonly drafts: RecordDraft[];
  /** In order; each waits for so many of the drafts. */
  readonly waiting: { readonly count: number; readonly done: Settled }[];
  /** Drafts that are sealed and written. */
  taken: number;
  /** Once set, nothing more of the group can be kept: its chains have a gap. */
  failure: Error | undefined;
}

export class Ledger {
  readonly #store: RecordStore;
  readonly #heads: Map<string, ChainHead>;
  readonly #onFailure: (error: Error) => void;
  readonly #clock: ChainClock;
  /** Seals what is in no chain, where others wait for their store: nobody has to wait for that. */
  readonly #loose: Ledger | undefined;
  /** The first one is being sealed if `#isSealing`; the last one takes what is added. */
  readonly #groups: Group[] = [];
  #isSealing = false;
  #isScheduled = false;
  #failedAt: number | undefined;
  /** Chains that grew since `takeChanged`. */
  #changed = new Set<string>();

  constructor(
    store: RecordStore,
    heads: ReadonlyMap<string, ChainHead>,
    onFailure: (error: Error) => void,
    clock: LedgerClock = { onStepBack: () => undefined },
  ) {
    this.#store = store;
    this.#heads = new Map(heads);
    this.#onFailure = onFailure;
    this.#loose = store.isImmediate ? undefined : new Ledger(NOWHERE, new Map(), onFailure);
    const newestAt = newestOf(heads.values());
    this.#clock = new ChainClock({ ...clock, newestAt, pending: () => this.#pendingChains() });
  }

  /** False after a record could not be written: nothing should be begun that needs one. */
  get isWritable(): boolean {
    if (this.#failedAt === undefined) return true;
    if (performance.now() - this.#failedAt < RETRY_AFTER_MS) return false;
    return this.#probe();
  }

  /** The last record of an agent's chain that this process knows of. */
  headOf(agentId: string): ChainHead | undefined {
    return this.#heads.get(agentId);
  }

  /** The last record of an agent's chain, whichever process has written it. */
  async currentHeadOf(agentId: string): Promise<ChainHead | undefined> {
    const head = await this.#store.headOf?.(agentId);
    return head ?? this.#heads.get(agentId);
  }

  /** When the next record of an agent's chain is issued: now, and never before the last one. */
  timeFor(agentId: string): number {
    return this.#clock.next(agentId, this.#heads.get(agentId)?.at);
  }

  /** Takes a draft; it is sealed before `settle` calls back. */
  add(draft: RecordDraft): RecordDraft {
    if (draft.chain === undefined && this.#loose !== undefined) return this.#loose.add(draft);
    this.#openGroup(draft.sealer).drafts.push(draft);
    if (!this.#isScheduled && !this.#isSealing) {
      this.#isScheduled = true;
      // After all that arrived in this turn of the loop was answered.
      setImmediate(() => this.#sealNext());
    }
    return draft;
  }

  /**
   * Calls back when what was added so far is settled: at once, when that is so already. With `of`
   * only its replies count.
   */
  settle(done: Settled, of?: LateReplies): void {
    const loose = this.#loose;
    const waiting = loose && of?.late.filter(({ isKnown }) => !isKnown);
    if (loose === undefined) this.#settleAll(done);
    else if (waiting?.length === 0) done(undefined);
    else if (waiting?.every(isUnchained) === true) loose.settle(done);
    else loose.settle((failure) => this.#settleAll((other) => done(failure ?? other)));
  }

  #settleAll(done: Settled): void {
    const group = this.#groups.at(-1);
    if (group === undefined) done(undefined);
    else group.waiting.push({ count: group.drafts.length, done });
  }

  /** As `settle`, for those who can wait; rejects where records could not be written. */
  settled(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.settle((failure) => (failure === undefined ? resolve() : reject(failure)));
    });
  }

  /** The compact JWS of a record that was written. */
  find(auditId: string): Promise<string | undefined> {
    return this.#store.find(auditId);
  }

  /** Where a record went that the journal had, as retention demands; undefined: nobody knows of it. */
  whereCut(auditId: string): Promise<WhereCut | undefined> {
    return this.#store.whereCut?.(auditId) ?? Promise.resolve(undefined);
  }

  /** Finds many records of one chain, one behind the other. */
  openReader(): RecordReader {
    return this.#store.openReader?.() ?? this.#store;
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

  /** Marks chains that the store does not know as they are, for `takeChanged`. */
  markChanged(agentIds: Iterable<string>): void {
    for (const agentId of agentIds) this.#changed.add(agentId);
  }

  /** Waits for what is pending, and closes the records' store; nothing may be added after it. */
  async close(): Promise<void> {
    await this.settled().catch(() => undefined);
    await this.#store.close();
  }

  /** The group that a draft joins: one that is being sealed takes no more. */
  #openGroup(sealer: Sealer): Group {
    const last = this.#groups.at(-1);
    const isTaken = this.#isSealing && this.#groups.length === 1;
    if (last !== undefined && !isTaken && last.sealer === sealer) return last;
    const group: Group = { sealer, drafts: [], waiting: [], taken: 0, failure: undefined };
    this.#groups.push(group);
    return group;
  }

  #sealNext(): void {
    this.#isScheduled = false;
    const group = this.#groups[0];
    if (group === undefined || this.#isSealing) return;
    this.#isSealing = true;
    if (!this.#store.isImmediate) {
      void this.#appendGroup(group);
      return;
    }
    const { sealer, drafts } = group;
    let sealed: ReturnType<Sealer["seal"]>;
    try {
      sealed = sealer.seal(this.#jobOf(drafts), (records) => this.#take(group, records));
    } catch (error) {
      this.#fail(group, asError(error));
      this.#finish(group);
      return;
    }
    if (sealed instanceof Promise) {
      sealed.then(
        (records) => this.#finish(group, records),
        (error: unknown) => {
          this.#fail(group, asError(error));
          this.#finish(group);
        },
      );
    } else this.#finish(group, sealed);
  }

  /** Appends a group through a store that has other writers: what lost a race is sealed again. */
  async #appendGroup(group: Group): Promise<void> {
    const isChained = ({ chain }: RecordDraft): boolean => chain !== undefined;
    try {
      let left: readonly RecordDraft[] = group.drafts;
      for (let attempt = 0; left.length > 0; attempt += 1) {
        if (attempt >= ATTEMPTS) throw new Error("a chain grows faster than it can be signed");
        this.#reissue(left);
        const records = await sealWhole(group.sealer, this.#jobOf(left));
        left = await this.#appendSealed(left, records);
      }
      if (group.drafts.some(isChained)) this.#failedAt = undefined;
    } catch (error) {
      this.#fail(group, asError(error));
    }
    group.taken = group.drafts.length;
    this.#finish(group);
  }

  /** Appends sealed drafts, and moves the heads; answers those whose chains had moved. */
  async #appendSealed(
    drafts: readonly RecordDraft[],
    records: readonly JournalRecord[],
  ): Promise<readonly RecordDraft[]> {
    const batch = this.#batchOf(drafts, records);
    let appended: Appended = {};
    try {
      if (batch.records.length > 0) appended = await this.#store.append(batch);
    } catch (error) {
      this.#seal(drafts, records, { isKept: false, failure: asError(error) });
      throw error;
    }
    const { first, moved } = appended;
    if (moved === undefined) {
      this.#seal(drafts, records, { isKept: true, first });
      return [];
    }
    const lost: RecordDraft[] = [];
    for (const [index, draft] of drafts.entries()) {
      const { chain } = draft;
      const head = chain && moved.get(chain.agentId);
      if (head !== undefined) lost.push(draft);
      else this.#seal([draft], records.slice(index, index + 1), { isKept: true, first: undefined });
    }
    for (const [agentId, head] of moved) {
      this.#heads.set(agentId, head);
      this.#clock.reach(head.at);
    }
    return lost;
  }

  /** Moves drafts to times that are not before their heads, which others may have moved. */
  #reissue(drafts: readonly RecordDraft[]): void {
    const reached = new Map<string, number>();
    for (const draft of drafts) {
      if (draft.chain === undefined) continue;
      const { agentId, at } = draft.chain;
      const least = reached.get(agentId) ?? this.#heads.get(agentId)?.at ?? at;
      draft.reissue(Math.max(at, least));
      reached.set(agentId, Math.max(at, least));
    }
  }

  #batchOf(drafts: readonly RecordDraft[], records: readonly JournalRecord[]): RecordBatch {
    const chained: ChainedRecord[] = [];
    const expected = new Map<string, string>();
    for (const [index, record] of records.entries()) {
      const chain = drafts[index]?.chain;
      if (chain === undefined) continue;
      chained.push({ ...record, chain });
      const { agentId } = chain;
      expected.set(agentId, this.#heads.get(agentId)?.auditId ?? NO_AUDIT_ID);
    }
    return { records: chained, expected };
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

  /** Seals the drafts, and moves the heads; what is in no chain is sealed though nothing is kept. */
  #seal(drafts: readonly RecordDraft[], records: readonly JournalRecord[], kept: Kept): void {
    let next = kept.first;
    for (const [index, { auditId, jws }] of records.entries()) {
      const draft = drafts[index];
      if (draft === undefined || (draft.chain !== undefined && !kept.isKept)) continue;
      draft.seal(jws, auditId);
      if (draft.chain === undefined) continue;
      const { agentId, at, method } = draft.chain;
      const place = next && { ...next, length: jws.length };
      next = next && { segment: next.segment, offset: next.offset + jws.length + 1 };
      this.#heads.set(agentId, { auditId, at, method, place });
      this.#changed.add(agentId);
    }
  }

  /** Tries without a record: the request that would bring one must not run in vain. */
  #probe(): boolean {
    try {
      this.#store.probe();
      this.#failedAt = undefined;
      return true;
    } catch {
      this.#failedAt = performance.now();
      return false;
    }
  }

  /** Keeps records in a store that answers at once. */
  #keep(drafts: readonly RecordDraft[], records: readonly JournalRecord[]): Kept {
    const batch = this.#batchOf(drafts, records);
    if (batch.records.length === 0) return { isKept: true, first: undefined };
    try {
      const appended = this.#store.append(batch);
      if (appended instanceof Promise) throw new Error("an immediate store of records waits");
      this.#failedAt = undefined;
      return { isKept: true, first: appended.first };
    } catch (error) {
      return { isKept: false, failure: asError(error) };
    }
  }

  /** Keeps the next records of a group, and tells those who wait for no later ones. */
  #take(group: Group, records: readonly JournalRecord[]): void {
    const drafts = group.drafts.slice(group.taken, group.taken + records.length);
    group.taken += records.length;
    const kept: Kept =
      group.failure === undefined
        ? this.#keep(drafts, records)
        : { isKept: false, failure: group.failure };
    if (kept.failure !== undefined && group.failure === undefined) this.#fail(group, kept.failure);
    this.#seal(drafts, records, kept);
    tell(group, ({ count }) => count <= group.taken);
  }

  *#pendingChains(): Generator<Chain> {
    for (const { drafts, taken } of this.#groups) {
      for (let index = taken; index < drafts.length; index += 1) {
        const chain = drafts[index]?.chain;
        if (chain !== undefined) yield chain;
      }
    }
  }

  #fail(group: Group, failure: Error): void {
    group.failure ??= failure;
    this.#failedAt = performance.now();
    this.#onFailure(failure);
  }

  #finish(group: Group, rest: readonly JournalRecord[] = []): void {
    this.#groups.shift();
    this.#isSealing = false;
    this.#take(group, rest);
    if (group.failure === undefined && group.taken < group.drafts.length) {
      this.#fail(group, new Error("a record was not sealed"));
    }
    tell(group, () => true);
    if (this.#groups.length > 0 && !this.#isScheduled) this.#sealNext();
  }
}

/** Nothing of what is in no chain is kept. */
const NOWHERE: RecordStore = {
  isImmediate: true,
  append: () => ({}),
  probe: () => undefined,
  find: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

function isUnchained(late: LateFields): boolean {
  return late instanceof RecordDraft && late.chain === undefined;
}

/** The outcome of writing records. */
type Kept =
  | {
      readonly isKept: true;
      /** Where the first of them stands, where that is known. */
      readonly first: Omit<RecordPlace, "length"> | undefined;
      readonly failure?: undefined;
    }
  | { readonly isKept: false; readonly first?: undefined; readonly failure: Error };

/** The time of the newest of these heads; minus infinity without any. */
export function newestOf(heads: Iterable<ChainHead>): number {
  let newest = Number.NEGATIVE_INFINITY;
  for (const { at } of heads) if (at > newest) newest = at;
  return newest;
}

/** Calls back those whose turn has come; a callback may add more. */
function tell(group: Group, isDue: (one: Group["waiting"][number]) => boolean): void {
  for (let next = group.waiting[0]; next !== undefined && isDue(next); next = group.waiting[0]) {
    group.waiting.shift();
    next.done(isKept(group, next.count) ? undefined : group.failure);
  }
}

/** Tells whether so many drafts of a group were kept, whatever became of those behind them. */
function isKept({ drafts, failure }: Group, count: number): boolean {
  return failure === undefined || drafts.slice(0, count).every(({ isKnown }) => isKnown);
}

/** The records of a job, once all of them are sealed. */
async function sealWhole(sealer: Sealer, job: SealingJob): Promise<readonly JournalRecord[]> {
  const early: JournalRecord[] = [];
  const rest = await sealer.seal(job, (records) => void early.push(...records));
  const records = [...early, ...rest];
  if (records.length < job.payloads.length) throw new Error("a record was not sealed");
  return records;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
