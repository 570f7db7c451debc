/**
 * The interface between the ledger and the writers that seal and store its drafts, their common code, and the writer
 * for a synchronous store without other writers.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import type { JournalRecord } from "../journal/journal.ts";
import {
  type Chain,
  NO_AUDIT_ID,
  type RecordDraft,
  type Sealer,
  type SealingJob,
} from "./record.ts";
import type {
  Appended,
  ChainedRecord,
  ChainHead,
  ChainHeads,
  RecordBatch,
  RecordStore,
} from "./record-store.ts";

/** Called once the drafts up to here are sealed and stored, or with the error that prevented it. */
export type OnSettled = (failure: Error | undefined) => void;

/** Seals and stores drafts. */
export interface DraftWriter {
  /** Adds a draft, which is sealed with the others of this event-loop turn. */
  add(draft: RecordDraft): void;
  /** Calls back once the drafts so far are settled, immediately if they are. */
  whenSettled(done: OnSettled): void;
  /** Calls back once a draft just added is settled, regardless of others. */
  whenKnown(draft: RecordDraft, done: OnSettled): void;
  /** Returns the chains of unsettled drafts, in order. */
  pending(): Iterable<Chain>;
}

export interface WriterOptions {
  readonly store: RecordStore;
  readonly heads: ChainHeads;
  onFailure(error: Error): void;
  /** Called after records of chains were stored. */
  onKept(): void;
  /** Called with a chain's head after another process moved it. */
  onMoved(head: ChainHead): void;
}

/** Returns a chain's current head, which its next record follows. */
export type HeadOf = (agentId: string) => ChainHead | undefined;

/** Builds a sealing job in which each draft follows the previous one of its chain. */
export function jobOf(drafts: readonly RecordDraft[], headOf: HeadOf): SealingJob {
  const numbers = new Map<string, number>();
  const previous: string[] = [];
  const chains = drafts.map(({ chain }) => {
    if (chain === undefined) return -1;
    const known = numbers.get(chain.agentId);
    if (known !== undefined) return known;
    numbers.set(chain.agentId, previous.length);
    return previous.push(headOf(chain.agentId)?.auditId ?? NO_AUDIT_ID) - 1;
  });
  return { payloads: drafts.map(({ payload }) => payload), chains, previous };
}

/** Builds a batch of sealed drafts; records outside chains are not stored. */
export function batchOf(
  drafts: readonly RecordDraft[],
  records: readonly JournalRecord[],
  headOf: HeadOf,
): RecordBatch {
  const chained: ChainedRecord[] = [];
  const expected = new Map<string, string>();
  const since = new Map<string, number>();
  let before: string | undefined;
  for (const [index, { auditId, jws }] of records.entries()) {
    const chain = drafts[index]?.chain;
    if (chain === undefined) continue;
    chained.push({ auditId, jws, chain });
    const { agentId } = chain;
    if (agentId === before || expected.has(agentId)) continue;
    before = agentId;
    const head = headOf(agentId);
    expected.set(agentId, head?.auditId ?? NO_AUDIT_ID);
    if (head !== undefined) since.set(agentId, head.at);
  }
  return { records: chained, expected, since };
}

/** Drafts with their records, and the place of the first stored one. */
interface KeptDrafts {
  readonly drafts: readonly RecordDraft[];
  readonly records: readonly JournalRecord[];
  readonly first: Appended["first"];
  readonly heads: ChainHeads;
}

/** Completes the drafts accepted by `isDone`, and moves the heads of their chains. */
export function sealKept(
  { drafts, records, first, heads }: KeptDrafts,
  isDone: (draft: RecordDraft) => boolean,
): void {
  let offset = first?.offset ?? 0;
  for (const [index, draft] of drafts.entries()) {
    const record = records[index];
    if (record === undefined || !isDone(draft)) continue;
    const { auditId, jws } = record;
    const { chain } = draft;
    draft.seal(jws, auditId);
    if (chain === undefined) continue;
    const { length } = jws;
    const { agentId, at, method } = chain;
    // Of consecutive records of one chain, the last is its head.
    if (drafts[index + 1]?.chain?.agentId !== agentId) {
      const place = first && { segment: first.segment, offset, length };
      heads.move(agentId, { auditId, at, method, place });
    }
    offset += length + 1;
  }
}

