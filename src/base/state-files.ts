/**
 * Files that the daemon writes into its state directory. A symbolic link is never followed for
 * writing: somebody may have planted it, and it may lead to a file that is not ours to write.
 */
import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { codeOf } from "./thrown.ts";

/** Opens a file for its owner alone; throws for a symbolic link. */
export function openStateFile(path: string, flags: number): number {
  try {
    return openSync(path, flags | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    throw codeOf(error) === "ELOOP" ? linkFault(path) : error;
  }
}

function linkFault(path: string): Error {
  return new Error(`"${path}" is a symbolic link, which is not followed for writing`);
}

/** Replaces a file in one piece; a link under its name is replaced as well, not followed. */
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

/** As `replaceStateFile`, off the loop, for what can be made again and need not be synced. */
export async function replaceDerivedFile(
  path: string,
  content: string | Uint8Array,
): Promise<void> {
  const temporary = temporaryOf(path);
  await rm(temporary, { force: true });
  const file = await open(temporary, "wx", 0o600);
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

function temporaryOf(path: string): string {
  return `${path}.tmp`;
}
