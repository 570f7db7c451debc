/**
 * Seals drafts for a store that is slow and may have other writers. Several batches are in flight as far as their
 * chains allow it. Drafts that lost a race are signed again, in order, after the head that won. AGTP-IDENTIFIERS
 * "Attribution Chain"
 *
 *   add        queues a draft
 *   #take      at the end of the event-loop turn, takes the drafts whose chains can continue
 *   #seal      signs them, each after the tip of its chain
 *   #send      sends them to the store as one batch
 *   #received  settles stored drafts; those whose chain another writer moved return to the front of the queue
 *   #failed    settles the drafts with the error
 */
import type { JournalRecord } from "../journal/journal.ts";
import { ChainTips } from "./chain-tips.ts";
import {
  asError,
  batchOf,
  type DraftWriter,
  type HeadOf,
  jobOf,
  type OnSettled,
  sealKept,
  type WriterOptions,
} from "./draft-writer.ts";
import type { Chain, RecordDraft, Sealer, SealingJob } from "./record.ts";
import type { Appended, ChainedRecord, ChainHead, RecordBatch } from "./record-store.ts";

/** A chain moved by others this often indicates a fault rather than a race. */
const ATTEMPTS = 1_000;

/** Drafts in flight, with their records. */
interface Sent {
  readonly drafts: readonly RecordDraft[];
  readonly records: readonly JournalRecord[];
  readonly batch: RecordBatch;
}

