/**
 * The store in a PostgreSQL database that several nodes may share. A commit that resolved is committed there.
 * Commits requested while others are being made share the next transaction; one refused by the server does not
 * affect the others.
 */
import type { Client, Pool, PoolClient } from "pg";
import { checkName, encodeChange, type PendingCommit } from "../entry-limits.ts";
import { FeedWatchers } from "../feed-watchers.ts";
import { compileRange } from "../key-range.ts";
import type { StoreCounts } from "../node-figures.ts";
import type {
  Change,
  CommitOutcome,
  Expectation,
  Feed,
  FeedWatcher,
  ListRange,
  Store,
  StoredEntry,
} from "../store.ts";
import { StoreUnavailableError } from "../store-fault.ts";
import { type OnStoreNotice, StoreHealth } from "../store-health.ts";
import { COMMITS_A_TRANSACTION, PostgresCommitter } from "./commit.ts";
import { isAnswer, postgresFaultKind } from "./fault.ts";
import { type FeedStart, type PostgresFeed, readFeed } from "./feed.ts";

interface Row {
  readonly key: string;
  readonly value: string;
  readonly revision: string;
}

export class PostgresStore implements Store {
  readonly pool: Pool;
  /** The schema, quoted. */
  readonly name: string;
  readonly #committer: PostgresCommitter;
  /** Also informed of other use of this pool. */
  readonly health: StoreHealth;
  readonly #end: PoolEnd;
  /** The watchers of changes. */
  readonly watchers: FeedWatchers = new FeedWatchers();
  #pending: PendingCommit[] = [];
  #isWriting = false;
  /** Settles with the last commit requested, after the earlier ones. */
  #latest: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  readonly counts: StoreCounts = { commits: 0, conflicts: 0, records: 0, recordsAgain: 0 };
  /** Set by this process's node. */
  everywhere?: (revision: number) => Promise<void>;
  /** Called after a commit. */
  onCommit: () => void = () => undefined;

  constructor(pool: Pool, name: string, onNotice?: OnStoreNotice) {
    this.pool = pool;
    this.name = name;
    this.#committer = new PostgresCommitter(pool, name);
    this.#end = new PoolEnd(pool);
    this.health = new StoreHealth(onNotice, postgresFaultKind);
  }

