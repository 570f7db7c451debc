/**
 * The command that was run, as evidence has it. It goes to the caller, who is not shown what the
 * operator hands to programs: that is bound by its hashes.   agentcli execution identity "Evidence"
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import { canonicalDigest, sha256Hex } from "../../../identity/canonical-form.ts";
import type { ShellPayload } from "../compile/task-plan.ts";

/** The command, with the program's name alone in plain text. */
export function describeCommand({ program, args, env, stdin }: ShellPayload): JsonRecord {
  return {
    ...{ program, args_count: args.length, args_hashes: args.map(hashText) },
    env_hash: canonicalDigest(env),
    stdin_hash: stdin === null ? null : hashText(stdin),
  };
}

function hashText(text: string): string {
  return `sha256:${sha256Hex(text)}`;
}