export class BatchWriter implements DraftWriter {
  readonly #options: WriterOptions;
  readonly #waiting = new WaitingDrafts();
  readonly #tips: ChainTips;
  readonly #maxBatches: number;
  /** Unsealed drafts, in order. */
  #queue: RecordDraft[] = [];
  #batches = 0;
  #isSealing = false;
  #isScheduled = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    const { store } = options;
    const { batches = 1, isOrdered = false } = store;
    this.#maxBatches = batches;
    const askTurn = store.turnAt && ((...asked: [string, boolean]) => this.#askTurn(...asked));
    this.#tips = new ChainTips(isOrdered, askTurn);
    store.onRaced?.((agentId) => this.#tips.race(agentId));
  }

  add(draft: RecordDraft): void {
    this.#waiting.add(draft);
    this.#queue.push(draft);
    this.#schedule();
  }

  whenSettled(done: OnSettled): void {
    this.#waiting.wait(done);
  }

  whenKnown(draft: RecordDraft, done: OnSettled): void {
    this.#waiting.waitFor(draft, done);
  }

  pending(): Iterable<Chain> {
    return this.#waiting.chains();
  }

  /** Runs after everything that arrived in this turn of the event loop was answered. */
  #schedule(): void {
    if (this.#isScheduled || this.#isSealing || this.#queue.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sealNext();
    });
  }

  #sealNext(): void {
    while (!this.#isSealing && this.#batches < this.#maxBatches) {
      const drafts = this.#take();
      if (drafts.length === 0) return;
      this.#seal(drafts);
    }
  }

  /** Takes the drafts whose chains can continue, up to the first with another sealer. */
  #take(): readonly RecordDraft[] {
    const taken: RecordDraft[] = [];
    const queue = this.#queue;
    let next = 0;
    for (; next < queue.length; next += 1) {
      const draft = queue[next];
      if (draft === undefined) break;
      const [first = draft] = taken;
      if (draft.sealer !== first.sealer) break;
      const { chain } = draft;
      if (chain === undefined || !this.#tips.hold(chain.agentId, draft)) taken.push(draft);
    }
    this.#queue = queue.slice(next);
    return taken;
  }

  #askTurn(agentId: string, isLost: boolean): void {
    const go = (head?: ChainHead): void => {
      const { heads, onMoved } = this.#options;
      const isMoved = head !== undefined && head.auditId !== heads.get(agentId)?.auditId;
      if (isMoved) {
        heads.learn(agentId, head);
        onMoved(head);
      }
      this.#queue = [...this.#tips.takeTurn(agentId, isMoved), ...this.#queue];
      this.#schedule();
    };
    // If no turn is given, the writers race.
    this.#options.store.turnAt?.(agentId, isLost).then(go, () => go());
  }

  readonly #headOf: HeadOf = (agentId) => {
    const tip = this.#tips.get(agentId);
    return tip === undefined ? this.#options.heads.get(agentId) : tip.head;
  };

  #seal(drafts: readonly RecordDraft[]): void {
    const [first] = drafts;
    if (first === undefined) return;
    this.#reissue(drafts);
    try {
      const sealed = sealWhole(first.sealer, jobOf(drafts, this.#headOf));
      if (!(sealed instanceof Promise)) {
        this.#send(drafts, sealed);
        return;
      }
      // Later records follow these, so they are sealed afterwards.
      this.#isSealing = true;
      sealed
        .then((records) => this.#send(drafts, records))
        .catch((error: unknown) => this.#giveUp(drafts, error))
        .finally(() => {
          this.#isSealing = false;
          this.#sealNext();
        });
    } catch (error) {
      this.#giveUp(drafts, error);
    }
  }

  /** Moves drafts to times not before their heads, which others may have moved. */
  #reissue(drafts: readonly RecordDraft[]): void {
    const reached = new Map<string, number>();
    for (const draft of drafts) {
      if (draft.chain === undefined) continue;
      const { agentId, at } = draft.chain;
      const least = Math.max(at, reached.get(agentId) ?? this.#headOf(agentId)?.at ?? at);
      draft.reissue(least);
      reached.set(agentId, least);
    }
  }

  #send(drafts: readonly RecordDraft[], records: readonly JournalRecord[]): void {
    if (records.length < drafts.length) throw new Error("a record was not sealed");
    const batch = batchOf(drafts, records, this.#headOf);
    const sent: Sent = { drafts, records, batch };
    const last = new Map<string, ChainedRecord>();
    for (const [index, record] of batch.records.entries()) {
      const { agentId } = record.chain;
      if (batch.records[index + 1]?.chain.agentId !== agentId) last.set(agentId, record);
    }
    for (const [agentId, { auditId, chain }] of last) {
      this.#tips.send(agentId, { auditId, at: chain.at, method: chain.method });
    }
    this.#batches += 1;
    // A store that throws synchronously has stored nothing, like one that rejects.
    new Promise<Appended>((resolve) => resolve(this.#options.store.append(batch))).then(
      (appended) => this.#received(sent, appended),
      (error: unknown) => this.#failed(sent, asError(error)),
    );
  }

  #received({ drafts, records, batch }: Sent, { first, moved, failed }: Appended): void {
    const { heads } = this.#options;
    sealKept({ drafts, records, first, heads }, (draft) => {
      const { chain } = draft;
      const failure = chain && failed?.get(chain.agentId);
      if (failure !== undefined) {
        this.#waiting.settle(draft, failure);
        return false;
      }
      const isMoved = chain !== undefined && moved?.has(chain.agentId) === true;
      if (isMoved) {
        const { at = 0 } = moved.get(chain.agentId) ?? {};
        // A later time distinguishes an event from the one it lost to, in whatever order they are stored.
        if (chain.isEvent) draft.reissue(Math.max(chain.at, at + 1));
        this.#tips.comeBack(chain.agentId, draft);
      } else this.#waiting.settle(draft);
      return !isMoved;
    });
    for (const [agentId, head] of moved ?? []) {
      this.#tips.lose(agentId, head);
      heads.learn(agentId, head);
      if (head !== undefined) this.#options.onMoved(head);
    }
    this.#options.onKept();
    for (const [agentId, failure] of failed ?? []) {
      this.#tips.fail(agentId, heads.get(agentId));
      this.#options.onFailure(failure);
    }
    this.#finish(batch.expected.keys());
  }

  /** Handles a batch that was not stored, or whose outcome is unknown; later drafts of its chains come back. */
  #failed({ drafts, batch }: Sent, error: Error): void {
    for (const agentId of batch.expected.keys()) {
      this.#tips.fail(agentId, this.#options.heads.get(agentId));
    }
    this.#options.onFailure(error);
    for (const draft of drafts) this.#waiting.settle(draft, error);
    this.#finish(batch.expected.keys());
  }

  #finish(agentIds: Iterable<string>): void {
    this.#batches -= 1;
    const back: RecordDraft[] = [];
    for (const agentId of agentIds) {
      const drafts = this.#tips.receive(agentId) ?? [];
      if (this.#tips.lossesOf(agentId) < ATTEMPTS) back.push(...drafts);
      else this.#giveUp(drafts, new Error("a chain grows faster than it can be signed"));
    }
    if (back.length > 0) this.#queue = [...back, ...this.#queue];
    this.#waiting.tell();
    this.#schedule();
  }

  /** Fails unsent drafts. */
  #giveUp(drafts: readonly RecordDraft[], thrown: unknown): void {
    const error = asError(thrown);
    if (drafts.length === 0) return;
    this.#options.onFailure(error);
    for (const draft of drafts) this.#waiting.settle(draft, error);
    this.#waiting.tell();
  }
}

