/**
 * The files and directories below a directory, for checks of who may write or own them. Bounded, and
 * links are not followed, so that nobody leads a check elsewhere or round in circles.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../base/thrown.ts";

const MAX_ENTRIES = 20_000;
const MAX_DEPTH = 16;
const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/** The directory itself and everything below it; nothing where it is absent. */
export function listTree(directory: string): readonly string[] {
  const paths: string[] = [];
  walk(directory, 0, paths);
  return paths;
}

function walk(directory: string, depth: number, paths: string[]): void {
  if (depth > MAX_DEPTH) return;
  const entries = readEntries(directory);
  if (entries === undefined) return;
  paths.push(directory);
  for (const entry of entries) {
    if (paths.length >= MAX_ENTRIES) return;
    if (LEFT_OUT.has(entry.name)) continue;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) walk(path, depth + 1, paths);
    else if (entry.isFile()) paths.push(path);
  }
}

function readEntries(directory: string) {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return undefined;
    throw error;
  }
}
