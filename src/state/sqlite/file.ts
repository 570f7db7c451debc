/**
 * Opens the file of a SQLite store: created if missing, readable by its owner only, checked, and locked for this
 * process. Returns an open database, or the reason why there is none.
 */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  statSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "libsql";
import { describeFileError } from "../../base/bounded-file.ts";
import { makeDirectory } from "../../base/paths.ts";
import { findForeignLink } from "../../base/state-files.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import type { DatabaseClass } from "./driver.ts";
import { findLogDamage, type LogDamage, logOf } from "./log.ts";
import { migrate } from "./migrations.ts";
import { releaseDatabase } from "./store.ts";

/** An open database, or the problem with its file. */
type SqliteFile =
  | { readonly database: Database; readonly fault?: undefined }
  | {
      readonly database?: undefined;
      readonly fault: string;
      /** Set if opening would lose the commits after it. */
      readonly logDamage?: LogDamage;
    };

const ATTEMPTS = 5;
const RETRY_MS = 25;
const LOOKS = 8;

/** Opens the database at an absolute path. */
export async function openSqliteFile(path: string, Database: DatabaseClass): Promise<SqliteFile> {
  const prepared = prepareSqliteFile(path);
  if (prepared !== undefined) return { fault: prepared.message };
  const logDamage = await lastingDamage(path);
  if (logDamage !== undefined) return { fault: describeLogDamage(path, logDamage), logDamage };
  try {
    return checkDatabase(await takeDatabase(path, Database, TAKE));
  } catch (error) {
    return { fault: describeSqliteError(error) };
  }
}

/** EXCLUSIVE must come first, so that the next statement takes the lock permanently. */
const TAKE = `PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA journal_size_limit = 16777216;`;

/** Opens a database with statements that lock it; throws if the file is locked or not a database. */
export async function takeDatabase(
  path: string,
  Database: DatabaseClass,
  statements: string,
): Promise<Database> {
  for (let attempt = 1; ; attempt += 1) {
    let database: Database | undefined;
    try {
      database = new Database(path, { timeout: 0 });
      database.exec(statements);
      return database;
    } catch (error) {
      database?.close();
      // Two processes that start at once block each other; after a random delay one succeeds.
      if (codeOf(error) !== "SQLITE_BUSY" || attempt === ATTEMPTS) throw error;
      await delay(RETRY_MS * Math.random());
    }
  }
}

/**
 * Returns damage that persists. A log being written by another daemon looks torn at changing places; SQLite then
 * reports the lock.
 */
async function lastingDamage(path: string): Promise<LogDamage | undefined> {
  let damage = lookIntoLog(path);
  for (let look = 1; damage !== undefined && look < LOOKS; look += 1) {
    await delay(RETRY_MS);
    const now = lookIntoLog(path);
    if (now?.offset === damage.offset) return damage;
    damage = now;
  }
  return undefined;
}

/** Leaves an unreadable log to SQLite to refuse. */
function lookIntoLog(path: string): LogDamage | undefined {
  try {
    return findLogDamage(path);
  } catch {
    return undefined;
  }
}

/** Describes log damage, as the end of a sentence that begins with the database's file. */
export function describeLogDamage(path: string, { offset }: LogDamage): string {
  const log = basename(logOf(path));
  return `is damaged: its log "${log}" does not hold from octet ${offset} on, and commits behind that would be lost`;
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
    // An unreadable file may also fail to close.
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

/** A reason why a file cannot be used, with the system's error code. */
interface FileRefusal {
  readonly message: string;
  readonly code: string;
}

/** Creates the file or checks that it is usable; undefined if it is. */
export function prepareSqliteFile(path: string): FileRefusal | undefined {
  return prepareDirectory(path) ?? prepareFile(path);
}

function prepareDirectory(path: string): FileRefusal | undefined {
  const directory = dirname(path);
  try {
    makeDirectory(directory, 0o700);
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    const reason = IN_THE_WAY.get(code) ?? describeWriteError(error);
    return { message: describeUnmade(directory, reason), code };
  }
}

function describeUnmade(directory: string, reason: string): string {
  return `cannot be made, its directory "${directory}" cannot be: ${reason}`;
}

/** Returns a problem if the directory cannot be created because a file is in its place; undefined otherwise. */
export function findBlockage(directory: string): string | undefined {
  let place = directory;
  while (!existsSync(place)) place = dirname(place);
  if (statSync(place).isDirectory()) return undefined;
  return describeUnmade(directory, "a file is in the way");
}

/** Never opens an existing file: under POSIX, closing it would release the lock that this process may hold on it. */
function prepareFile(path: string): FileRefusal | undefined {
  try {
    closeSync(openSync(path, "wx", 0o600));
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    // A read-only file system reports EROFS even for an existing file.
    const isThere = code === "EEXIST" || statSync(path, { throwIfNoEntry: false }) !== undefined;
    if (!isThere) return { message: `cannot be made: ${describeWriteError(error)}`, code };
  }
  return checkFile(path);
}

function checkFile(path: string): FileRefusal | undefined {
  const foreign = findForeignLink(path);
  if (foreign !== undefined) return { message: foreign.message, code: "" };
  try {
    const status = statSync(path);
    if (status.isDirectory()) return { message: "must be a file, is a directory", code: "" };
    if (!status.isFile()) return { message: "must be a regular file", code: "" };
    accessSync(path, constants.R_OK | constants.W_OK);
    for (const name of [path, `${path}-wal`, `${path}-shm`]) restrict(name);
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return { message: "is a symbolic link that leads nowhere", code };
    if (code === "EROFS")
      return { message: `must be writable, ${describeWriteError(error)}`, code };
    const isDenied = code === "EACCES" || code === "EPERM";
    const message = isDenied
      ? "must be readable and writable, permission denied"
      : describeFileError(error);
    return { message, code };
  }
}

const WRITE_FAULTS: ReadonlyMap<string, string> = new Map([
  ["ENOSPC", "the disk is full"],
  ["EDQUOT", "the disk quota is used up"],
  ["EROFS", "the file system is read-only"],
  ["EFBIG", "the file may not grow any more"],
  ["EACCES", "permission denied"],
  ["EPERM", "permission denied"],
]);

function describeWriteError(error: unknown): string {
  return WRITE_FAULTS.get(codeOf(error)) ?? describeFileError(error);
}

/** Restricts a file to its owner, unless it is. */
function restrict(path: string): void {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status !== undefined && (status.mode & 0o077) !== 0) chmodSync(path, 0o600);
}

/** Describes a driver's error, as the end of a sentence that begins with the file. */
export function describeSqliteError(error: unknown): string {
  const code = codeOf(error);
  if (code === "SQLITE_BUSY" || code === "SQLITE_LOCKED") return "is in use by another daemon";
  if (code === "SQLITE_NOTADB") return "is not a database";
  if (code.startsWith("SQLITE_CORRUPT")) return `is damaged: ${reasonOf(error)}`;
  if (code.startsWith("SQLITE_READONLY")) return "must be writable";
  if (code === "SQLITE_FULL") return "cannot be written, the disk is full";
  return `cannot be opened: ${reasonOf(error)}`;
}
