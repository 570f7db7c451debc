/** Paths with links resolved, and whether one lies below another. */
import { realpathSync } from "node:fs";
import { sep } from "node:path";

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