/** Returns a job's records once every one is sealed. */
function sealWhole(
  sealer: Sealer,
  job: SealingJob,
): readonly JournalRecord[] | Promise<readonly JournalRecord[]> {
  const early: JournalRecord[] = [];
  const rest = sealer.seal(job, (records) => void early.push(...records));
  return rest instanceof Promise ? rest.then((last) => [...early, ...last]) : [...early, ...rest];
}

interface Waiter {
  /** The number of the last draft it waits for. */
  readonly until: number;
  readonly done: OnSettled;
  failure: Error | undefined;
}

/** Settled entries kept before the array is compacted. */
const MOST_SETTLED = 4_096;

/**
 * Unsettled drafts in order, and their waiters. An array is used instead of a Map: in V8 each table of a growing or
 * shrinking Map references its successor, so one table in the old generation keeps every later one alive, drafts
 * included, until it is collected. At 16 x 16 with unsigned records, two workers with their parent took 34 µs a
 * request with a Map, and 23 without.
 */
class WaitingDrafts {
  /** By number; undefined: settled. */
  #drafts: (RecordDraft | undefined)[] = [];
  /** The number of the array's first entry. */
  #first = 1;
  /** The index of the first unsettled draft. */
  #oldest = 0;
  readonly #waiters: Waiter[] = [];
  /** Waiters for a single draft. */
  readonly #single = new Map<RecordDraft, OnSettled>();

  add(draft: RecordDraft): void {
    draft.number = this.#first + this.#drafts.length;
    this.#drafts.push(draft);
  }

  /** Calls back once the current drafts are settled, immediately if there are none. */
  wait(done: OnSettled): void {
    const { length } = this.#drafts;
    if (this.#oldest === length) done(undefined);
    else this.#waiters.push({ until: this.#first + length - 1, done, failure: undefined });
  }

  /** Calls back once a pending draft is settled. */
  waitFor(draft: RecordDraft, done: OnSettled): void {
    this.#single.set(draft, done);
  }

  /** Settles a draft, with the error if it was not stored. */
  settle(draft: RecordDraft, failure?: Error): void {
    const { number } = draft;
    const index = number - this.#first;
    if (this.#drafts[index] !== draft) return;
    this.#drafts[index] = undefined;
    if (index === this.#oldest) this.#forget();
    if (this.#single.size > 0) {
      this.#single.get(draft)?.(failure);
      this.#single.delete(draft);
    }
    if (failure === undefined) return;
    for (const waiter of this.#waiters) if (waiter.until >= number) waiter.failure ??= failure;
  }

  /** Calls the waiters whose drafts are settled; a callback may add more. */
  tell(): void {
    const settled = this.#first + this.#oldest - 1;
    for (let next = this.#waiters[0]; next !== undefined; next = this.#waiters[0]) {
      if (next.until > settled) return;
      this.#waiters.shift();
      next.done(next.failure);
    }
  }

  *chains(): Generator<Chain> {
    for (const draft of this.#drafts) if (draft?.chain !== undefined) yield draft.chain;
  }

  /** Drops settled entries from the front. */
  #forget(): void {
    const drafts = this.#drafts;
    while (this.#oldest < drafts.length && drafts[this.#oldest] === undefined) this.#oldest += 1;
    if (this.#oldest < drafts.length && this.#oldest < MOST_SETTLED) return;
    this.#drafts = drafts.slice(this.#oldest);
    this.#first += this.#oldest;
    this.#oldest = 0;
  }
}
