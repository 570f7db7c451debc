/**
 * The world of the methods beside their parameters: the environment, a directory that paths start
 * in, other programs, and HTTP. A test can be the world.
 */

import type { JWTVerifyGetKey } from "jose";
import type { JsonRecord } from "../../base/json-value.ts";
import type { ProgramStart } from "../../base/process-groups.ts";

/** A JSON answer, or in words why there is none. */
export type JsonAnswer =
  | { readonly kind: "json"; readonly value: unknown; readonly maxAgeSeconds: number | undefined }
  | { readonly kind: "fault"; readonly message: string };

/** Asks for JSON; with a body, it is a POST. Follows no redirect. */
export type AskJson = (url: string, body?: JsonRecord) => Promise<JsonAnswer>;

/** Keys to verify with, or in words why there are none. */
export type KeySet =
  | { readonly kind: "keys"; readonly keys: JWTVerifyGetKey }
  | { readonly kind: "fault"; readonly message: string };

/** One run of another program, never through a shell. */
export interface ProgramCall extends ProgramStart {
  readonly timeoutMs: number;
  readonly input?: string;
}

export type ProgramEnd =
  | {
      readonly kind: "exit";
      readonly code: number;
      readonly stdout: string;
      readonly stderr: string;
    }
  | { readonly kind: "fault"; readonly message: string };

/** The world around one process. */
export interface World {
  /** The variables that are set. */
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
  /** `<user>@<host>`: who acts where a manifest names nobody. */
  readonly operator: string;
  askJson: AskJson;
  readonly keySets: { find(url: string): Promise<KeySet> };
  runProgram(call: ProgramCall): Promise<ProgramEnd>;
}
