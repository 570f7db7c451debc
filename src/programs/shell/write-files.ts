/**
 * Writes the files of a command: all of them or none, each complete, secrets readable by their
 * owner only. Existing files stay, unless the command line says otherwise.
 */
import { randomUUID } from "node:crypto";
import { linkSync, lstatSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { makeDirectory } from "../../base/paths.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import { CommandRefusal, usage } from "./command.ts";
import type { Terminal } from "./terminal.ts";

export interface NewFile {
  /** The path on the command line. */
  readonly path: string;
  readonly content: string;
  readonly isSecret: boolean;
}

/** A complete temporary file beside its destination. */
interface Placing {
  readonly named: string;
  readonly temporary: string;
  readonly path: string;
}

/** A file that was put in place, and the kept copy of the one that it replaced, if any. */
interface Placed {
  readonly path: string;
  readonly kept?: string | undefined;
}

/** Writes files below a directory; `elsewhere` suggests what to do if some already exist. */
export function writeFiles(
  directory: string,
  files: readonly NewFile[],
  force: boolean,
  elsewhere?: string,
): void {
  const there = force ? [] : files.filter(({ path }) => isThere(directory, path));
  if (there.length > 0) {
    throw alreadyThere(
      there.map(({ path }) => path),
      elsewhere,
    );
  }
  const complete: Placing[] = [];
  const placed: Placed[] = [];
  try {
    for (const { path: named, content, isSecret } of files) {
      const path = resolve(directory, named);
      orSay(named, () => {
        makeDirectory(dirname(path), isSecret ? 0o700 : undefined);
        const temporary = writeBeside(path, content, isSecret ? 0o600 : 0o644);
        complete.push({ named, temporary, path });
      });
    }
    for (const one of complete) {
      orSay(one.named, () => placed.push(force ? replace(one) : { path: linkOrRename(one) }));
    }
  } catch (error) {
    for (const one of placed.toReversed()) putBack(one);
    throw error;
  } finally {
    for (const { temporary } of complete) rmSync(temporary, { force: true });
    for (const { kept } of placed) if (kept !== undefined) rmSync(kept, { force: true });
  }
}

/** Replaces a file, whose former content is kept beside it. */
function replace({ temporary, path }: Placing): Placed {
  const kept = keepAside(path);
  try {
    renameSync(temporary, path);
    return { path, kept };
  } catch (error) {
    if (kept !== undefined) {
      putBack({ path, kept });
      rmSync(kept, { force: true });
    }
    throw error;
  }
}

/** Keeps a copy of a file; undefined if there is none, or for a directory, which a file cannot replace. */
function keepAside(path: string): string | undefined {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined || status.isDirectory()) return undefined;
  const kept = `${path}.${randomUUID()}.old`;
  try {
    linkSync(path, kept);
  } catch {
    // Some file systems have no hard links.
    renameSync(path, kept);
  }
  return kept;
}

function putBack({ path, kept }: Placed): void {
  if (kept === undefined) rmSync(path, { force: true });
  else renameSync(kept, path);
}

/** Adds the name of the file to an error. */
function orSay(named: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (error instanceof CommandRefusal) throw error;
    throw usage(`${JSON.stringify(named)} cannot be written: ${reasonOf(error)}`);
  }
}

/** Writes a text to the file of `--output`, or prints it if there is none. */
export function writeOutput(
  text: string,
  { output, force = false }: { readonly output?: string; readonly force?: boolean },
  { out, directory }: Terminal,
): void {
  if (output === undefined) out.write(text);
  else writeFiles(directory, [{ path: output, content: text, isSecret: false }], force);
}

function isThere(directory: string, path: string): boolean {
  try {
    // A dangling link also counts as an existing file.
    lstatSync(resolve(directory, path));
    return true;
  } catch {
    return false;
  }
}

/** The maximum number of file names in a message. */
const MOST_NAMED = 8;

function alreadyThere(paths: readonly string[], elsewhere?: string): CommandRefusal {
  const names = paths.slice(0, MOST_NAMED).map((path) => JSON.stringify(path));
  const others = paths.length - names.length;
  const named = `${names.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
  const [are, them] = paths.length === 1 ? ["is", "it"] : ["are", "them"];
  const ways = [`--force replaces ${them}`, ...(elsewhere === undefined ? [] : [elsewhere])];
  return new CommandRefusal(`${named} ${are} there already, ${ways.join(", ")}`);
}

/** Writes a temporary file, and puts it in place once it is complete and on the disk. */
export function placeFile(
  path: string,
  content: string | Uint8Array,
  mode: number,
  put: (temporary: string, path: string) => void = renameSync,
): void {
  const temporary = writeBeside(path, content, mode);
  try {
    put(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Returns the path of a temporary file that is complete and on the disk; removes it on failure. */
function writeBeside(path: string, content: string | Uint8Array, mode: number): string {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    writeFileSync(temporary, content, { mode, flag: "wx", flush: true });
    return temporary;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Puts a file in place and returns its path: `link` fails if a file has appeared there, and
 * `rename` does not follow links.
 */
function linkOrRename({ named, temporary, path }: Placing): string {
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw alreadyThere([named]);
    // Some file systems have no hard links.
    renameSync(temporary, path);
  }
  return path;
}
