/** The TypeScript transpiler, loaded on demand: deployments in JavaScript never need it. */
import { createRequire } from "node:module";
import { findDescriptorFault } from "../base/late-load.ts";

type Transpiler = typeof import("@swc/wasm-typescript");

/** The value that the transpiler throws, which is not an Error. */
export interface TranspilerFault {
  readonly message: string;
  /** The line, from 1. */
  readonly startLine?: number;
  /** The column, from 0. */
  readonly startColumn?: number;
}

let loaded: Transpiler | undefined;

/**
 * Loads the transpiler, megabytes of WebAssembly, on the first call.
 * @throws if it cannot be loaded; the next call tries again
 */
export function loadTranspiler(): Transpiler {
  if (loaded !== undefined) return loaded;
  const fault = findDescriptorFault();
  if (fault !== undefined) throw fault;
  loaded = createRequire(import.meta.url)("@swc/wasm-typescript") as Transpiler;
  return loaded;
}

/** The extensions of handler modules, in order of preference. */
export const MODULE_EXTENSIONS = [".ts", ".mts", ".js", ".mjs"] as const;
