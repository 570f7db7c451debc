/**
 * The store over one SQLite database that is open and migrated. What `commit` resolved for has been
 * synced to the disk. Commits of the same turn of the event loop share one transaction, since the
 * sync is what costs; each of them stays all or nothing on its own.
 */
import type { Database, Statement } from "libsql";
import { type EncodedChange, encodeChange } from "./encoded-change.ts";
import { checkName } from "./entry-limits.ts";
import { compileRange } from "./key-range.ts";
import type { Change, ListRange, Store, StoredEntry } from "./store.ts";

/** In SQLite's order, every BLOB follows every TEXT. */
const BEYOND_EVERY_KEY: Buffer = Buffer.of(0);
/** What LIMIT takes for no limit. */
const UNLIMITED = -1;

/** The statements of this store; all of them are answered by the primary key's index. */
export const SQL = {
  get: "SELECT value FROM entries WHERE collection = ? AND key = ?",
  list: `SELECT key, value FROM entries WHERE collection = ? AND key >= ? AND key < ?
    ORDER BY key LIMIT ?`,
  listReversed: `SELECT key, value FROM entries WHERE collection = ? AND key >= ? AND key < ?
    ORDER BY key DESC LIMIT ?`,
  put: `INSERT INTO entries VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET value = excluded.value`,
  delete: "DELETE FROM entries WHERE collection = ? AND key = ?",
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  rollback: "ROLLBACK",
} as const;

type Statements = Readonly<Record<keyof typeof SQL, Statement>>;

interface PendingCommit {
  readonly changes: readonly EncodedChange[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A store over a database that nobody else uses; closing it closes the database. */
export function createSqliteStore(database: Database): Store {
  return new SqliteStore(database);
}

class SqliteStore implements Store {
  readonly #database: Database;
  readonly #statements: Statements;
  #pending: PendingCommit[] = [];
  #isClosed = false;

  constructor(database: Database) {
    this.#database = database;
    this.#statements = {
      get: database.prepare(SQL.get).raw(),
      list: database.prepare(SQL.list).raw(),
      listReversed: database.prepare(SQL.listReversed).raw(),
      put: database.prepare(SQL.put),
      delete: database.prepare(SQL.delete),
      begin: database.prepare(SQL.begin),
      commit: database.prepare(SQL.commit),
      rollback: database.prepare(SQL.rollback),
    };
  }

  async get(collection: string, key: string): Promise<unknown> {
    this.#checkOpen();
    checkName("collection", collection);
    checkName("key", key);
    this.#flush();
    const row = this.#statements.get.get(collection, key) as [string] | undefined;
    return row === undefined ? undefined : JSON.parse(row[0]);
  }

  async list(collection: string, range?: ListRange): Promise<readonly StoredEntry[]> {
    this.#checkOpen();
    checkName("collection", collection);
    const { from, below = BEYOND_EVERY_KEY, limit, isReversed } = compileRange(range);
    this.#flush();
    const statement = isReversed ? this.#statements.listReversed : this.#statements.list;
    const count = Number.isFinite(limit) ? limit : UNLIMITED;
    const rows = statement.all(collection, from, below, count) as [string, string][];
    return rows.map(([key, json]) => ({ key, value: JSON.parse(json) }));
  }

  async commit(changes: readonly Change[]): Promise<void> {
    this.#checkOpen();
    const encoded = changes.map(encodeChange);
    if (encoded.length === 0) return;
    if (this.#pending.length === 0) setImmediate(() => this.#flush());
    await new Promise<void>((resolve, reject) => {
      this.#pending.push({ changes: encoded, resolve, reject });
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#flush();
    this.#isClosed = true;
    releaseDatabase(this.#database);
  }

  /** Writes what has been committed so far; later reads see it, whether awaited or not. */
  #flush(): void {
    const group = this.#pending;
    if (group.length === 0) return;
    this.#pending = [];
    const fault = this.#write(group.flatMap(({ changes }) => changes));
    if (fault === undefined) for (const { resolve } of group) resolve();
    else if (group.length === 1) group[0]?.reject(fault.thrown);
    else this.#writeOneByOne(group);
  }

  /** One that does not fit on the disk any more takes no other with it. */
  #writeOneByOne(group: readonly PendingCommit[]): void {
    for (const { changes, resolve, reject } of group) {
      const fault = this.#write(changes);
      if (fault === undefined) resolve();
      else reject(fault.thrown);
    }
  }

  #write(changes: readonly EncodedChange[]): { readonly thrown: unknown } | undefined {
    const { begin, put, delete: remove, commit, rollback } = this.#statements;
    try {
      begin.run();
      for (const { collection, key, json } of changes) {
        if (json === undefined) remove.run(collection, key);
        else put.run(collection, key, json);
      }
      commit.run();
      return undefined;
    } catch (thrown) {
      // Some faults, such as a full disk, have ended the transaction already.
      if (this.#database.inTransaction) rollback.run();
      return { thrown };
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Error("the store is closed");
  }
}

/**
 * Closes a database and lets go of its lock. The connection lives on until its statements have been
 * collected as garbage, so the lock is given back by hand; in WAL mode it could not be.
 */
export function releaseDatabase(database: Database): void {
  try {
    database.exec("PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL");
    // The lock changes with the next access.
    database.exec("SELECT count(*) FROM sqlite_schema");
  } finally {
    database.close();
  }
}