/** Returns a thrown value as an Error. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Drafts that are sealed together, and their waiters. */
interface Group {
  readonly sealer: Sealer;
  readonly drafts: RecordDraft[];
  /** In order; each waits for the first `count` drafts. */
  readonly waiting: { readonly count: number; readonly done: OnSettled }[];
  /** The number of drafts sealed and stored. */
  taken: number;
  /** Once set, nothing more of the group can be stored, since its chains would have a gap. */
  failure: Error | undefined;
}

/**
 * Seals drafts for a synchronous store without other writers. The drafts of one event-loop turn form a group; groups
 * are sealed one after another, and sealed records are written while the rest of their group is being signed.
 */
export class GroupWriter implements DraftWriter {
  readonly #options: WriterOptions;
  readonly #headOf: HeadOf;
  /** The first is being sealed if `#isSealing`; the last takes new drafts. */
  readonly #groups: Group[] = [];
  #isSealing = false;
  #isScheduled = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#headOf = (agentId) => options.heads.get(agentId);
  }

  add(draft: RecordDraft): void {
    this.#openGroup(draft.sealer).drafts.push(draft);
    if (this.#isScheduled || this.#isSealing) return;
    this.#isScheduled = true;
    // Runs after everything that arrived in this turn of the event loop was answered.
    setImmediate(() => this.#sealNext());
  }

  whenSettled(done: OnSettled): void {
    const group = this.#groups.at(-1);
    if (group === undefined) done(undefined);
    else group.waiting.push({ count: group.drafts.length, done });
  }

  whenKnown(draft: RecordDraft, done: OnSettled): void {
    this.whenSettled((failure) => done(draft.isKnown ? undefined : failure));
  }

  *pending(): Generator<Chain> {
    for (const { drafts, taken } of this.#groups) {
      for (let index = taken; index < drafts.length; index += 1) {
        const chain = drafts[index]?.chain;
        if (chain !== undefined) yield chain;
      }
    }
  }

  /** Returns the group for a new draft; one being sealed takes no more. */
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
    const { sealer, drafts } = group;
    const fail = (error: unknown): void => {
      this.#fail(group, asError(error));
      this.#finish(group);
    };
    let sealed: ReturnType<Sealer["seal"]>;
    try {
      const job = jobOf(drafts, this.#headOf);
      sealed = sealer.seal(job, (records) => this.#take(group, records));
    } catch (error) {
      fail(error);
      return;
    }
    if (sealed instanceof Promise) sealed.then((records) => this.#finish(group, records), fail);
    else this.#finish(group, sealed);
  }

  /** Stores the next records of a group, and calls the waiters that need no later ones. */
  #take(group: Group, records: readonly JournalRecord[]): void {
    const drafts = group.drafts.slice(group.taken, group.taken + records.length);
    group.taken += records.length;
    let kept: Appended | undefined;
    try {
      if (group.failure === undefined) kept = this.#keep(drafts, records);
    } catch (error) {
      this.#fail(group, asError(error));
    }
    this.#seal(drafts, records, kept);
    tell(group, ({ count }) => count <= group.taken);
  }

  #keep(drafts: readonly RecordDraft[], records: readonly JournalRecord[]): Appended {
    const batch = batchOf(drafts, records, this.#headOf);
    if (batch.records.length === 0) return {};
    const appended = this.#options.store.append(batch);
    if (appended instanceof Promise) throw new Error("an immediate store of records waits");
    this.#options.onKept();
    return appended;
  }

  /** Completes the drafts and moves the heads; drafts outside chains complete even if nothing was stored. */
  #seal(
    drafts: readonly RecordDraft[],
    records: readonly JournalRecord[],
    kept: Appended | undefined,
  ): void {
    sealKept({ drafts, records, first: kept?.first, heads: this.#options.heads }, ({ chain }) => {
      return chain === undefined || kept !== undefined;
    });
  }

  #fail(group: Group, failure: Error): void {
    group.failure ??= failure;
    this.#options.onFailure(failure);
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

/** Calls the waiters that are due; a callback may add more. */
function tell(group: Group, isDue: (one: Group["waiting"][number]) => boolean): void {
  for (let next = group.waiting[0]; next !== undefined && isDue(next); next = group.waiting[0]) {
    group.waiting.shift();
    next.done(isKept(group, next.count) ? undefined : group.failure);
  }
}

/** True if the first `count` drafts of a group were stored, regardless of later ones. */
function isKept({ drafts, failure }: Group, count: number): boolean {
  return failure === undefined || drafts.slice(0, count).every(({ isKnown }) => isKnown);
}
