/**
 * Puts the files of a command in place: all of them or none, each complete, secrets for their owner
 * alone. A file that is there stays, unless the command line says otherwise.
 */
import { randomUUID } from "node:crypto";
import { linkSync, lstatSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { makeDirectory } from "../../base/paths.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import { CommandRefusal, usage } from "./command.ts";
import type { Terminal } from "./terminal.ts";

export interface NewFile {
  /** As the command line has it. */
  readonly path: string;
  readonly content: string;
  readonly isSecret: boolean;
}

/** A file that is complete beside its place. */
interface Placing {
  readonly named: string;
  readonly temporary: string;
  readonly path: string;
}

/** A file in its place, and the one that was there; undefined: there was none. */
interface Placed {
  readonly path: string;
  readonly kept?: string | undefined;
}

/** Writes files below a directory; `elsewhere` says what else there is to do where some are there. */
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

/** Puts a file in the place of another, which is kept beside it. */
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

/** Undefined where there is nothing, or a directory, which no file takes the place of. */
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

/** Says which file is the one that cannot be written. */
function orSay(named: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (error instanceof CommandRefusal) throw error;
    throw usage(`${JSON.stringify(named)} cannot be written: ${reasonOf(error)}`);
  }
}

/** Writes a text to the file of `--output`, or prints it where there is none. */
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
    // A link that leads nowhere is something that is there, too.
    lstatSync(resolve(directory, path));
    return true;
  } catch {
    return false;
  }
}

/** Nobody reads the names of hundreds. */
const MOST_NAMED = 8;

function alreadyThere(paths: readonly string[], elsewhere?: string): CommandRefusal {
  const names = paths.slice(0, MOST_NAMED).map((path) => JSON.stringify(path));
  const others = paths.length - names.length;
  const named = `${names.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
  const [are, them] = paths.length === 1 ? ["is", "it"] : ["are", "them"];
  const ways = [`--force replaces ${them}`, ...(elsewhere === undefined ? [] : [elsewhere])];
  return new CommandRefusal(`${named} ${are} there already, ${ways.join(", ")}`);
}

/** Writes a file beside its place, and has it put there once it is complete and on the disk. */
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

/** Answers where it is, complete and on the disk; what is cut off leaves nothing. */
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

/** `link` fails where a file came meanwhile, and `rename` follows no link. Answers the place. */
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
