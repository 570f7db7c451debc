/**
 * Reads a SQLite store without touching it: a copy of it and its log is read, so that neither a running daemon nor a
 * killed one interferes.
 */
import { constants, copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadSqliteDriver } from "../sqlite/driver.ts";
import { logOf, readLogHeader } from "../sqlite/log.ts";

/** The largest database that is copied. */
const MAX_BYTES = 1024 * 1024 * 1024;
/** Attempts while a daemon keeps writing. */
const ATTEMPTS = 8;
/** Every build's table has these columns. */
const LIST = "SELECT key, value FROM entries WHERE collection = ? ORDER BY key";
/** Finds no table if the daemon that created the file ended before its first commit. */
const ANY_TABLE = "SELECT 1 FROM sqlite_schema LIMIT 1";

/** An entry without its revision. */
interface CopiedEntry {
  readonly key: string;
  readonly value: unknown;
}

/** Returns the entries of some collections, in order; throws if they are unreadable. */
export function readStoreCopy(
  path: string,
  collections: readonly string[],
): readonly (readonly CopiedEntry[])[] {
  const { Database, fault } = loadSqliteDriver();
  if (Database === undefined) throw new Error(fault);
  const directory = mkdtempSync(join(tmpdir(), "agtpd-store-"));
  try {
    const copy = join(directory, "state.db");
    copyStore(path, copy);
    const database = new Database(copy, { timeout: 0 });
    try {
      if (database.prepare(ANY_TABLE).get() === undefined) return collections.map(() => []);
      const list = database.prepare(LIST).raw();
      return collections.map((collection) => {
        const rows = list.all(collection) as [string, string][];
        return rows.map(([key, json]) => ({ key, value: JSON.parse(json) as unknown }));
      });
    } finally {
      database.close();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Copies database and log. While the log is not restarted it contains every change made to the database meanwhile;
 * if it is, the copy is repeated.
 */
function copyStore(path: string, copy: string): void {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = readLogHeader(path);
    copyFile(path, copy);
    copyFile(logOf(path), logOf(copy));
    if (readLogHeader(path).equals(before)) return;
  }
  throw new Error("the store is written faster than it can be copied");
}

function copyFile(from: string, to: string): void {
  rmSync(to, { force: true });
  const size = statSync(from, { throwIfNoEntry: false })?.size;
  if (size === undefined) return;
  if (size > MAX_BYTES) throw new Error(`the store has ${size} octets, too many for a copy`);
  copyFileSync(from, to, constants.COPYFILE_FICLONE);
}
