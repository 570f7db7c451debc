/**
 * The disk operations of the journal, the seam at which a test injects faults.
 */
import { createHash } from "node:crypto";
import { close, fdatasync, fdatasyncSync, fsync, open, writeSync } from "node:fs";
import { type FileHandle, open as openHandle, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { codeOf } from "../../base/thrown.ts";

export interface JournalDisk {
  /** Appends as many octets as the disk takes, and answers how many those were. */
  write(file: number, octets: Uint8Array): number;
  /** Resolves once the octets of a file are on the disk; `isAlone`: nothing else is known to be served meanwhile. */
  sync(file: number, isAlone?: boolean): Promise<void>;
  /** Resolves once the names in a directory are on the disk. */
  syncDirectory(path: string): Promise<void>;
}

const closeFile = promisify(close);
const openFile = promisify(open);
const syncFile = promisify(fsync);

/** A sync that took less may keep the loop the next time. */
const QUICK_MS = 1;
/** It does so behind so many in a row that one record each was waiting for: with more callers, others wait for it. */
const LONE_SYNCS = 8;

/**
 * Syncs beside the loop, or on it where syncs are quick and one caller at a time waits for them: handing one to
 * another thread and back takes half as long as the sync itself. A device that turns slow keeps the loop once.
 */
export function pacedSync(
  here: (file: number) => void,
  beside: (file: number) => Promise<void>,
  now: () => number = () => performance.now(),
): JournalDisk["sync"] {
  let lastMs = Number.POSITIVE_INFINITY;
  let lone = 0;
  return async (file, isAlone = false) => {
    const isHere = isAlone && lone >= LONE_SYNCS && lastMs < QUICK_MS;
    lone = isAlone ? lone + 1 : 0;
    lastMs = Number.POSITIVE_INFINITY;
    const begunAt = now();
    if (isHere) here(file);
    else await beside(file);
    lastMs = now() - begunAt;
  };
}

export const DISK: JournalDisk = {
  write: (file, octets) => writeSync(file, octets),
  sync: pacedSync(fdatasyncSync, promisify(fdatasync)),
  async syncDirectory(path) {
    const directory = await openFile(path, "r");
    try {
      await syncFile(directory);
    } finally {
      await closeFile(directory);
    }
  },
};

/** Tells whether something has this path. */
export function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Opens a file for reading; undefined where there is none. */
export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await openHandle(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** So many characters are written at once. */
const CHUNK = 64 * 1024;

/**
 * Writes a file of lines, which come with their line feeds, and resolves with its SHA-256 once it is on the
 * disk; its name may not be.
 */
export async function writeLines(
  path: string,
  flags: "w" | "wx",
  lines: AsyncIterable<string>,
): Promise<string> {
  const digest = createHash("sha256");
  const out = await openHandle(path, flags, 0o600);
  try {
    let text = "";
    const flush = async (): Promise<void> => {
      digest.update(text);
      // In full: a single write may take a part, on a disk that fills.
      await out.appendFile(text);
      text = "";
    };
    for await (const line of lines) {
      text += line;
      if (text.length >= CHUNK) await flush();
    }
    await flush();
    await out.sync();
  } finally {
    await out.close();
  }
  return digest.digest("hex");
}
