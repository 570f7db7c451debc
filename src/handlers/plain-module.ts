/**
 * Tells which handler modules Node loads by itself. The others need the hooks of `module-hooks.ts`,
 * whose thread costs a start some 100 ms and every later import a round trip.   AGTP-API §12.2
 */
import { readBoundedFile } from "../base/bounded-file.ts";

/** Of a longer file nobody looks for its imports. */
const MAX_BYTES = 256 * 1024;
/** An import of Node's own modules, which have neither generations nor TypeScript. */
const IMPORT_OF_NODE = /\bimport\b[\w\s{},*$]*\bfrom\s*["']node:[\w/]+["']/g;

/** True for JavaScript that imports nothing but Node's own modules; words in comments count as imports. */
export function isPlainModule(path: string): boolean {
  if (!/\.m?js$/.test(path)) return false;
  const { text } = readBoundedFile(path, MAX_BYTES);
  return text !== undefined && !/\b(?:import|from)\b/.test(text.replaceAll(IMPORT_OF_NODE, ""));
}
