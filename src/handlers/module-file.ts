/**
 * Finds the file of a handler module below the handlers root. Symbolic links are followed before
 * anything is decided, and what lies outside the root does not exist as far as handlers go.
 * AGTP-API §12.2
 */
import { readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { describeFileError } from "../base/bounded-file.ts";
import { suggest } from "../base/close-matches.ts";
import { codeOf } from "../base/thrown.ts";
import { MODULE_EXTENSIONS } from "./module-extensions.ts";

/** The real path of a module's file, or why there is none. */
export type ModuleFile =
  | { readonly path: string; readonly fault?: undefined }
  | { readonly path?: undefined; readonly fault: string; readonly hint?: string };

/** Looks for `modulePath` with each extension; `root` is a real path. */
export function findModuleFile(root: string, modulePath: string): ModuleFile {
  for (const extension of MODULE_EXTENSIONS) {
    const name = modulePath + extension;
    let path: string;
    try {
      path = realpathSync(join(root, name));
    } catch (error) {
      if (isAbsent(error)) continue;
      return { fault: `module "${name}" ${describeFileError(error)}` };
    }
    if (!isBelow(root, path)) return { fault: `module "${name}" leads outside the handlers root` };
    // A FIFO or a device would keep the import waiting.
    if (!statSync(path).isFile()) return { fault: `module "${name}" must be a regular file` };
    return { path };
  }
  return missing(root, modulePath);
}

function missing(root: string, modulePath: string): ModuleFile {
  const fault = `module "${modulePath}" does not exist, looked for ${MODULE_EXTENSIONS.join(", ")}`;
  const hint = suggest(basename(modulePath), moduleNames(join(root, dirname(modulePath))));
  return hint === undefined ? { fault } : { fault, hint };
}

function moduleNames(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => /\.m?[jt]s$/.test(name))
      .map((name) => name.replace(/\.m?[jt]s$/, ""));
  } catch {
    return [];
  }
}

function isAbsent(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(codeOf(error));
}

function isBelow(root: string, path: string): boolean {
  return path.startsWith(root.endsWith(sep) ? root : root + sep);
}
