/**
 * Paths: creating directories, resolving links, and locating the product's own files, in sources as
 * in a build.
 */

import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { codeOf } from "./thrown.ts";

/**
 * Creates a directory with its parents, and returns the first that it created; throws the file
 * system's error. Node's own function never ends if the file system denies that an existing parent
 * exists, as `/proc` may.
 */
export function makeDirectory(path: string, mode = 0o777): string | undefined {
  const fault = make(path, mode);
  if (fault === undefined) return path;
  if (isDirectory(path)) return undefined;
  const parent = dirname(path);
  if (codeOf(fault) !== "ENOENT" || parent === path) throw fault;
  const first = makeDirectory(parent, mode);
  const again = make(path, mode);
  // Another process may have created it meanwhile.
  if (again !== undefined && !isDirectory(path)) throw again;
  return first ?? path;
}

function make(path: string, mode: number): unknown {
  try {
    mkdirSync(path, { mode });
    return undefined;
  } catch (error) {
    return error;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Returns the path with its links resolved; undefined if nothing is there. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** Tells whether a path is a directory or lies below it. */
export function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** Returns a path relative to a directory, with forward slashes. */
export function relativePath(directory: string, path: string): string {
  return relative(directory, path).split(sep).join("/");
}

/** Returns the path of a file or directory of the package. */
export function shippedPath(name: string): string {
  const found = [`../../${name}`, `../../../${name}`]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error(`the product's own ${name} is missing`);
  return found;
}
