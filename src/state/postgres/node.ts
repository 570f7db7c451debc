/**
 * This process as a node of its deployment: its row in the table of nodes, the feed into its views,
 * and the lease by which it may serve from them. The lease counts from before the renewal was sent,
 * by this machine's monotonic clock, and begins once everything is taken in that was committed before
 * it; so a change holds everywhere once each node has taken it or a lease has passed.
 */
import { hash } from "node:crypto";
import type { Notification, Pool, PoolClient } from "pg";
import { LiveProcesses } from "../live-processes.ts";
import type { NodeFigures } from "../node-figures.ts";
import type { StateNotice } from "../notice.ts";
import type { AcknowledgedRecord } from "../records/acknowledged-records.ts";
import type { NodeEntry } from "../state.ts";
import type { ChangedEntry, Feed } from "../store.ts";
import { StoreUnavailableError } from "../store-fault.ts";
import { COMMITS_A_TRANSACTION } from "./commit.ts";
import { withClient } from "./driver.ts";
import { forgetChanges, type PostgresFeed, SERVER } from "./feed.ts";
import type { PostgresStore } from "./store.ts";

export interface NodeOptions {
  readonly store: PostgresStore;
  /** The name of this node; nobody else has it at the same time. */
  readonly node: string;
  readonly address: string;
  readonly version: string;
  /** Differs for each process. */
  readonly process: string;
  readonly leaseMs: number;
  onNotice(notice: StateNotice): void;
}

interface BeatRow {
  readonly node: string;
  readonly process: string;
  readonly beat: string;
  readonly lease_ms: number;
}

const POLL_MS = 100;
const BARRIER_POLL_MS = 20;
const NOTIFY_AFTER_MS = 2;
const FORGET_EVERY_MS = 60_000;
/** What is asked for and not found waits so long for what was just committed. */
const CATCH_UP_MS = 500;
const CATCH_UP_PAUSE_MS = 20;
const LISTEN_AGAIN_MS = 5_000;
/** A node that says nothing for so long is no node any more. */
const GONE_AFTER = "1 hour";