  async get(collection: string, key: string): Promise<unknown> {
    this.#checkOpen();
    checkName("collection", collection);
    checkName("key", key);
    const rows = await this.#read(
      `SELECT key, value, revision FROM ${this.name}.entries WHERE collection = $1 AND key = $2`,
      [collection, key],
    );
    return rows[0]?.value;
  }

  async list(collection: string, range?: ListRange): Promise<readonly StoredEntry[]> {
    this.#checkOpen();
    checkName("collection", collection);
    const { from, below, limit, isReversed } = compileRange(range);
    // PostgreSQL text contains no NUL, so no key lies between a text and the same with NUL appended.
    const isBeyond = from.endsWith("\0");
    const start = isBeyond ? from.slice(0, -1) : from;
    return this.#read(
      `SELECT key, value, revision FROM ${this.name}.entries
        WHERE collection = $1 AND key ${isBeyond ? ">" : ">="} $2
          AND ($3::text IS NULL OR key < $3)
        ORDER BY key ${isReversed ? "DESC" : "ASC"} LIMIT $4`,
      [collection, start, below ?? null, Number.isFinite(limit) ? limit : null],
    );
  }

  async commit(
    changes: readonly Change[],
    expectations: readonly Expectation[] = [],
  ): Promise<CommitOutcome> {
    this.#checkOpen();
    const encoded = changes.map(encodeChange);
    const made = new Promise<CommitOutcome>((resolve, reject) => {
      this.#pending.push({ changes: encoded, expectations, resolve, reject });
    });
    this.#latest = made.catch(() => undefined);
    if (!this.#isWriting) void this.#writeAll();
    return made;
  }

  async changes(after: number, only?: string): Promise<Feed> {
    this.#checkOpen();
    return this.feed({ after, only: only === undefined ? undefined : [only] });
  }

  /** Reads the feed of some collections, or of all. */
  async feed(start: FeedStart): Promise<PostgresFeed> {
    await this.#written();
    return this.#ask(() =>
      readFeed(this.pool, this.name, start, (...row) => this.#entryOf(...row)),
    );
  }

  watch(collection: string, watcher: FeedWatcher): void {
    this.watchers.watch(collection, watcher);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#written();
    await this.#end.end();
  }

  giveUpAfter(milliseconds: number): void {
    this.#end.giveUpAfter(milliseconds, () => {
      this.health.failed(new Error("it does not answer, and is not waited for any more"));
    });
  }

  async #read(sql: string, values: readonly unknown[]): Promise<readonly StoredEntry[]> {
    await this.#written();
    const { rows } = await this.#ask(() => this.pool.query<Row>(sql, [...values]));
    return rows.map(({ key, value, revision }) => this.#entryOf(key, value, revision));
  }

  async #ask<Answer>(read: () => Promise<Answer>): Promise<Answer> {
    try {
      return await read();
    } catch (error) {
      throw this.health.failed(error);
    }
  }

  #entryOf(key: string, json: string, revision: string): StoredEntry {
    try {
      return { key, value: JSON.parse(json), revision: Number(revision) };
    } catch (error) {
      throw this.health.failed(new StoreUnavailableError("damaged", error));
    }
  }

  /** Resolves after the commits requested so far, so that later reads see them. */
  async #written(): Promise<void> {
    await this.#latest;
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    // Waits for the other commits of this event-loop turn.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#pending.length > 0) {
      const group = this.#pending.splice(0, COMMITS_A_TRANSACTION);
      await this.#write(group);
    }
    this.#isWriting = false;
  }

  /** Makes commits, and settles them. */
  async #write(group: readonly PendingCommit[]): Promise<void> {
    try {
      const outcomes = await this.#committer.commit(group);
      this.health.succeeded();
      this.onCommit();
      for (const [index, { resolve }] of group.entries()) {
        const outcome = outcomes[index]!;
        this.counts[outcome.kind === "committed" ? "commits" : "conflicts"] += 1;
        resolve(outcome);
      }
    } catch (error) {
      if (group.length > 1 && isAnswer(error)) {
        for (const one of group) await this.#write([one]);
        return;
      }
      const fault = this.health.failed(error);
      for (const { reject } of group) reject(fault);
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Error("the store is closed");
  }
}

/**
 * Ends a pool without waiting for a server that has stopped answering while the daemon ends: the statement timeouts
 * of successive writes would add up to half a minute.
 */
export class PoolEnd {
  readonly #pool: Pool;
  readonly #inUse = new Set<PoolClient>();
  #ending: Promise<void> | undefined;
  /** Set while the server's silence is watched. */
  #timer: NodeJS.Timeout | undefined;
  #answeredAt = 0;
  #sayGivenUp: () => void = () => undefined;
  readonly #givenUp: Promise<void> = new Promise((resolve) => {
    this.#sayGivenUp = resolve;
  });

  constructor(pool: Pool) {
    this.#pool = pool;
    pool.on("acquire", (client) => this.#inUse.add(client));
    pool.on("release", (failed: unknown, client) => {
      this.#inUse.delete(client);
      if (this.#timer !== undefined && !failed) this.#answeredAt = performance.now();
    });
  }

  /** Gives up once nothing was answered for this long; every later call fails. */
  giveUpAfter(milliseconds: number, onGivenUp: () => void): void {
    if (this.#timer !== undefined || this.#ending !== undefined) return;
    const watch = (left: number): void => {
      this.#timer = setTimeout(() => {
        const silentMs = performance.now() - this.#answeredAt;
        if (silentMs < milliseconds) return watch(milliseconds - silentMs);
        onGivenUp();
        this.#giveUp();
      }, left).unref();
    };
    this.#answeredAt = performance.now();
    watch(milliseconds);
  }

  /** Ends every connection; after giving up it does not wait for unresponsive ones. */
  async end(): Promise<void> {
    await Promise.race([this.#end(), this.#givenUp]);
    clearTimeout(this.#timer);
  }

  #giveUp(): void {
    void this.#end();
    // The clients of a pool are complete clients; ending one aborts its running statement.
    for (const client of this.#inUse) void (client as PoolClient & Client).end();
    this.#sayGivenUp();
  }

  #end(): Promise<void> {
    this.#ending ??= this.#pool.end();
    return this.#ending;
  }
}
