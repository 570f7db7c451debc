/**
 * This process as a node of its deployment: its row in the node table, the feed for its views, and the lease under
 * which it may serve from them. The lease counts from before its renewal was sent, by the monotonic clock, and
 * begins once every earlier commit is applied. So a change is in force everywhere once each node has applied it or
 * its lease has passed.
 */
import type { Pool } from "pg";
import { Pulse } from "../../base/back-off.ts";
import { LateLooks } from "../late-looks.ts";
import { LiveProcesses } from "../live-processes.ts";
import type { NodeFigures } from "../node-figures.ts";
import type { StateNotice } from "../notice.ts";
import type { AcknowledgedRecord } from "../records/acknowledged-records.ts";
import type { NodeEntry } from "../state.ts";
import type { ChangedEntry, Feed } from "../store.ts";
import { StoreUnavailableError } from "../store-fault.ts";
import { ChangeChannel, pause } from "./change-channel.ts";
import { COMMITS_A_TRANSACTION } from "./commit.ts";
import { type FeedCursor, forgetChanges, type PostgresFeed } from "./feed.ts";
import { NodeTable, type OwnRow } from "./node-table.ts";
import type { PostgresStore } from "./store.ts";

interface NodeOptions extends OwnRow {
  readonly store: PostgresStore;
  onNotice(notice: StateNotice): void;
}

const POLL_MS = 100;
const BARRIER_POLL_MS = 20;
const FORGET_EVERY_MS = 60_000;

export class PostgresNode {
  readonly #options: NodeOptions;
  readonly #pool: Pool;
  readonly #name: string;
  readonly #table: NodeTable;
  readonly #channel: ChangeChannel;
  /** The processes whose work may be taken over. */
  readonly holders: LiveProcesses;
  #leaseUntil = Number.NEGATIVE_INFINITY;
  #beatAt = Number.NEGATIVE_INFINITY;
  #takenAt = performance.now();
  #forgotAt = performance.now();
  /** True once this process has deleted nodes that are long gone. */
  #hasForgottenNodes = false;
  /** The views include every commit up to this revision. */
  #seen = 0;
  /** The server of that revision. */
  #server = "";
  /** The last revision reported as applied in the node table. */
  #told = 0;
  #hasOthers = false;
  /** The longest known lease of any node. */
  #longestLeaseMs: number;
  /** When the last successful heartbeat was sent. */
  #heardAt = performance.now();
  #sayLost: () => void = () => undefined;
  /** Resolves once the store is known to have gone back. */
  readonly lost: Promise<void> = new Promise((resolve) => {
    this.#sayLost = resolve;
  });
  readonly #looks = new LateLooks(() => this.#pulse.wake());
  #restore: () => Promise<void> = () => Promise.resolve();
  /** The last feed that was applied entirely. */
  #taken: { readonly only: readonly string[]; readonly cursor: FeedCursor } | undefined;
  #hasEndedLease = false;
  #isClosing = false;
  #hasLost = false;
  readonly #pulse = new Pulse(POLL_MS, () => this.#look());

