/**
 * Files that the daemon writes into its state directory, and symbolic links in it. A link is never
 * followed for writing, since somebody may have planted it to a file that is not ours. The start
 * reports each link that leads out of the directory, or that another user created.
 */
import {
  closeSync,
  constants,
  type Dirent,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { PERMISSION_FAULT } from "./bounded-file.ts";
import { isWithin, realPath } from "./paths.ts";
import { codeOf } from "./thrown.ts";

/** Opens a file with access for its owner only; throws for a symbolic link. */
export function openStateFile(path: string, flags: number): number {
  try {
    return openSync(path, flags | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    if (codeOf(error) !== "ELOOP") throw error;
    throw new Error(`"${path}" is a symbolic link, which is not followed for writing`);
  }
}

/** Syncs a file, or the names in a directory, to the disk. */
export function syncPath(path: string): void {
  const opened = openSync(path, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

/** Replaces a file atomically; a link with its name is replaced, not followed. */
export function replaceStateFile(path: string, content: string | Uint8Array): void {
  const temporary = temporaryOf(path);
  rmSync(temporary, { force: true });
  const file = openSync(temporary, "wx", 0o600);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/** Like `replaceStateFile`, but asynchronous; it is not synced by default, for files that can be made again. */
export async function replaceDerivedFile(
  path: string,
  content: string | Uint8Array,
  isSynced = false,
): Promise<void> {
  const temporary = temporaryOf(path);
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", 0o600);
  try {
    await file.writeFile(content);
    if (isSynced) await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

function temporaryOf(path: string): string {
  return `${path}.tmp`;
}

interface LinkFault {
  /** The path, absolute. */
  readonly path: string;
  /** The fault, in lower case without full stop. */
  readonly message: string;
}

/** The depth of the search; the daemon writes nothing deeper. */
const MAX_DEPTH = 4;

/**
 * Finds the links of a state directory that must not be followed for writing, and the directories
 * that could not be searched. Nothing is written below the `readOnly` names, where secrets are
 * often mounted as links.
 */
export function findLinkFaults(
  directory: string,
  readOnly: readonly string[],
): readonly LinkFault[] {
  const own = lstatSync(directory, { throwIfNoEntry: false });
  if (own === undefined) return [];
  if (own.isSymbolicLink() && !isOurs(own.uid)) return [foreign(directory, own.uid)];
  const root = realPath(directory);
  if (root === undefined)
    return [{ path: directory, message: "is a symbolic link that leads nowhere" }];
  const faults: LinkFault[] = [];
  const walk = (place: string, depth: number): void => {
    const entries = entriesOf(place);
    if (entries === undefined) faults.push({ path: place, message: PERMISSION_FAULT });
    for (const entry of entries ?? []) {
      const path = join(place, entry.name);
      if (depth === 1 && readOnly.includes(entry.name)) continue;
      const message = entry.isSymbolicLink() ? findLinkFault(path, root) : undefined;
      if (message !== undefined) faults.push({ path, message });
      else if (entry.isDirectory() && depth < MAX_DEPTH) walk(path, depth + 1);
    }
  };
  walk(directory, 1);
  return faults;
}

/** Returns the fault of a file to be written; undefined if it is no link. */
export function findForeignLink(path: string): LinkFault | undefined {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined || !status.isSymbolicLink() || isOurs(status.uid)) return undefined;
  return foreign(path, status.uid);
}

function findLinkFault(path: string, root: string): string | undefined {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return undefined;
  if (!isOurs(status.uid)) return foreign(path, status.uid).message;
  const real = realPath(path);
  if (real !== undefined && isWithin(root, real)) return undefined;
  return `is a symbolic link that leads out of the state directory, to "${readlinkSync(path)}"`;
}

function foreign(path: string, uid: number): LinkFault {
  return { path, message: `is a symbolic link that another user made (uid ${uid})` };
}

/** Root can write anywhere without a link. */
function isOurs(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.();
}

/** Returns the entries of a directory; undefined if this user may not read it. */
function entriesOf(directory: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === "ENOTDIR" || codeOf(error) === "ENOENT") return [];
    if (codeOf(error) === "EACCES") return undefined;
    throw error;
  }
}
