/**
 * Makes a directory with all that lead to it. Node's own way of doing so never ends where a file
 * system answers that a directory's parent does not exist although it does, as `/proc` may: a
 * configured path must end in a message instead.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "./thrown.ts";

/** Makes what is missing, and says which directory was the first; throws what the file system says. */
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
