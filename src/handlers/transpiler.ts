/** The TypeScript transpiler, loaded when something needs it: a deployment in JavaScript never does. */
import { createRequire } from "node:module";

type Transpiler = typeof import("@swc/wasm-typescript");

/** What the transpiler throws, which is no Error. */
export interface TranspilerFault {
  readonly message: string;
  /** From 1. */
  readonly startLine?: number;
  /** From 0. */
  readonly startColumn?: number;
}

/** Loads megabytes of WebAssembly the first time. */
export function loadTranspiler(): Transpiler {
  return createRequire(import.meta.url)("@swc/wasm-typescript") as Transpiler;
}
