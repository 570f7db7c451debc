/**
 * The chains of this server's agents, their heads, and the guarantee that no reply leaves before its record is
 * stored. Drafts of one event-loop turn are sealed and written together. A head moves only after its record is
 * written, so that no chain refers to a lost record. The attributor drafts the records of responses.
 * AGTP-IDENTIFIERS "Attribution Chain"
 */
import { Turns } from "../../base/turns.ts";
import type { LateFields } from "../../wire/message.ts";
import type { WhereCut } from "../journal/archived-records.ts";
import type { RecordReader } from "../journal/journal.ts";
import { BatchWriter } from "./batch-writer.ts";
import {
  type DraftWriter,
  GroupWriter,
  type OnSettled,
  type WriterOptions,
} from "./draft-writer.ts";
import { type Chain, RecordDraft, type RecordFacts, recordPayload, type Sealer } from "./record.ts";
import { ChainClock, type ChainHead, ChainHeads, type RecordStore } from "./record-store.ts";

/** The system clock, and a listener for its backward steps. */
export interface LedgerClock {
  onStepBack(milliseconds: number): void;
  now?(): number;
}

/** Replies about to be sent, with the fields each waits for. */
type LateReplies = readonly { readonly lateFields?: LateFields | undefined }[];

/** How long a failed journal is not tried again; recovery is promised within a second. */
const RETRY_AFTER_MS = 500;

export class Ledger {
  readonly #store: RecordStore;
  /** The heads known to this process. */
  readonly heads: ChainHeads;
  readonly #clock: ChainClock;
  readonly #writer: DraftWriter;
  /** Seals records outside chains where the store is slow, so that they need not wait for it. */
  readonly #loose: Ledger | undefined;
  /** Undefined if nobody else writes. */
  readonly #questions: HeadQuestions | undefined;
  #failedAt: number | undefined;

  constructor(
    store: RecordStore,
    heads: ReadonlyMap<string, ChainHead>,
    onFailure: (error: Error) => void,
    clock: LedgerClock = { onStepBack: () => undefined },
  ) {
    this.#store = store;
    this.heads = new ChainHeads(heads);
    const { headsOf } = store;
    this.#questions = headsOf && new HeadQuestions((agentIds) => headsOf.call(store, agentIds));
    this.#loose = store.isImmediate ? undefined : new Ledger(NOWHERE, new Map(), onFailure);
    const options: WriterOptions = {
      ...{ store, heads: this.heads },
      onFailure: (error) => {
        this.#failedAt = performance.now();
        onFailure(error);
      },
      onKept: () => {
        this.#failedAt = undefined;
      },
      onMoved: ({ at }) => this.#clock.reach(at),
    };
    this.#writer = store.isImmediate ? new GroupWriter(options) : new BatchWriter(options);
    const newestAt = newestOf(heads.values());
    const pending = (): Iterable<Chain> => this.#writer.pending();
    this.#clock = new ChainClock({ ...clock, heads: this.heads, newestAt, pending });
  }

  /** False after a record could not be written; requests that need one must not start. */
  get isWritable(): boolean {
    if (this.#failedAt === undefined) return true;
    if (performance.now() - this.#failedAt < RETRY_AFTER_MS) return false;
    return this.#probe();
  }

  /** True if records are kept in the store, so that a failure is the store's. */
  get isInStore(): boolean {
    return this.#store.isInStore === true;
  }

  /** Returns the head of an agent's chain as known to this process. */
  headOf(agentId: string): ChainHead | undefined {
    return this.heads.get(agentId);
  }

  /** Returns the head of an agent's chain, by any process. */
  async currentHeadOf(agentId: string): Promise<ChainHead | undefined> {
    return (await this.#questions?.ask(agentId)) ?? this.heads.get(agentId);
  }

  /** Returns the heads of agents' chains, by any process. */
  async currentHeadsOf(agentIds: readonly string[]): Promise<ReadonlyMap<string, ChainHead>> {
    const current = await this.#store.headsOf?.(agentIds);
    const heads = new Map<string, ChainHead>();
    for (const agentId of agentIds) {
      const head = current?.get(agentId) ?? this.heads.get(agentId);
      if (head !== undefined) heads.set(agentId, head);
    }
    return heads;
  }

  /** Returns the time for the next record of an agent's chain: now, but never before the last one. */
  timeFor(agentId: string): number {
    return this.#clock.next(agentId);
  }

  /** Adds a draft, which is sealed before `whenSettled` calls back. */
  add(draft: RecordDraft): RecordDraft {
    if (draft.chain === undefined && this.#loose !== undefined) return this.#loose.add(draft);
    this.#writer.add(draft);
    return draft;
  }

  /**
   * Calls back once the drafts so far are settled, immediately if they are. With `of`, only drafts of those replies
   * count.
   */
  whenSettled(done: OnSettled, of?: LateReplies): void {
    const loose = this.#loose;
    if (loose === undefined) {
      this.#writer.whenSettled(done);
      return;
    }
    const { isChained, isLoose } = of === undefined ? ALL_KINDS : waitingOf(of);
    if (!isChained && !isLoose) done(undefined);
    else if (!isLoose) this.#writer.whenSettled(done);
    else if (!isChained) loose.whenSettled(done);
    else
      loose.whenSettled((failure) => this.#writer.whenSettled((other) => done(failure ?? other)));
  }

  /** Resolves as `whenSettled` calls back; rejects if records could not be written. */
  settled(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.whenSettled((failure) => (failure === undefined ? resolve() : reject(failure)));
    });
  }

  /** Resolves once a draft just added is stored, regardless of earlier ones; rejects with the error if it is not. */
  kept(draft: RecordDraft): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#writer.whenKnown(draft, (failure) => (failure ? reject(failure) : resolve()));
    });
  }

