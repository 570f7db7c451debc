/**
 * The chains of all agents of this server: which record comes last for each, and that no reply
 * leaves before its record is in the journal. Drafts of one turn of the event loop are sealed and
 * written together. A head moves only when its record is written, so that a chain never names a
 * record that was lost. And who drafts the record of a response.   AGTP-IDENTIFIERS "Attribution Chain"
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

/** The machine's clock, and the listener for its steps backward. */
export interface LedgerClock {
  onStepBack(milliseconds: number): void;
  now?(): number;
}

/** Replies that wait to be sent, with what each is waited for. */
type LateReplies = readonly { readonly lateFields?: LateFields | undefined }[];

/** How long a journal that failed is not tried again: what is promised to be over within a second. */
const RETRY_AFTER_MS = 500;

export class Ledger {
  readonly #store: RecordStore;
  /** Where the chains end, as far as this process knows. */
  readonly heads: ChainHeads;
  readonly #clock: ChainClock;
  readonly #writer: DraftWriter;
  /** Seals what is in no chain, where others wait for their store: nobody has to wait for that. */
  readonly #loose: Ledger | undefined;
  /** Undefined: nobody else writes. */
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

  /** False after a record could not be written: nothing should be begun that needs one. */
  get isWritable(): boolean {
    if (this.#failedAt === undefined) return true;
    if (performance.now() - this.#failedAt < RETRY_AFTER_MS) return false;
    return this.#probe();
  }

  /** True where it is the store that records cannot be written to. */
  get isInStore(): boolean {
    return this.#store.isInStore === true;
  }

  /** The last record of an agent's chain that this process knows of. */
  headOf(agentId: string): ChainHead | undefined {
    return this.heads.get(agentId);
  }

  /** The last record of an agent's chain, whichever process has written it. */
  async currentHeadOf(agentId: string): Promise<ChainHead | undefined> {
    return (await this.#questions?.ask(agentId)) ?? this.heads.get(agentId);
  }

  /** The last records of agents' chains, whichever process has written them. */
  async currentHeadsOf(agentIds: readonly string[]): Promise<ReadonlyMap<string, ChainHead>> {
    const current = await this.#store.headsOf?.(agentIds);
    const heads = new Map<string, ChainHead>();
    for (const agentId of agentIds) {
      const head = current?.get(agentId) ?? this.heads.get(agentId);
      if (head !== undefined) heads.set(agentId, head);
    }
    return heads;
  }

  /** When the next record of an agent's chain is issued: now, and never before the last one. */
  timeFor(agentId: string): number {
    return this.#clock.next(agentId);
  }

  /** Takes a draft; it is sealed before `whenSettled` calls back. */
  add(draft: RecordDraft): RecordDraft {
    if (draft.chain === undefined && this.#loose !== undefined) return this.#loose.add(draft);
    this.#writer.add(draft);
    return draft;
  }

  /**
   * Calls back when what was added so far is settled: at once, when that is so already. With `of`
   * only its replies count.
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

  /** As `whenSettled`, for those who can wait; rejects where records could not be written. */
  settled(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.whenSettled((failure) => (failure === undefined ? resolve() : reject(failure)));
    });
  }

  /**
   * Resolves as soon as a record that was just drafted is kept, whatever becomes of those before it; rejects with
   * why it is not.
   */
  kept(draft: RecordDraft): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#writer.whenKnown(draft, (failure) => (failure ? reject(failure) : resolve()));
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

  /** Waits for what is pending, and closes the records' store; nothing may be added after it. */
  async close(): Promise<void> {
    await this.settled().catch(() => undefined);
    await this.#store.close();
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
}

/** Nothing of what is in no chain is kept. */
const NOWHERE: RecordStore = {
  isImmediate: true,
  append: () => ({}),
  probe: () => undefined,
  find: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

const ALL_KINDS = { isChained: true, isLoose: true } as const;

/** The kinds of records that replies wait for. */
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
 * Questions where chains end, to a store that other processes write to, too: one is under way at a time,
 * and all who ask meanwhile share the next.
 */
export class HeadQuestions {
  readonly #headsOf: (agentIds: readonly string[]) => Promise<ReadonlyMap<string, ChainHead>>;
  readonly #asking = new Turns();
  #next: Question | undefined;

  constructor(headsOf: (agentIds: readonly string[]) => Promise<ReadonlyMap<string, ChainHead>>) {
    this.#headsOf = headsOf;
  }

  /** The end of a chain as it is after this call; undefined where there is none. */
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

/** The time of the newest of these heads; minus infinity without any. */
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
 * Drafts the Attribution-Record of a response, and says where it belongs: in the chain of the agent
 * it is about, or nowhere. Records of nobody in particular are signed and sent, and kept nowhere: no
 * stranger can make the server write.   AGTP-IDENTIFIERS "Attribution-Record"
 */
export class Attributor {
  readonly #options: AttributorOptions;

  constructor(options: AttributorOptions) {
    this.#options = options;
  }

  /** True while records can be kept. */
  get isWritable(): boolean {
    return this.#options.ledger.isWritable;
  }

  /** True where it is the store that they cannot be kept in. */
  get isInStore(): boolean {
    return this.#options.ledger.isInStore;
  }

  /** The next record of the agent's chain; sealed and kept once the ledger has settled. */
  chained(facts: RecordFacts): RecordDraft {
    const { serverId, sealer, ledger } = this.#options;
    const { agentId, method } = facts;
    const at = ledger.timeFor(agentId);
    const payload = recordPayload(facts, serverId, at);
    const isEvent = facts.extension?.["event_type"] !== undefined;
    const chain: Chain = isEvent ? { agentId, at, method, isEvent } : { agentId, at, method };
    return ledger.add(new RecordDraft(payload, sealer, chain));
  }

  /** A record that is in no chain; sealed once the ledger has settled. */
  unchained(facts: RecordFacts): RecordDraft {
    const { serverId, sealer, ledger } = this.#options;
    const payload = recordPayload(facts, serverId, Date.now());
    return ledger.add(new RecordDraft(payload, sealer, undefined));
  }
}
