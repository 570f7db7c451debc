/**
 * The store in an open and migrated SQLite database. A commit that resolved is synced to the disk. Commits of one
 * event-loop turn share a transaction, since the sync is the expensive part; each stays atomic by itself.
 */
import type { Database, Statement } from "libsql";
import { ChangeLog } from "../change-log.ts";
import {
  checkName,
  type EncodedChange,
  encodeChange,
  type PendingCommit,
} from "../entry-limits.ts";
import { compileRange } from "../key-range.ts";
import type {
  Change,
  CommitOutcome,
  Expectation,
  Feed,
  ListRange,
  Store,
  StoredEntry,
} from "../store.ts";
import { StoreUnavailableError } from "../store-fault.ts";
import { type OnStoreNotice, StoreHealth } from "../store-health.ts";

/** In SQLite's order, every BLOB follows every TEXT. */
const BEYOND_EVERY_KEY: Buffer = Buffer.of(0);
/** The value of LIMIT that means no limit. */
const UNLIMITED = -1;

/** The statements of this store; each is answered from the primary key's index. */
export const SQL = {
  get: "SELECT key, value, revision FROM entries WHERE collection = ? AND key = ?",
  revisionOf: "SELECT revision FROM entries WHERE collection = ? AND key = ?",
  list: `SELECT key, value, revision FROM entries WHERE collection = ? AND key >= ? AND key < ?
    ORDER BY key LIMIT ?`,
  listReversed: `SELECT key, value, revision FROM entries WHERE collection = ? AND key >= ? AND key < ?
    ORDER BY key DESC LIMIT ?`,
  put: `INSERT INTO entries VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET value = excluded.value, revision = excluded.revision`,
  delete: "DELETE FROM entries WHERE collection = ? AND key = ?",
  collections: "SELECT DISTINCT collection FROM entries ORDER BY collection",
  revision: "SELECT value FROM meta WHERE name = 'revision'",
  setRevision: "UPDATE meta SET value = ? WHERE name = 'revision'",
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  rollback: "ROLLBACK",
} as const;

type Statements = Readonly<Record<keyof typeof SQL, Statement>>;

/** An entry as the statements return it. */
type Row = [key: string, json: string, revision: number];

/** Creates a store over a database that nobody else uses; closing it closes the database. */
export function createSqliteStore(database: Database, onNotice?: OnStoreNotice): Store {
  return new SqliteStore(database, new StoreHealth(onNotice));
}

class SqliteStore implements Store {
  readonly #database: Database;
  readonly #statements: Statements;
  readonly #log: ChangeLog;
  readonly #health: StoreHealth;
  #pending: PendingCommit[] = [];
  #isClosed = false;