  /** Returns the compact JWS of a stored record. */
  find(auditId: string): Promise<string | undefined> {
    return this.#store.find(auditId);
  }

  /** Returns where retention moved a record; undefined if it is unknown. */
  whereCut(auditId: string): Promise<WhereCut | undefined> {
    return this.#store.whereCut?.(auditId) ?? Promise.resolve(undefined);
  }

  /** Returns a reader for many consecutive records of one chain. */
  openReader(): RecordReader {
    return this.#store.openReader?.() ?? this.#store;
  }

  /** Settles pending drafts and closes the record store; nothing may be added afterwards. */
  async close(): Promise<void> {
    await this.settled().catch(() => undefined);
    await this.#store.close();
  }

  /** Tests the store without a record, so that no request runs whose record cannot be stored. */
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
}

/** A store for records outside chains, which keeps nothing. */
const NOWHERE: RecordStore = {
  isImmediate: true,
  append: () => ({}),
  probe: () => undefined,
  find: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

const ALL_KINDS = { isChained: true, isLoose: true } as const;

/** Returns which kinds of records the replies wait for. */
function waitingOf(replies: LateReplies): Readonly<Record<"isChained" | "isLoose", boolean>> {
  const kinds = { isChained: false, isLoose: false };
  for (const { lateFields: one } of replies) {
    if (one === undefined || one.isKnown) continue;
    if (one instanceof RecordDraft && one.chain === undefined) kinds.isLoose = true;
    else kinds.isChained = true;
  }
  return kinds;
}

interface Question {
  readonly agentIds: Set<string>;
  readonly answer: Promise<ReadonlyMap<string, ChainHead>>;
}

/**
 * Queries for chain heads in a store with other writers: one query runs at a time, and callers during it share the
 * next.
 */
export class HeadQuestions {
  readonly #headsOf: (agentIds: readonly string[]) => Promise<ReadonlyMap<string, ChainHead>>;
  readonly #asking = new Turns();
  #next: Question | undefined;

  constructor(headsOf: (agentIds: readonly string[]) => Promise<ReadonlyMap<string, ChainHead>>) {
    this.#headsOf = headsOf;
  }

  /** Returns a chain's head as of this call or later; undefined if there is none. */
  async ask(agentId: string): Promise<ChainHead | undefined> {
    this.#next ??= this.#open();
    const { agentIds, answer } = this.#next;
    agentIds.add(agentId);
    return (await answer).get(agentId);
  }

  #open(): Question {
    const agentIds = new Set<string>();
    const answer = this.#asking.run(() => {
      this.#next = undefined;
      return this.#headsOf([...agentIds]);
    });
    return { agentIds, answer };
  }
}

/** Returns the time of the newest head; minus infinity without any. */
export function newestOf(heads: Iterable<ChainHead>): number {
  let newest = Number.NEGATIVE_INFINITY;
  for (const { at } of heads) if (at > newest) newest = at;
  return newest;
}

interface AttributorOptions {
  readonly serverId: string;
  readonly sealer: Sealer;
  readonly ledger: Ledger;
}

/**
 * Drafts the Attribution-Record of a response in the chain of the agent it concerns, or in none. Records without an
 * agent are signed and sent, but not stored, so that no stranger can make the server write. AGTP-IDENTIFIERS
 * "Attribution-Record"
 */
export class Attributor {
  readonly #options: AttributorOptions;

  constructor(options: AttributorOptions) {
    this.#options = options;
  }

  /** True while records can be stored. */
  get isWritable(): boolean {
    return this.#options.ledger.isWritable;
  }

  /** True if records are kept in the store, so that a failure is the store's. */
  get isInStore(): boolean {
    return this.#options.ledger.isInStore;
  }

  /** Drafts the next record of the agent's chain; it is sealed and stored once the ledger has settled. */
  chained(facts: RecordFacts): RecordDraft {
    const { serverId, sealer, ledger } = this.#options;
    const { agentId, method } = facts;
    const at = ledger.timeFor(agentId);
    const payload = recordPayload(facts, serverId, at);
    const isEvent = facts.extension?.["event_type"] !== undefined;
    const chain: Chain = isEvent ? { agentId, at, method, isEvent } : { agentId, at, method };
    return ledger.add(new RecordDraft(payload, sealer, chain));
  }

  /** Drafts a record outside chains; it is sealed once the ledger has settled. */
  unchained(facts: RecordFacts): RecordDraft {
    const { serverId, sealer, ledger } = this.#options;
    const payload = recordPayload(facts, serverId, Date.now());
    return ledger.add(new RecordDraft(payload, sealer, undefined));
  }
}