export class PostgresNode {
  readonly #options: NodeOptions;
  readonly #pool: Pool;
  readonly #name: string;
  readonly #channel: string;
  /** The processes that work may be taken over from. */
  readonly holders: LiveProcesses;
  #leaseUntil = Number.NEGATIVE_INFINITY;
  #beatAt = Number.NEGATIVE_INFINITY;
  #takenAt = performance.now();
  #forgotAt = performance.now();
  /** The revision that the views are complete up to. */
  #seen = 0;
  /** The server that said so. */
  #server = "";
  /** The last one that the table has as taken. */
  #told = 0;
  #hasOthers = false;
  /** When the last answer about the others was asked for. */
  #heardAt = performance.now();
  /** By node its latest beat, and when it was first heard here. */
  readonly #heard = new Map<string, { readonly beat: string; readonly at: number }>();
  #sayLost: () => void = () => undefined;
  /** Resolves once the store is known to have gone back. */
  readonly lost: Promise<void> = new Promise((resolve) => {
    this.#sayLost = resolve;
  });
  /** The looks for all that was committed that is under way, and the one behind it. */
  #catching: Promise<void> = Promise.resolve();
  #awaited: Promise<void> | undefined;
  /** Those that wait for the next look at what has changed. */
  readonly #looking = new Set<() => void>();
  #isClosing = false;
  #hasLost = false;
  #wake: () => void = () => undefined;
  #isAwake = false;
  #notifying: NodeJS.Timeout | undefined;
  #deafen: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: NodeOptions) {
    this.#options = options;
    this.#pool = options.store.pool;
    this.holders = new LiveProcesses(options.process);
    this.#name = options.store.name;
    this.#channel = `agtpd_${hash("sha256", this.#name).slice(0, 16)}`;
    options.store.onCommit = () => this.#notify();
  }

  /** Takes the node's name; in words, why it cannot be had. */
  async register(): Promise<string | undefined> {
    const { node, address, version, process, leaseMs } = this.#options;
    const before = await this.#beatOf(node);
    if (before !== undefined) {
      // Its process may have been killed: then nothing moves for as long as its lease is.
      await pause(before.isLate ? 0 : before.leaseMs + POLL_MS);
      const after = await this.#beatOf(node);
      if (after !== undefined && after.beat !== before.beat) {
        return `another daemon is the node "${node}" of this store`;
      }
    }
    const { upTo, server } = await this.#options.store.feed(Number.MAX_SAFE_INTEGER - 1, undefined);
    this.#seen = upTo;
    this.#server = server;
    await this.#pool.query(
      `INSERT INTO ${this.#name}.nodes (node, process, address, version, lease_ms)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (node) DO UPDATE SET process = excluded.process, address = excluded.address,
          version = excluded.version, lease_ms = excluded.lease_ms, since = clock_timestamp(),
          beat_at = clock_timestamp(), beat = nodes.beat + 1, taken = 0`,
      [node, process, address, version, leaseMs],
    );
    await this.#pool.query(
      `DELETE FROM ${this.#name}.nodes
        WHERE beat_at < clock_timestamp() - interval '${GONE_AFTER}'`,
    );
    return undefined;
  }

  /** Begins to take in what others change, and to renew the lease; resolves once there is one. */
  async start(): Promise<void> {
    await this.#tick();
    this.#running = this.#run();
    void this.#listen();
  }

  get node(): string {
    return this.#options.node;
  }

  /** True while what the views say holds on all nodes. */
  get isFresh(): boolean {
    return performance.now() < this.#leaseUntil;
  }

  /** @throws StoreUnavailableError without a lease */
  checkLease(): void {
    if (this.isFresh) return;
    const cause = new Error("this node has heard nothing of it for longer than its lease");
    throw new StoreUnavailableError("unreachable", cause);
  }

  /** Serves nobody any more: what was acknowledged is not in the store, so others may be told otherwise. */
  lose(record: AcknowledgedRecord): void {
    this.#leaseUntil = Number.NEGATIVE_INFINITY;
    if (this.#hasLost) return;
    this.#hasLost = true;
    this.#options.onNotice(lossNotice(record));
    this.#sayLost();
  }

  /** Waits until a commit is known on every node that serves. */
  async everywhere(revision: number): Promise<void> {
    const number = Math.floor(revision / COMMITS_A_TRANSACTION);
    const begun = performance.now();
    let longest = this.#options.leaseMs;
    while (!this.#isClosing) {
      const left = begun + longest + POLL_MS - performance.now();
      if (left <= 0) return;
      const asked = this.#laggards(number);
      const others = await Promise.race([asked.catch(() => undefined), pause(left)]);
      if (others?.length === 0) return;
      for (const leaseMs of others ?? []) longest = Math.max(longest, leaseMs);
      await pause(BARRIER_POLL_MS);
    }
  }

  /**
   * Takes in what was committed so far: one question to the store for all who ask meanwhile, and not more
   * than so many a second.
   */
  catchUp(): Promise<void> {
    this.#awaited ??= this.#catching.then(() => {
      this.#awaited = undefined;
      const catching = this.#catchUp().catch(() => undefined);
      this.#catching = Promise.all([catching, pause(CATCH_UP_PAUSE_MS)]).then(() => undefined);
      return catching;
    });
    return this.#awaited;
  }

  /** Waits for the next look at what has changed. */
  async #catchUp(): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      this.#looking.add(resolve);
    });
    this.#wakeUp();
    await Promise.race([seen, pause(CATCH_UP_MS)]);
  }

  /** Every node that has been heard of lately. */
  async nodes(): Promise<readonly NodeEntry[]> {
    const { rows } = await this.#pool.query<Record<string, unknown>>(
      `SELECT node, address, version, since, greatest(0, lease_ms
          - extract(epoch FROM clock_timestamp() - beat_at) * 1000)::integer AS lease
        FROM ${this.#name}.nodes ORDER BY node`,
    );
    return rows.map((row) => ({
      node: String(row["node"]),
      address: String(row["address"]),
      version: String(row["version"]),
      since: (row["since"] as Date).toISOString(),
      state: Number(row["lease"]) > 0 ? "live" : "silent",
      leaseMs: Number(row["lease"]),
    }));
  }

  /** How this node is, now. */
  figures(): NodeFigures {
    const now = performance.now();
    return {
      ...this.#options.store.counts,
      leaseMs: Math.max(0, Math.min(this.#leaseUntil - now, this.#options.leaseMs)),
      viewAgeMs: now - this.#takenAt,
      heartbeatAgeMs: now - this.#beatAt,
    };
  }

  /** Gives the lease up, and the name. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#leaseUntil = Number.NEGATIVE_INFINITY;
    this.#wakeUp();
    clearTimeout(this.#notifying);
    this.#deafen();
    await this.#running;
    const { node, process } = this.#options;
    await this.#pool
      .query(`DELETE FROM ${this.#name}.nodes WHERE node = $1 AND process = $2`, [node, process])
      .catch(() => undefined);
  }

  async #run(): Promise<void> {
    while (!this.#isClosing) {
      await this.#sleep();
      if (this.#isClosing) return;
      try {
        await this.#tick();
        await this.#forget();
      } catch {
        // The lease ends by itself, and the store tells of what it meets.
      }
    }
  }

  /** Renews the lease where that is due, and takes in what has changed. */
  async #tick(): Promise<void> {
    const sentAt = performance.now();
    const isDue = sentAt - this.#beatAt >= this.#options.leaseMs / 5;
    if (isDue || this.#told < this.#seen) await this.#beat();
    const before = this.#seen;
    await this.#take();
    this.#takenAt = sentAt;
    if (isDue && !this.#hasLost && !this.#isClosing) {
      this.#beatAt = sentAt;
      this.#leaseUntil = sentAt + this.#options.leaseMs;
    }
    if (this.#seen > before && this.#hasOthers) await this.#beat();
  }

  async #beat(): Promise<void> {
    const { node, process, leaseMs, onNotice } = this.#options;
    const taken = this.#seen;
    const sentAt = performance.now();
    // While this node hears nothing, nobody is found to have stopped.
    if (sentAt - this.#heardAt > leaseMs) this.#heard.clear();
    const look = this.holders.look();
    const { rows } = await this.#pool.query<BeatRow>(
      `WITH beat AS (
          UPDATE ${this.#name}.nodes SET beat = beat + 1, beat_at = clock_timestamp(),
            taken = CASE WHEN ${SERVER} = $4 THEN $3::bigint ELSE 0 END
          WHERE node = $1 AND process = $2 RETURNING node
        ) SELECT n.node, n.process, n.beat, n.lease_ms FROM beat JOIN ${this.#name}.nodes n ON true`,
      [node, process, Math.floor(taken / COMMITS_A_TRANSACTION), this.#server],
    );
    if (rows.length === 0) {
      this.#leaseUntil = Number.NEGATIVE_INFINITY;
      if (!this.#hasLost) {
        const message = `another daemon has become the node "${node}": this one serves nobody any more`;
        onNotice({ level: "error", event: "node-taken-over", message, fields: { node } });
      }
      this.#hasLost = true;
      return;
    }
    this.#told = taken;
    this.#heardAt = sentAt;
    const others = rows.filter((one) => one.node !== node && this.#isLive(one));
    this.#hasOthers = others.length > 0;
    look(new Set([process, ...others.map((one) => one.process)]));
  }

  async #take(): Promise<void> {
    const { store } = this.#options;
    const watchers = [...store.watchers];
    const looking = [...this.#looking];
    this.#looking.clear();
    for (const [, all] of watchers) for (const watcher of all) watcher.ask();
    let feed: PostgresFeed | undefined;
    let isSame = false;
    try {
      const told = await store.feed(
        this.#seen,
        watchers.map(([collection]) => collection),
      );
      isSame = told.server === this.#server;
      feed = isSame ? told : { ...told, changed: undefined, isAnew: true };
    } finally {
      const taken = watchers.flatMap(([collection, all]) => {
        const own = feed && ofCollection(feed, collection);
        return [...all].map((watcher) => watcher.take(own));
      });
      await Promise.all(taken);
      for (const resolve of looking) resolve();
    }
    this.#seen = isSame ? Math.max(this.#seen, feed.upTo) : feed.upTo;
    this.#server = feed.server;
  }

  /** The leases of the nodes that have not taken a transaction in. */
  async #laggards(number: number): Promise<readonly number[]> {
    const { rows } = await this.#pool.query<BeatRow>(
      `SELECT node, process, beat, lease_ms FROM ${this.#name}.nodes
        WHERE node <> $1 AND taken < $2`,
      [this.#options.node, number],
    );
    const live = rows.filter((row) => this.#isLive(row));
    return live.map(({ lease_ms: leaseMs }) => leaseMs);
  }

  /** A node whose beat has been the same for longer than its lease does not serve. */
  #isLive({ node, beat, lease_ms: leaseMs }: BeatRow): boolean {
    const now = performance.now();
    const heard = this.#heard.get(node);
    if (heard?.beat === beat) return now - heard.at <= leaseMs;
    this.#heard.set(node, { beat, at: now });
    return true;
  }

  async #beatOf(node: string) {
    const { rows } = await this.#pool.query<{ beat: string; lease_ms: number; late: boolean }>(
      `SELECT beat, lease_ms, beat_at < clock_timestamp() - lease_ms * interval '2 ms' AS late
        FROM ${this.#name}.nodes WHERE node = $1`,
      [node],
    );
    const [row] = rows;
    return row && { beat: row.beat, leaseMs: row.lease_ms, isLate: row.late };
  }

  async #forget(): Promise<void> {
    if (performance.now() - this.#forgotAt < FORGET_EVERY_MS) return;
    this.#forgotAt = performance.now();
    await forgetChanges(this.#pool, this.#name);
  }

  /** Wakes the others, for many commits once, and outside of their transactions. */
  #notify(): void {
    if (!this.#hasOthers || this.#isClosing) return;
    this.#notifying ??= setTimeout(() => {
      this.#notifying = undefined;
      this.#pool.query(`NOTIFY ${this.#channel}`).catch(() => undefined);
    }, NOTIFY_AFTER_MS);
  }

  /** Listens for the others; without it, as behind some poolers, a change is seen by the next poll. */
  async #listen(): Promise<void> {
    while (!this.#isClosing) {
      try {
        await withClient(this.#pool, (listener) => this.#hear(listener));
      } catch {
        // The poll goes on.
      }
      if (!this.#isClosing) await pause(LISTEN_AGAIN_MS);
    }
  }

  /** Hears the others until the connection ends; never settles otherwise than by throwing. */
  async #hear(listener: PoolClient): Promise<void> {
    const ended = new Promise((_, reject) => {
      this.#deafen = () => reject(new Error("the node is closed"));
      listener.once("error", reject);
      listener.once("end", () => reject(new Error("the connection has ended")));
    });
    // It may end before it is waited for.
    ended.catch(() => undefined);
    if (this.#isClosing) return;
    listener.on("notification", (_: Notification) => this.#wakeUp());
    await listener.query(`LISTEN ${this.#channel}`);
    await ended;
  }

  #wakeUp(): void {
    this.#isAwake = true;
    this.#wake();
  }

  async #sleep(): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isAwake = false;
  }
}

/** As a line of the log. */
export function lossNotice({ agentId, auditId }: AcknowledgedRecord): StateNotice {
  return {
    ...{ level: "error", event: "store-went-back", message: describeLoss({ agentId, auditId }) },
    fields: { agent_id: agentId, audit_id: auditId },
  };
}

/** In words. */
export function describeLoss({ agentId, auditId }: AcknowledgedRecord): string {
  return `the store went back: it lacks record ${auditId} of agent ${agentId}, which was acknowledged`;
}

function ofCollection(feed: Feed, collection: string): Feed {
  const own = feed.changed?.filter((one: ChangedEntry) => one.collection === collection);
  return { ...feed, changed: own };
}

function pause(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), milliseconds).unref();
  });
}
