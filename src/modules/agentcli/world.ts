/** The environment of the methods: variables, base directory, programs and HTTP. Tests can replace it. */

import type { JWTVerifyGetKey } from "jose";
import type { JsonRecord } from "../../base/json-value.ts";
import type { ProgramStart } from "../../base/process-groups.ts";

/** A JSON answer, or the fault. */
export type JsonAnswer =
  | { readonly kind: "json"; readonly value: unknown; readonly maxAgeSeconds: number | undefined }
  | { readonly kind: "fault"; readonly message: string };

/** Requests JSON, with POST if there is a body. Does not follow redirects. */
export type AskJson = (url: string, body?: JsonRecord) => Promise<JsonAnswer>;

/** Verification keys, or the fault. */
export type KeySet =
  | { readonly kind: "keys"; readonly keys: JWTVerifyGetKey }
  | { readonly kind: "fault"; readonly message: string };

/** A run of a program, never through a shell. */
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
  /** `<user>@<host>`, the principal if a manifest names none. */
  readonly operator: string;
  askJson: AskJson;
  readonly keySets: { find(url: string): Promise<KeySet> };
  runProgram(call: ProgramCall): Promise<ProgramEnd>;
}