  constructor(options: NodeOptions) {
    this.#options = options;
    this.#pool = options.store.pool;
    this.#longestLeaseMs = options.leaseMs;
    this.holders = new LiveProcesses(options.process);
    this.#name = options.store.name;
    this.#table = new NodeTable(this.#pool, this.#name, options);
    this.#channel = new ChangeChannel(this.#pool, this.#name, () => this.#pulse.wake());
    options.store.onCommit = () => {
      if (this.#hasOthers) this.#channel.notify();
    };
  }

  /** Takes the node's name; returns the reason if that is impossible. */
  async register(): Promise<string | undefined> {
    const before = await this.#table.beatOfOwn();
    if (before !== undefined) {
      // A killed process leaves its row, which then stays unchanged for its lease.
      await pause(before.isLate ? 0 : before.leaseMs + POLL_MS);
      const after = await this.#table.beatOfOwn();
      if (after !== undefined && after.beat !== before.beat) {
        return `another daemon is the node "${this.node}" of this store`;
      }
    }
    const { upTo, server } = await this.#options.store.feed({
      after: Number.MAX_SAFE_INTEGER - 1,
      only: undefined,
    });
    this.#seen = upTo;
    this.#server = server;
    await this.#table.enter();
    return undefined;
  }

  /** Starts applying changes and renewing the lease; resolves once there is a lease. */
  async start(): Promise<void> {
    await this.#tick();
    this.#pulse.start();
    void this.#channel.listen();
  }

  get node(): string {
    return this.#options.node;
  }

  /** True while the views are valid on every node. */
  get isFresh(): boolean {
    return performance.now() < this.#leaseUntil;
  }

  /**
   * Checks the lease.
   * @throws StoreUnavailableError without a lease
   */
  checkLease(): void {
    if (this.isFresh) return;
    const cause = new Error("this node has heard nothing of it for longer than its lease");
    throw new StoreUnavailableError("unreachable", cause);
  }

  /** Stops serving: the store lacks an acknowledged record, so that this node's answers could contradict others'. */
  lose(record: AcknowledgedRecord): void {
    this.#leaseUntil = Number.NEGATIVE_INFINITY;
    if (this.#hasLost) return;
    this.#hasLost = true;
    this.#options.onNotice(lossNotice(record));
    this.#sayLost();
  }

  /** Resolves once every serving node knows a commit, even if this one is closing. */
  async everywhere(revision: number): Promise<void> {
    const number = Math.floor(revision / COMMITS_A_TRANSACTION);
    const begun = performance.now();
    let longest = this.#longestLeaseMs;
    for (;;) {
      const left = begun + longest + POLL_MS - performance.now();
      if (left <= 0) return;
      const asked = this.#table.laggards(number);
      const others = await Promise.race([asked.catch(() => undefined), pause(left)]);
      if (others?.length === 0) return;
      for (const leaseMs of others ?? []) longest = Math.max(longest, leaseMs);
      await pause(BARRIER_POLL_MS);
    }
  }

  /**
   * Applies everything committed so far.
   * @throws StoreUnavailableError if that cannot be known
   */
  catchUp(): Promise<void> {
    return this.#looks.catchUp();
  }

  whenAnew(restore: () => Promise<void>): void {
    this.#restore = restore;
    this.holders.watch(() => {
      // If the store fails, the next departed node or replaced server triggers it again.
      void restore().catch(() => undefined);
    });
  }

  /** Returns the nodes seen lately. */
  nodes(): Promise<readonly NodeEntry[]> {
    return this.#table.list();
  }

  figures(): NodeFigures {
    const now = performance.now();
    return {
      ...this.#options.store.counts,
      leaseMs: Math.max(0, Math.min(this.#leaseUntil - now, this.#options.leaseMs)),
      viewAgeMs: now - this.#takenAt,
      heartbeatAgeMs: now - this.#beatAt,
    };
  }

  /** Gives up the lease and the name. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#leaseUntil = Number.NEGATIVE_INFINITY;
    const stopped = this.#pulse.stop();
    this.#channel.close();
    await stopped;
    await this.#table.leave().catch(() => undefined);
  }

  async #look(): Promise<void> {
    try {
      await this.#tick();
      await this.#forget();
    } catch (error) {
      // The lease expires by itself.
      this.#looks.fail(this.#options.store.health.failed(error));
    }
  }

  /** Renews the lease if due, and applies changes. */
  async #tick(): Promise<void> {
    const sentAt = performance.now();
    const isDue = this.#hasEndedLease || sentAt - this.#beatAt >= this.#options.leaseMs / 5;
    if (isDue || this.#told < this.#seen) await this.#beat();
    const before = this.#seen;
    await this.#take();
    this.#takenAt = sentAt;
    if (isDue && !this.#hasLost && !this.#isClosing) {
      this.#beatAt = sentAt;
      this.#hasEndedLease = false;
      this.#leaseUntil = sentAt + this.#options.leaseMs;
    }
    if (this.#seen > before && this.#hasOthers) await this.#beat();
  }

  async #beat(): Promise<void> {
    const { process, leaseMs, onNotice } = this.#options;
    const taken = this.#seen;
    const sentAt = performance.now();
    if (sentAt - this.#heardAt > leaseMs) this.#table.forgetBeats();
    const look = this.holders.look();
    const others = await this.#table.beat(Math.floor(taken / COMMITS_A_TRANSACTION), this.#server);
    if (others === undefined) {
      this.#leaseUntil = Number.NEGATIVE_INFINITY;
      if (!this.#hasLost) {
        const message = `another daemon has become the node "${this.node}": this one serves nobody any more`;
        onNotice({
          level: "error",
          event: "node-taken-over",
          message,
          fields: { node: this.node },
        });
      }
      this.#hasLost = true;
      return;
    }
    this.#told = taken;
    this.#heardAt = sentAt;
    this.#hasOthers = others.length > 0;
    this.#longestLeaseMs = Math.max(leaseMs, ...others.map((one) => one.lease_ms));
    look(new Set([process, ...others.map((one) => one.process)]));
  }

  async #take(): Promise<void> {
    const { store } = this.#options;
    const isTaken = this.#looks.begin();
    let isSame = false;
    let only: readonly string[] = [];
    const after = this.#seen;
    const feed = await store.watchers.take(async (collections): Promise<PostgresFeed> => {
      only = collections;
      const told = await store.feed({ after, only, cursor: this.#cursorOf(only) });
      isSame = told.server === this.#server;
      if (!isSame) this.#endLease();
      return isSame ? { ...told, after } : { ...told, changed: undefined, isAnew: true };
    }, ofCollection);
    if (!isSame) await this.#restore();
    // A collection opened meanwhile was not included, so the next look asks again.
    const isWhole = store.watchers.size === only.length;
    if (isWhole) isTaken();
    if (!isSame) this.#seen = feed.upTo;
    else if (isWhole) this.#seen = Math.max(this.#seen, feed.upTo);
    this.#server = feed.server;
    this.#taken = { only, cursor: feed.cursor };
  }

  /** Ends the lease until data that another server may lack is restored; the next look renews it. */
  #endLease(): void {
    this.#leaseUntil = Number.NEGATIVE_INFINITY;
    this.#hasEndedLease = true;
  }

  /** Returns the last cursor if the collections are the same: a new one has not applied the earlier changes. */
  #cursorOf(only: readonly string[]): FeedCursor | undefined {
    const taken = this.#taken;
    if (taken === undefined || taken.only.length !== only.length) return undefined;
    return only.every((name, at) => name === taken.only[at]) ? taken.cursor : undefined;
  }

  async #forget(): Promise<void> {
    if (performance.now() - this.#forgotAt < FORGET_EVERY_MS) return;
    if (!this.#hasForgottenNodes) await this.#table.forgetGone();
    this.#hasForgottenNodes = true;
    // While there are more, some are deleted at each look, to keep each short.
    const hasMore = await forgetChanges(this.#pool, this.#name);
    if (!hasMore) this.#forgotAt = performance.now();
  }
}

/** Returns the notice for the log. */
export function lossNotice({ agentId, auditId }: AcknowledgedRecord): StateNotice {
  return {
    ...{ level: "error", event: "store-went-back", message: describeLoss({ agentId, auditId }) },
    fields: { agent_id: agentId, audit_id: auditId },
  };
}

/** Returns the message. */
export function describeLoss({ agentId, auditId }: AcknowledgedRecord): string {
  return `the store went back: it lacks record ${auditId} of agent ${agentId}, which was acknowledged`;
}

function ofCollection(feed: Feed, collection: string): Feed {
  const own = feed.changed?.filter((one: ChangedEntry) => one.collection === collection);
  return { ...feed, changed: own };
}
