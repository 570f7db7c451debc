/**
 * The TypeScript transpiler, loaded when something needs it: a deployment in JavaScript never does.
 */
import { createRequire } from "node:module";
import { findDescriptorFault } from "../base/late-load.ts";

type Transpiler = typeof import("@swc/wasm-typescript");

/** The value that the transpiler throws, which is no Error. */
export interface TranspilerFault {
  readonly message: string;
  /** From 1. */
  readonly startLine?: number;
  /** From 0. */
  readonly startColumn?: number;
}

let loaded: Transpiler | undefined;

/**
 * Loads megabytes of WebAssembly the first time.
 * @throws where it cannot be loaded now; the next call tries again
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
