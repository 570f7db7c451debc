/**
 * The state that workers share, in their parent: its store and journal, and a seat for each worker with what it has
 * applied. A change is in force everywhere once each worker has applied it, has exited, or can no longer serve from
 * an older view.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type Link, LinkGoneError } from "../../base/link.ts";
import type { JournalRecord } from "../journal/journal.ts";
import type { ChainHead } from "../records/record-store.ts";
import { LifecycleRegister } from "../registers/lifecycle-register.ts";
import type { CommitOutcome, Feed, ListRange, Store, StoredEntry } from "../store.ts";
import { ChainTurns } from "./chain-turns.ts";
import type { AskedCommit } from "./parent-store.ts";
import { type BatchMessage, decodeBatch } from "./sealed-batch.ts";
import type { SealedChains } from "./sealed-chains.ts";

/** The initial state of a worker. */
export interface Joined {
  readonly node: string;
  readonly leaseMs: number;
  /** The store's revision that the worker must know. */
  readonly upTo: number;
  /** Identifies the holder of this worker's work; unique over time. */
  readonly process: string;
  readonly heads: readonly (readonly [string, ChainHead])[];
  /** Lifecycle events that may not be in the store. */
  readonly events: readonly JournalRecord[];
}

/** A worker's query for changes to collections. */
export interface AskedFeed {
  readonly after: number;
  readonly only: readonly string[];
}

/** The changes of the collections that have any; null: too many to list. */
export interface SharedFeed {
  readonly upTo: number;
  /** The serving processes. */
  readonly live: readonly string[];
  readonly changed: readonly (readonly [string, Feed["changed"] | null])[];
}

interface JoinedWorker {
  readonly link: Link;
  readonly process: string;
  /** When it last queried the feed. */
  heardAt: number;
  /** Its views include every commit up to this revision. */
  taken: number;
  /** True from its wake-up until it queries the feed, so that a stopped worker is woken once. */
  isWoken: boolean;
  /** False while it starts. */
  isServing: boolean;
}

interface SharedStateOptions {
  readonly store: Store;
  readonly chains: SealedChains;
  readonly leaseMs: number;
}

/** The leases without contact after which a worker counts as stopped. */
const LEASES_UNHEARD = 1.5;
/** The time that a worker's response may still be in flight when its lease ends. */
const SLACK_MS = 50;

/** The events kept for future workers; beyond it, the current workers store the effects. */
const MOST_EVENTS = 1_000;

export class SharedState {
  readonly #options: SharedStateOptions;
  readonly #seats = new Set<JoinedWorker>();
  readonly #turns = new ChainTurns<Link>();
  /** Killed workers, which may not have stored the effects of their records. */
  readonly #lost = new Set<Link>();
  #isSaving = false;
  #isChanged: () => void = () => undefined;
  #change: Promise<void> = Promise.resolve();

  constructor(options: SharedStateOptions) {
    this.#options = options;
    this.#renewChange();
  }

  /** Serves a worker until it has exited. */
  async serve(link: Link, node: string): Promise<void> {
    let seat: JoinedWorker | undefined;
    let isKept = false;
    link.serve({
      ...this.#storeAnswers(() => seat),
      ...this.#recordAnswers(link),
      join: async () => {
        const joined = await this.#join(node, randomUUID());
        const { process, upTo: taken } = joined;
        const heardAt = performance.now();
        seat = { link, process, taken, heardAt, isWoken: false, isServing: false };
        this.#seats.add(seat);
        return joined;
      },
      taken: (revision: number) => {
        if (seat === undefined) return;
        seat.taken = Math.max(seat.taken, revision);
        this.#isChanged();
      },
      serving: () => {
        if (seat !== undefined) seat.isServing = true;
      },
      kept: () => {
        if (seat !== undefined) this.#seats.delete(seat);
        isKept = true;
      },
    });
    await link.closed;
    if (seat === undefined) return;
    this.#seats.delete(seat);
    if (!isKept) this.#lost.add(link);
    this.#isChanged();
    this.#wakeOthers(undefined);
  }

