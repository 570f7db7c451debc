/**
 * Reads a SQLite store without touching it: a copy is read, its log included, so that neither a
 * daemon that has the file nor one that was killed over it is in the way.
 */
import { constants, copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadSqliteDriver } from "../sqlite/driver.ts";
import { logOf, readLogHeader } from "../sqlite/log.ts";

/** A larger database is not copied. */
const MAX_BYTES = 1024 * 1024 * 1024;
/** Where a daemon writes to it without end. */
const ATTEMPTS = 8;
/** Every build's table has these columns. */
const LIST = "SELECT key, value FROM entries WHERE collection = ? ORDER BY key";
/** None: the daemon that made the file was ended before its first commit. */
const ANY_TABLE = "SELECT 1 FROM sqlite_schema LIMIT 1";

/** An entry, as far as a reader cares. */
interface CopiedEntry {
  readonly key: string;
  readonly value: unknown;
}

/** The entries of some collections, in their order; throws where they cannot be read. */
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

/** While a log is the same, whatever its database was given meanwhile is in it; begun anew, it is not any more. */
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
