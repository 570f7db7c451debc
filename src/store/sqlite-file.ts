/**
 * The file of a SQLite store: made where there is none, readable by its owner alone, whole, and
 * held by this process alone. Answers an open database, or in words why there is none.
 */
import { accessSync, chmodSync, closeSync, constants, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "libsql";
import { describeFileError } from "../bounded-file.ts";
import { makeDirectory } from "../make-directory.ts";
import { codeOf, reasonOf } from "../thrown.ts";
import { migrate } from "./migrations.ts";
import { releaseDatabase } from "./sqlite-store.ts";

/** The constructor that the package exports. */
export type DatabaseClass = new (path: string, options: { readonly timeout: number }) => Database;

/** An open database, or what is wrong with its file. */
export type SqliteFile =
  | { readonly database: Database; readonly fault?: undefined }
  | { readonly database?: undefined; readonly fault: string };

const ATTEMPTS = 5;
const RETRY_MS = 25;

/** Opens the database at an absolute path. */
export async function openSqliteFile(path: string, Database: DatabaseClass): Promise<SqliteFile> {
  const fault = prepareDirectory(path) ?? prepareFile(path);
  if (fault !== undefined) return { fault };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return checkDatabase(connect(path, Database));
    } catch (error) {
      // Two that start at the same moment refuse each other; a little later, one of them has it.
      if (codeOf(error) !== "SQLITE_BUSY" || attempt === ATTEMPTS) {
        return { fault: describeSqliteError(error) };
      }
      await delay(RETRY_MS * Math.random());
    }
  }
}

/** Throws for a file that is locked or is no database. */
function connect(path: string, Database: DatabaseClass): Database {
  const database = new Database(path, { timeout: 0 });
  try {
    // EXCLUSIVE comes first: it is what makes the next statement take the lock for good.
    database.exec(
      `PRAGMA locking_mode = EXCLUSIVE;
       PRAGMA journal_mode = WAL;
       PRAGMA synchronous = FULL;
       PRAGMA journal_size_limit = 16777216;`,
    );
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function checkDatabase(database: Database): SqliteFile {
  let fault: string | undefined;
  try {
    fault = findDamage(database) ?? migrate(database);
  } catch (error) {
    fault = describeSqliteError(error);
  }
  if (fault === undefined) return { database };
  try {
    releaseDatabase(database);
  } catch {
    // What cannot be read may not be closed in good order either.
  }
  return { fault };
}

function findDamage(database: Database): string | undefined {
  const [finding] = database.prepare("PRAGMA quick_check(1)").raw().all() as [string][];
  if (finding?.[0] === "ok") return undefined;
  const lines = finding?.[0].split("\n") ?? [];
  return `is damaged: ${lines.at(-1) ?? "it cannot be checked"}`;
}

const IN_THE_WAY: ReadonlyMap<string, string> = new Map([
  ["EEXIST", "a file is in the way"],
  ["ENOTDIR", "a file is in the way"],
  ["ENOENT", "nothing can be made there"],
]);

function prepareDirectory(path: string): string | undefined {
  const directory = dirname(path);
  try {
    makeDirectory(directory, 0o700);
    return undefined;
  } catch (error) {
    const reason = IN_THE_WAY.get(codeOf(error)) ?? describeFileError(error);
    return `cannot be made, its directory "${directory}" cannot be: ${reason}`;
  }
}

/**
 * Never opens a file that is there: closing it again would end the lock that this process may hold
 * on it already, as POSIX has it.
 */
function prepareFile(path: string): string | undefined {
  try {
    closeSync(openSync(path, "wx", 0o600));
    return undefined;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") return `cannot be made: ${describeFileError(error)}`;
  }
  try {
    const status = statSync(path);
    if (status.isDirectory()) return "must be a file, is a directory";
    if (!status.isFile()) return "must be a regular file";
    accessSync(path, constants.R_OK | constants.W_OK);
    for (const name of [path, `${path}-wal`, `${path}-shm`]) restrict(name);
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return "is a symbolic link that leads nowhere";
    const isDenied = code === "EACCES" || code === "EPERM";
    return isDenied ? "must be readable and writable, permission denied" : describeFileError(error);
  }
}

/** Makes a file its owner's alone, unless it is. */
function restrict(path: string): void {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status !== undefined && (status.mode & 0o077) !== 0) chmodSync(path, 0o600);
}

function describeSqliteError(error: unknown): string {
  const code = codeOf(error);
  if (code === "SQLITE_BUSY" || code === "SQLITE_LOCKED") return "is in use by another daemon";
  if (code === "SQLITE_NOTADB") return "is not a database";
  if (code.startsWith("SQLITE_CORRUPT")) return `is damaged: ${reasonOf(error)}`;
  if (code.startsWith("SQLITE_READONLY")) return "must be writable";
  if (code === "SQLITE_FULL") return "cannot be written, the disk is full";
  return `cannot be opened: ${reasonOf(error)}`;
}