  /**
   * Resolves once every worker has stored the effects of its records. For workers that have exited or do not serve
   * yet, the effects are stored here, since the journal must not wait for a replacement.
   */
  async save(): Promise<void> {
    const { store, chains } = this.#options;
    const lost = [...this.#lost];
    // A batch of theirs may still be being written.
    if (lost.length > 0) await chains.known();
    const told = chains.events.at(-1);
    const saved = await Promise.all([...this.#seats].map(saveAt));
    if (told !== undefined && (lost.length > 0 || saved.includes(false))) {
      await LifecycleRegister.open(store, [...chains.events]);
      this.#wakeOthers(undefined);
    }
    for (const link of lost) this.#lost.delete(link);
    if (told !== undefined) chains.forgetEvents(told);
  }

  /** Saves at the bound on events, as a journal that never fills, such as one in memory, triggers no save. */
  async #saveMany(): Promise<void> {
    if (this.#isSaving || this.#options.chains.events.length < MOST_EVENTS) return;
    this.#isSaving = true;
    // The next event tries again.
    await this.save().catch(() => undefined);
    this.#isSaving = false;
  }

  async #join(node: string, process: string): Promise<Joined> {
    const { store, chains, leaseMs } = this.#options;
    // The previous worker may have been killed while its last batch was being written.
    await chains.known();
    const { upTo } = await store.changes(Number.MAX_SAFE_INTEGER);
    const { heads, events } = chains;
    return {
      node,
      process,
      leaseMs,
      upTo,
      heads: [...heads.all].map(([id, head]) => [id, withoutPlace(head)] as const),
      events,
    };
  }

  #storeAnswers(own: () => JoinedWorker | undefined) {
    const { store } = this.#options;
    return {
      get: ([collection, key]: [string, string]) => store.get(collection, key),
      list: ([collection, range]: [string, ListRange]): Promise<readonly StoredEntry[]> =>
        store.list(collection, range),
      changes: ([after, only]: [number, string | null]): Promise<Feed> =>
        store.changes(after, only ?? undefined),
      commit: async ({ changes, expectations }: AskedCommit): Promise<CommitOutcome> => {
        const outcome = await store.commit(changes, expectations);
        if (outcome.kind === "committed" && changes.length > 0) this.#wakeOthers(own());
        return outcome;
      },
      feed: (asked: AskedFeed): Promise<SharedFeed> => this.#feed(asked, own()),
      everywhere: (revision: number): Promise<void> => this.#everywhere(revision, own()),
    };
  }

  #recordAnswers(link: Link) {
    const { chains } = this.#options;
    const { records } = chains;
    return {
      append: (batch: BatchMessage, octets: Buffer) => {
        const appended = chains.append(decodeBatch(batch, octets));
        if (batch.events.length > 0) void this.#saveMany();
        if (this.#turns.isEmpty) return appended;
        const agentIds = batch.chains.map(([agentId]) => agentId);
        return appended.finally(() => this.#turns.end(agentIds, link));
      },
      turn: async ([agentId, isLost]: [string, boolean]): Promise<ChainHead | undefined> => {
        const others = isLost ? [...this.#seats].filter((one) => one.link !== link) : [];
        for (const other of others) other.link.tell("raced", agentId);
        await this.#turns.begin(agentId, link);
        return withoutPlace(chains.heads.get(agentId));
      },
      probe: () => records.probe(),
      find: (auditId: string) => records.find(auditId),
      before: ([agentId, auditId]: [string, string | null]) =>
        (records.openReader?.() ?? records).before?.(agentId, auditId ?? undefined),
      "where-cut": (auditId: string) => records.whereCut?.(auditId),
      heads: (agentIds: readonly string[]) =>
        agentIds.flatMap((agentId) => {
          const head = withoutPlace(chains.heads.get(agentId));
          return head === undefined ? [] : [[agentId, head]];
        }),
    };
  }

  async #feed({ after, only }: AskedFeed, own: JoinedWorker | undefined): Promise<SharedFeed> {
    if (own !== undefined) {
      own.heardAt = performance.now();
      own.isWoken = false;
    }
    const { store } = this.#options;
    // Most queries only renew a lease, as in an idle daemon.
    const newest = await store.changes(Number.MAX_SAFE_INTEGER);
    if (newest.upTo <= after) return { upTo: newest.upTo, live: this.#live(), changed: [] };
    const feeds = await Promise.all(only.map((collection) => store.changes(after, collection)));
    const { upTo } = await store.changes(Number.MAX_SAFE_INTEGER);
    const changed = only.flatMap((collection, index): SharedFeed["changed"] => {
      const feed = feeds[index];
      return feed?.changed?.length === 0 ? [] : [[collection, feed?.changed ?? null]];
    });
    // Commits made between the queries are reported again.
    const taken = Math.min(upTo, ...feeds.map((feed) => feed.upTo));
    return { upTo: taken, live: this.#live(), changed };
  }

  /** Returns the workers heard from lately; one stopped for longer than its lease loses its work to others. */
  #live(): readonly string[] {
    const since = performance.now() - LEASES_UNHEARD * this.#options.leaseMs;
    return [...this.#seats].filter((one) => one.heardAt >= since).map(({ process }) => process);
  }

  #wakeOthers(own: JoinedWorker | undefined): void {
    for (const seat of this.#seats) {
      if (seat === own || seat.isWoken) continue;
      seat.isWoken = true;
      seat.link.tell("wake");
    }
  }

  async #everywhere(revision: number, own: JoinedWorker | undefined): Promise<void> {
    const until = performance.now() + this.#options.leaseMs + SLACK_MS;
    for (;;) {
      const left = until - performance.now();
      const isTaken = [...this.#seats].every((one) => one === own || one.taken >= revision);
      if (isTaken || left <= 0) return;
      await Promise.race([this.#change, pause(left, undefined, { ref: false })]);
    }
  }

  /** Makes `#isChanged` resolve `#change` and replace it, whenever a worker has applied something or exited. */
  #renewChange(): void {
    this.#change = new Promise((resolve) => {
      this.#isChanged = () => {
        this.#renewChange();
        resolve();
      };
    });
  }
}

/** Returns false if the worker has exited, or does not serve yet. */
async function saveAt({ link, isServing }: JoinedWorker): Promise<boolean> {
  if (!isServing) return false;
  try {
    await link.ask("save");
    return true;
  } catch (error) {
    if (!(error instanceof LinkGoneError)) throw error;
    return false;
  }
}

/** Removes the place, since the journal is the parent's. */
function withoutPlace<Head extends ChainHead | undefined>(head: Head): Head {
  return head && { ...head, place: undefined };
}