  constructor(database: Database, health: StoreHealth) {
    this.#database = database;
    this.#health = health;
    this.#statements = {
      get: database.prepare(SQL.get).raw(),
      revisionOf: database.prepare(SQL.revisionOf).raw(),
      list: database.prepare(SQL.list).raw(),
      listReversed: database.prepare(SQL.listReversed).raw(),
      collections: database.prepare(SQL.collections).raw(),
      put: database.prepare(SQL.put),
      delete: database.prepare(SQL.delete),
      revision: database.prepare(SQL.revision).raw(),
      setRevision: database.prepare(SQL.setRevision),
      begin: database.prepare(SQL.begin),
      commit: database.prepare(SQL.commit),
      rollback: database.prepare(SQL.rollback),
    };
    const [revision] = this.#statements.revision.get() as [string];
    this.#log = new ChangeLog(Number(revision));
  }

  async get(collection: string, key: string): Promise<unknown> {
    this.#checkOpen();
    checkName("collection", collection);
    checkName("key", key);
    this.#flush();
    return this.#read(collection, key)?.value;
  }

  async list(collection: string, range?: ListRange): Promise<readonly StoredEntry[]> {
    this.#checkOpen();
    checkName("collection", collection);
    const { from, below = BEYOND_EVERY_KEY, limit, isReversed } = compileRange(range);
    this.#flush();
    const statement = isReversed ? this.#statements.listReversed : this.#statements.list;
    const count = Number.isFinite(limit) ? limit : UNLIMITED;
    const rows = this.#ask(() => statement.all(collection, from, below, count) as Row[]);
    return rows.map((row) => this.#entryOf(row));
  }

  async commit(
    changes: readonly Change[],
    expectations: readonly Expectation[] = [],
  ): Promise<CommitOutcome> {
    this.#checkOpen();
    const encoded = changes.map(encodeChange);
    if (this.#pending.length === 0) setImmediate(() => this.#flush());
    return new Promise((resolve, reject) => {
      this.#pending.push({ changes: encoded, expectations, resolve, reject });
    });
  }

  async changes(after: number, only?: string): Promise<Feed> {
    this.#checkOpen();
    this.#flush();
    return this.#log.feed(after, only, (collection, key) => this.#read(collection, key));
  }

  async collections(): Promise<readonly string[]> {
    this.#checkOpen();
    this.#flush();
    const rows = this.#ask(() => this.#statements.collections.all() as [string][]);
    return rows.map(([name]) => name);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#flush();
    this.#isClosed = true;
    releaseDatabase(this.#database);
  }

  #read(collection: string, key: string): StoredEntry | undefined {
    const row = this.#ask(() => this.#statements.get.get(collection, key) as Row | undefined);
    return row && this.#entryOf(row);
  }

  #ask<Answer>(read: () => Answer): Answer {
    try {
      return read();
    } catch (error) {
      throw this.#health.failed(error);
    }
  }

  #entryOf([key, json, revision]: Row): StoredEntry {
    try {
      return { key, value: JSON.parse(json), revision };
    } catch (error) {
      // Its page was overwritten.
      throw this.#health.failed(new StoreUnavailableError("damaged", error));
    }
  }

  /** Writes the commits so far, so that later reads see them, awaited or not. */
  #flush(): void {
    const group = this.#pending;
    if (group.length === 0) return;
    this.#pending = [];
    this.#write(group);
  }

  #write(group: readonly PendingCommit[]): void {
    const { begin, setRevision, commit } = this.#statements;
    const outcomes: CommitOutcome[] = [];
    let { revision } = this.#log;
    try {
      this.#leaveTransaction();
      begin.run();
      for (const { changes, expectations } of group) {
        const failed = expectations.filter((one) => !this.#holds(one));
        if (failed.length > 0) {
          outcomes.push({ kind: "conflict", failed });
          continue;
        }
        if (changes.length > 0) revision += 1;
        this.#apply(changes, revision);
        outcomes.push({ kind: "committed", revision });
      }
      if (revision > this.#log.revision) setRevision.run(`${revision}`);
      commit.run();
    } catch (thrown) {
      try {
        this.#leaveTransaction();
      } catch {
        // The next commit tries again; nothing of this one is visible by then.
      }
      const fault = this.#health.failed(thrown);
      // A commit that no longer fits on the disk must not fail the others.
      if (group.length > 1) for (const one of group) this.#write([one]);
      else group[0]?.reject(fault);
      return;
    }
    if (revision > this.#log.revision) this.#health.succeeded();
    group.forEach(({ changes, resolve }, at) => {
      const outcome = outcomes[at]!;
      if (outcome.kind === "committed") this.#log.add(outcome.revision, changes);
      resolve(outcome);
    });
  }

  /** Some faults, such as a full disk, end a transaction by themselves, and some do not. */
  #leaveTransaction(): void {
    if (this.#database.inTransaction) this.#statements.rollback.run();
  }

  #holds({ collection, key, revision }: Expectation): boolean {
    const row = this.#statements.revisionOf.get(collection, key) as [number] | undefined;
    return revision === (row?.[0] ?? 0);
  }

  #apply(changes: readonly EncodedChange[], revision: number): void {
    const { put, delete: remove } = this.#statements;
    for (const { collection, key, json } of changes) {
      if (json === undefined) remove.run(collection, key);
      else put.run(collection, key, json, revision);
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Error("the store is closed");
  }
}

/**
 * Closes a database and releases its lock. The connection survives until its statements are garbage collected, so
 * the lock is released explicitly, which is impossible in WAL mode.
 */
export function releaseDatabase(database: Database): void {
  try {
    database.exec("PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL");
    // The lock changes at the next access.
    database.exec("SELECT count(*) FROM sqlite_schema");
  } finally {
    database.close();
  }
}
