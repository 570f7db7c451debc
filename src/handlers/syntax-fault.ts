/**
 * Finds where JavaScript does not parse. Node says what is wrong with an ES module but neither in
 * which file nor on which line, so the module and what it imports are parsed once more.
 */
import { dirname, resolve } from "node:path";
import { readBoundedFile } from "../base/bounded-file.ts";
import { loadTranspiler, type TranspilerFault } from "./transpiler.ts";

/** A place in a file that is no JavaScript. */
export interface SyntaxFault {
  readonly path: string;
  readonly line: number;
}

const MAX_FILES = 200;
const MAX_BYTES = 16 * 1024 * 1024;
const IMPORT = /\b(?:from|import)\s*["'](\.{1,2}\/[^"'\n]+\.m?js)["']/g;

/** The first fault in a module or in what it imports relatively; undefined when all of it parses. */
export function findSyntaxFault(modulePath: string): SyntaxFault | undefined {
  const { transformSync } = loadTranspiler();
  const paths = new Set([modulePath]);
  for (const path of paths) {
    const source = readBoundedFile(path, MAX_BYTES).text;
    if (source === undefined) continue;
    try {
      transformSync(source, { mode: "strip-only", module: true });
    } catch (error) {
      return { path, line: (error as TranspilerFault).startLine ?? 1 };
    }
    for (const [, specifier = ""] of source.matchAll(IMPORT)) {
      if (paths.size < MAX_FILES) paths.add(resolve(dirname(path), specifier));
    }
  }
  return undefined;
}
