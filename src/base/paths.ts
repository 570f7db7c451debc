/**
 * Paths: directories that are made, links that are resolved, and the files that come with the product,
 * whether it runs from its sources or as it is built.
 */

import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { codeOf } from "./thrown.ts";

/**
 * Makes a directory with all that lead to it, and says which was the first; throws what the file system
 * says. Node's own way never ends where a file system answers that a directory's parent does not exist
 * although it does, as `/proc` may.
 */
export function makeDirectory(path: string, mode = 0o777): string | undefined {
  const fault = make(path, mode);
  if (fault === undefined) return path;
  if (isDirectory(path)) return undefined;
  const parent = dirname(path);
  if (codeOf(fault) !== "ENOENT" || parent === path) throw fault;
  const first = makeDirectory(parent, mode);
  const again = make(path, mode);
  // Another process may have made it meanwhile.
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

/** The path with its links resolved; undefined where it leads to nothing. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** Tells whether a path is a directory, or lies below it. */
export function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** A path relative to a directory, with slashes as URLs and files of a deployment have them. */
export function relativePath(directory: string, path: string): string {
  return relative(directory, path).split(sep).join("/");
}

/** The path of a file or a folder, by its path in the package. */
export function shippedPath(name: string): string {
  const found = [`../../${name}`, `../../../${name}`]
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error(`the product's own ${name} is missing`);
  return found;
}
