/** The journal's disk operations, an interface for injecting faults in tests. */
import { createHash } from "node:crypto";
import { close, fdatasync, fdatasyncSync, fsync, open, writeSync } from "node:fs";
import { type FileHandle, open as openHandle, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { codeOf } from "../../base/thrown.ts";

export interface JournalDisk {
  /** Appends as many octets as the disk takes, and returns their number. */
  write(file: number, octets: Uint8Array): number;
  /** Resolves once the file's octets are on the disk; `isAlone`: no other request is known to be served meanwhile. */
  sync(file: number, isAlone?: boolean): Promise<void>;
  /** Resolves once the entries of a directory are on the disk. */
  syncDirectory(path: string): Promise<void>;
}

const closeFile = promisify(close);
const openFile = promisify(open);
const syncFile = promisify(fsync);

/** A sync faster than this may be done synchronously the next time. */
const QUICK_MS = 1;
/** Synchronous only after this many syncs in a row for a single record: with more callers it would delay others. */
const LONE_SYNCS = 8;

/**
 * Syncs in the thread pool, or synchronously if syncs are quick and only one caller waits: the thread switch takes
 * half as long as the sync itself. A device that turns slow blocks the event loop once.
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

/** True if a path exists. */
export function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Opens a file for reading; undefined if it does not exist. */
export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await openHandle(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Characters per write. */
const CHUNK = 64 * 1024;

/**
 * Writes a file of lines, which include their line feeds, and resolves with its SHA-256 once it is on the disk; its
 * name may not be.
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
      // `appendFile` writes everything, while a single write may be partial on a full disk.
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
