/**
 * Creates a directory atomically, without overwriting anything: it is filled under a temporary name
 * beside its place, and renamed. An existing empty directory keeps its owner and mode: the files
 * are moved in, the configuration last, and removed again on failure.
 */
import { randomUUID } from "node:crypto";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory } from "../../base/paths.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import { usage } from "../shell/command.ts";

/** The directory that becomes a deployment. */
export interface Place {
  /** The absolute path. */
  readonly path: string;
  /** The path as written, for messages. */
  readonly written: string;
  /** The file that makes the directory a deployment; moved in last. */
  readonly last: string;
}

const TEMPORARY = ".agtpd-init-";

/** Returns whether there is nothing or an empty directory. Throws for anything else. */
export function lookAtPlace({ path, written }: Place): "absent" | "empty" {
  const name = JSON.stringify(written);
  try {
    const status = lstatSync(path);
    if (status.isSymbolicLink()) {
      throw usage(`${name} is a symbolic link, expected an empty directory or nothing`);
    }
    if (!status.isDirectory()) {
      throw usage(`${name} is a file, expected an empty directory or nothing`);
    }
    if (readdirSync(path).length === 0) return "empty";
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "absent";
    if (codeOf(error).startsWith("ERR_AGTP")) throw error;
    throw usage(`${name} cannot be used: ${reasonOf(error)}`);
  }
  throw usage(`${name} has something in it, and nothing is ever overwritten`);
}

/** Fills a directory and puts it in place. */
export function placeDirectory(place: Place, fill: (directory: string) => void): void {
  try {
    if (lookAtPlace(place) === "empty") fillExisting(place, fill);
    else makeNew(place, fill);
  } catch (error) {
    if (codeOf(error).startsWith("ERR_AGTP")) throw error;
    throw usage(`${JSON.stringify(place.written)} cannot be made: ${reasonOf(error)}`);
  }
}

function makeNew({ path }: Place, fill: (directory: string) => void): void {
  const parent = dirname(path);
  const firstMade = makeDirectory(parent);
  const temporary = makeTemporary(parent);
  try {
    fill(temporary);
    // Fails if a file, a link or a non-empty directory has appeared there meanwhile.
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (firstMade !== undefined) removeEmpty(parent, firstMade);
    throw error;
  }
}

function fillExisting({ path, written, last }: Place, fill: (directory: string) => void): void {
  const temporary = makeTemporary(path);
  const moved: string[] = [];
  try {
    fill(temporary);
    if (readdirSync(path).length > 1) {
      throw usage(`${JSON.stringify(written)} was written to meanwhile`);
    }
    const names = readdirSync(temporary, { withFileTypes: true });
    names.sort((left, right) => Number(left.name === last) - Number(right.name === last));
    for (const entry of names) {
      const [from, to] = [join(temporary, entry.name), join(path, entry.name)];
      // Renaming a directory and linking a file never replace anything; renaming a file would.
      if (entry.isDirectory()) renameSync(from, to);
      else linkSync(from, to);
      moved.push(to);
    }
  } catch (error) {
    for (const one of moved) rmSync(one, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** Creates a directory with an unpredictable name; fails if it exists nevertheless. */
function makeTemporary(parent: string): string {
  const temporary = join(parent, TEMPORARY + randomUUID());
  mkdirSync(temporary, { mode: 0o755 });
  return temporary;
}

/** Removes the directories from `path` up to `top`, as long as they are empty. */
function removeEmpty(path: string, top: string): void {
  try {
    for (let at = path; ; at = dirname(at)) {
      rmdirSync(at);
      if (at === top) return;
    }
  } catch {
    // The directory is in use by now.
  }
}
