/**
 * The lock of a state directory: one process at a time writes there, whatever it has for a store.
 * It is the kernel's lock on a file, taken by SQLite since Node has none, and gone with its process
 * however that ends. A file beside it says who has it; who was killed has left it behind.
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
  /** Lets the next process in. */
  release(): void;
}

/** The lock, or in words why it cannot be had. */
type StateLocking =
  | { readonly kind: "locked"; readonly lock: StateLock }
  /** Another process has it. */
  | { readonly kind: "taken"; readonly message: string }
  /** The file cannot be made or locked; `code` is the system's, where it has one. */
  | { readonly kind: "impossible"; readonly message: string; readonly code: string };

/** The code of a platform on which there is no SQLite. */
export const NO_DRIVER = "NO_DRIVER";
const LOCK = "lock";
const HOLDER = "lock.json";
const MAX_HOLDER_BYTES = 4096;
const TAKE = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE";

/** Locks a state directory, which is made where there is none; `program` is named to others. */
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
    // A full disk: the lock holds all the same, and its holder has no name.
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

/** Tells who has said to have a state directory, and runs; undefined: nobody, or it is not known. */
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

/** Undefined also for one that was killed: the file is still there, and the lock is somebody else's. */
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
