/**
 * The lock of a state directory, for one writing process at a time with any kind of store. It is the kernel's lock
 * on a file, taken through SQLite since Node has no call for it, and released however the process ends. A file
 * beside it names the holder; a killed process leaves it behind.
 */
import { rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Database } from "libsql";
import { readBoundedFile } from "../base/bounded-file.ts";
import { parseJson } from "../base/json-value.ts";
import { replaceStateFile } from "../base/state-files.ts";
import { codeOf } from "../base/thrown.ts";
import { recordReader } from "./records/stored-record.ts";
import { loadSqliteDriver } from "./sqlite/driver.ts";
import { describeSqliteError, prepareSqliteFile, takeDatabase } from "./sqlite/file.ts";
import { releaseDatabase } from "./sqlite/store.ts";

/** A lock that this process holds. */
export interface StateLock {
  /** Releases the lock. */
  release(): void;
}

/** The lock, or the reason why it is not available. */
type StateLocking =
  | { readonly kind: "locked"; readonly lock: StateLock }
  /** Another process holds it. */
  | { readonly kind: "taken"; readonly message: string }
  /** The file cannot be created or locked; `code` is the system's error code, if any. */
  | { readonly kind: "impossible"; readonly message: string; readonly code: string };

/** The code for a platform without SQLite. */
export const NO_DRIVER = "NO_DRIVER";
const LOCK = "lock";
const HOLDER = "lock.json";
const MAX_HOLDER_BYTES = 4096;
const TAKE = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE";

/** Locks a state directory, creating it if needed; `program` names the holder to others. */
export async function lockStateDirectory(
  directory: string,
  program: string,
): Promise<StateLocking> {
  const { Database, fault } = loadSqliteDriver();
  if (Database === undefined) return { kind: "impossible", message: fault, code: NO_DRIVER };
  const path = join(directory, LOCK);
  const prepared = prepareSqliteFile(path);
  if (prepared !== undefined) return { kind: "impossible", ...prepared };
  try {
    const database = await takeDatabase(path, Database, TAKE);
    return { kind: "locked", lock: hold(database, directory, program) };
  } catch (error) {
    const code = codeOf(error);
    return code === "SQLITE_BUSY"
      ? { kind: "taken", message: findHolder(directory) ?? "is in use by another process" }
      : { kind: "impossible", message: describeSqliteError(error), code };
  }
}

function hold(database: Database, directory: string, program: string): StateLock {
  const holder = { program, pid: process.pid, host: hostname(), since: new Date().toISOString() };
  const path = join(directory, HOLDER);
  try {
    replaceStateFile(path, `${JSON.stringify(holder)}\n`);
  } catch {
    // On a full disk the lock still holds, only without a named holder.
  }
  let isHeld = true;
  return {
    release: () => {
      if (!isHeld) return;
      isHeld = false;
      rmSync(path, { force: true });
      database.exec("ROLLBACK");
      releaseDatabase(database);
    },
  };
}

/** Describes the running process that holds a state directory; undefined if there is none or it is unknown. */
export function findHolder(directory: string): string | undefined {
  const { text = "" } = readBoundedFile(join(directory, HOLDER), MAX_HOLDER_BYTES);
  const holder = readHolder(text);
  if (holder === undefined) return undefined;
  const { program, pid, host, since } = holder;
  return `is in use by ${program}, process ${pid} on ${host}, since ${since}`;
}

interface Holder {
  readonly program: string;
  readonly pid: number;
  readonly host: string;
  readonly since: string;
}

/** Returns undefined also for a killed process: its file remains, while another may hold the lock. */
function readHolder(text: string): Holder | undefined {
  const holder = holderOf(parseJson(text));
  const isGone = holder?.host === hostname() && !isAlive(holder.pid);
  return isGone ? undefined : holder;
}

const holderOf = recordReader<Holder>({
  ...{ program: "string", pid: "number", host: "string", since: "string" },
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
