/** The machine as the checks see it: its clock, user, disk and files, and the database of a deployment. */
import { type Stats, statfsSync, statSync } from "node:fs";
import type { Config } from "../../app/config/config.ts";
import { codeOf } from "../../base/thrown.ts";
import { type DatabaseAnswer, surveyDatabase } from "../../state/postgres/survey.ts";

/** The machine around a deployment. */
export interface Machine {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The user who runs the check; undefined if files have no owners and modes. */
  readonly uid: number | undefined;
  /** For example `v22.1.0`. */
  readonly nodeVersion: string;
  /** The status of the file that a path leads to; undefined if there is none. */
  status(path: string): FileStatus | undefined;
  space(path: string): DiskSpace;
  /** Examines a database, which may be on another machine. */
  readonly surveyDatabase: typeof surveyDatabase;
}

interface FileStatus {
  readonly isDirectory: boolean;
  readonly uid: number;
  /** Permission bits. */
  readonly mode: number;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

interface DiskSpace {
  /** The free space for users other than root. */
  readonly freeBytes: number;
  /** The number of files that can still be created; undefined if the file system does not count them. */
  readonly freeFiles: number | undefined;
}

/** The machine that this process runs on. */
export function thisMachine(): Machine {
  return {
    now: Date.now(),
    uid: process.getuid?.(),
    nodeVersion: process.version,
    status: readStatus,
    space: readSpace,
    surveyDatabase,
  };
}

function readStatus(path: string): FileStatus | undefined {
  try {
    return describe(statSync(path));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return undefined;
    throw error;
  }
}

function describe(status: Stats): FileStatus {
  return {
    isDirectory: status.isDirectory(),
    uid: status.uid,
    mode: status.mode & 0o7777,
    size: status.size,
    modifiedAt: status.mtimeMs,
  };
}

function readSpace(path: string): DiskSpace {
  const { bavail, bsize, files, ffree } = statfsSync(path);
  return { freeBytes: bavail * bsize, freeFiles: files > 0 ? ffree : undefined };
}

/** The assumed age in days if records are not bounded. */
export const DEFAULT_AGE = 30;

/** Examines the deployment's database; undefined if the state is in files. */
export async function askDatabase(
  { store, attribution }: Pick<Config, "store" | "attribution">,
  machine: Machine,
): Promise<DatabaseAnswer | undefined> {
  const { url, schema, ca } = store;
  if (store.driver !== "postgres" || url === undefined) return undefined;
  const limits = attribution.retention ?? { days: DEFAULT_AGE };
  return machine.surveyDatabase({ url, schema, ca }, limits, machine.now);
}
