/**
 * Puts a new directory in place, whole or not at all, and never over something that is there: it is
 * filled under another name beside its place and renamed. In an empty directory that is there
 * already, whose owner and mode are somebody's choice, what was made is moved in, the configuration
 * last, and taken out again where that fails.
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

/** The directory in which a deployment is to be made. */
export interface Place {
  /** Absolute. */
  readonly path: string;
  /** As messages name it. */
  readonly written: string;
  /** The file that makes the directory a deployment; put in place after everything else. */
  readonly last: string;
}

const TEMPORARY = ".agtpd-init-";

/** Tells whether something is there already: nothing, or an empty directory. Throws for anything else. */
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
    // Fails for a file, a link and a directory with something in it that came meanwhile.
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
      // Neither replaces anything; renaming a file would.
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

/** A name that nobody can guess, and that fails where it is taken in spite of that. */
function makeTemporary(parent: string): string {
  const temporary = join(parent, TEMPORARY + randomUUID());
  mkdirSync(temporary, { mode: 0o755 });
  return temporary;
}

/** Takes back the directories from `path` up to `top`, as far as nobody has put something in. */
function removeEmpty(path: string, top: string): void {
  try {
    for (let at = path; ; at = dirname(at)) {
      rmdirSync(at);
      if (at === top) return;
    }
  } catch {
    // Somebody uses it by now.
  }
}
