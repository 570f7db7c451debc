/** The targets that a manifest compiles to, as clients see them; making one is a file of its own. */
import type { Failure } from "../failure.ts";
import type { Manifest } from "../manifest/manifest.ts";

/** The result of compiling. */
export interface Compiled {
  readonly output: Readonly<Record<string, unknown>>;
  /** Goes with the output where it was asked for. */
  readonly explain: readonly object[];
}

/** A target as clients see it. */
export interface TargetRecord {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly string[];
  readonly features: Readonly<Record<string, string | boolean>>;
}

/** A target and its compiler, which gets valid manifests only. */
export interface Target extends TargetRecord {
  compile(manifest: Manifest): Compiled | Failure;
}
