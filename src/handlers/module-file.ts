/**
 * The functions of handler modules: resolves a dotted reference to a module's file below the
 * handlers root, and explains a failed import. Symbolic links are resolved first, and files outside
 * the root do not exist for handlers.   AGTP-API §12.2
 */

import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { describeFileError, readBoundedFile } from "../base/bounded-file.ts";
import { suggest } from "../base/close-matches.ts";
import { clip } from "../base/json-value.ts";
import { isWithin, relativePath } from "../base/paths.ts";
import { codeOf } from "../base/thrown.ts";
import { path, type Schema, table } from "../schema/section-field.ts";
import { loadTranspiler, MODULE_EXTENSIONS, type TranspilerFault } from "./transpiler.ts";

/** The real path of a module's file, or the reason there is none. */
type ModuleFile =
  | { readonly path: string; readonly fault?: undefined }
  | { readonly path?: undefined; readonly fault: string; readonly hint?: string | undefined };

/** Finds the file of `modulePath` by trying each extension; `root` is a real path. */
export function findModuleFile(root: string, modulePath: string): ModuleFile {
  for (const extension of MODULE_EXTENSIONS) {
    const name = modulePath + extension;
    let path: string;
    try {
      path = realpathSync(join(root, name));
    } catch (error) {
      if (codeOf(error) === "ENOENT" && isLink(join(root, name))) {
        return { fault: `module "${name}" is a symbolic link that leads nowhere` };
      }
      if (isAbsent(error)) continue;
      return { fault: `module "${name}" ${describeFileError(error)}` };
    }
    if (!isWithin(root, path)) return { fault: `module "${name}" leads outside the handlers root` };
    // Importing a FIFO or a device would block.
    if (!statSync(path).isFile()) return { fault: `module "${name}" must be a regular file` };
    return { path };
  }
  return missing(root, modulePath);
}

function missing(root: string, modulePath: string): ModuleFile {
  const fault = `module "${modulePath}" does not exist, looked for ${MODULE_EXTENSIONS.join(", ")}`;
  const hint = suggest(basename(modulePath), moduleNames(join(root, dirname(modulePath))));
  return { fault, hint };
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

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function isAbsent(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(codeOf(error));
}

const MAX_MESSAGE_LENGTH = 500;

/**
 * Describes why and where an import failed: `"endpoints/rooms.ts" threw on import: TypeError: …, at
 * endpoints/rooms.ts:12`. Paths are relative to the handlers root.
 */
export function describeImportFault(error: unknown, modulePath: string, root: string): string {
  const name = `"${relativePath(root, modulePath)}"`;
  if (!(error instanceof Error)) return `${name} threw on import: ${brief(String(error))}`;
  const message = brief(relativize(error.message, root));
  const place = placeOf(error, modulePath, root);
  if (isMissingImport(error)) return `${name} imports what does not exist: ${message}`;
  const where = place === undefined || message.includes(place) ? "" : `, at ${place}`;
  if (error instanceof SyntaxError) return `${name} does not parse: ${message}${where}`;
  return `${name} threw on import: ${error.name}: ${message}${where}`;
}

/** A missing module, package or export; Node reports a missing export as a SyntaxError. */
function isMissingImport(error: Error): boolean {
  const isUnresolved = "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
  return isUnresolved || error.message.includes("does not provide an export named");
}

/** The innermost stack frame of the operator's own code. */
function placeOf(error: Error, modulePath: string, root: string): string | undefined {
  const stack = relativize(error.stack ?? "", root).replace(error.message, "");
  const line = stack.split("\n").find((text) => /(?:^|\(|at )(?!node:|\/|file:)\S+:\d+/.test(text));
  const frame = /(?:^|\(|at (?:async )?)([^\s(]+:\d+)(?::\d+)?\)?$/.exec(line ?? "")?.[1];
  if (frame !== undefined || !(error instanceof SyntaxError)) return frame;
  const fault = findSyntaxFault(modulePath);
  if (fault === undefined) return undefined;
  const remark = fault.isDecorator ? ", a decorator, which Node.js does not run" : "";
  return `${relativePath(root, fault.path)}:${fault.line}${remark}`;
}

/** Makes paths and URLs below the root relative, and removes generations. */
function relativize(text: string, root: string): string {
  const prefix = root.endsWith(sep) ? root : root + sep;
  return text
    .replaceAll(pathToFileURL(prefix).href, "")
    .replaceAll(prefix, "")
    .replaceAll(/\?agtpd=\w+/g, "");
}

function brief(message: string): string {
  return clip(message.split("\n", 1)[0] ?? "", MAX_MESSAGE_LENGTH);
}

/** A location of invalid syntax, or of syntax that Node.js does not run. */
interface SyntaxFault {
  readonly path: string;
  readonly line: number;
  readonly isDecorator?: boolean;
}

const MAX_FILES = 200;
const MAX_BYTES = 16 * 1024 * 1024;
const IMPORT = /\b(?:from|import)\s*["'](\.{1,2}\/[^"'\n]+\.m?[jt]s)["']/g;
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/.*/g;
const DECORATOR = /(?:^|[\s{};)])@[\w$]/;

/** The first syntax fault in a module or in its relative imports; undefined if all of them parse. */
function findSyntaxFault(modulePath: string): SyntaxFault | undefined {
  const { transformSync } = loadTranspiler();
  const paths = new Set([modulePath]);
  let decorator: SyntaxFault | undefined;
  for (const path of paths) {
    const source = readBoundedFile(path, MAX_BYTES).text;
    if (source === undefined) continue;
    try {
      transformSync(source, {
        mode: path.endsWith("ts") ? "transform" : "strip-only",
        module: true,
      });
    } catch (error) {
      return { path, line: (error as TranspilerFault).startLine ?? 1 };
    }
    for (const [, specifier = ""] of source.matchAll(IMPORT)) {
      if (paths.size < MAX_FILES) paths.add(resolve(dirname(path), specifier));
    }
    decorator ??= findDecorator(path, source);
  }
  return decorator;
}

/** Why: the transpiler accepts decorators and leaves them untouched. */
function findDecorator(path: string, source: string): SyntaxFault | undefined {
  const code = source.replace(COMMENT, (comment) => comment.replace(/[^\n]/g, ""));
  const at = code.split("\n").findIndex((line) => DECORATOR.test(line));
  return at === -1 ? undefined : { path, line: at + 1, isDecorator: true };
}

/** `a.b.c`: export `c` of the module `a/b`. */
interface FunctionReference {
  /** Path of the module below the handlers root, without its extension. */
  readonly modulePath: string;
  readonly exportName: string;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const MAX_LENGTH = 512;

/** Parses a reference; undefined unless it is identifiers joined by dots. */
export function parseFunctionReference(reference: string): FunctionReference | undefined {
  if (reference.length > MAX_LENGTH) return undefined;
  const parts = reference.split(".");
  const exportName = parts.pop();
  if (exportName === undefined || parts.length === 0) return undefined;
  if (![...parts, exportName].every((part) => IDENTIFIER.test(part))) return undefined;
  return { modulePath: parts.join("/"), exportName };
}

/** `[handlers]` */
export interface HandlersConfig {
  readonly root: string;
}

export const handlersSection: Schema = table("Handler modules", {
  root: path(".", "Dotted handler paths start here; nothing outside is reachable"),
});
