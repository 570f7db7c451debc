/** The programs beside `agtpd`, by name. */
import type { Command } from "../src/programs/shell/command.ts";

/** Loaders by name; a program is loaded when it is run. */
export const OTHER_PROGRAMS: Readonly<Record<string, () => Promise<Command>>> = {
  agtp: async () => (await import("../src/programs/agtp/command.ts")).agtpProgram,
  "agtp-agntcy": async () =>
    (await import("../src/programs/agntcy-command/command.ts")).agntcyProgram,
  "agtp-catalog-diff": async () =>
    (await import("../src/programs/upgrade/command.ts")).catalogDiffProgram,
  "agtp-conformance": async () =>
    (await import("../src/programs/conformance/command.ts")).conformanceProgram,
  "agtp-keys": async () => (await import("../src/programs/keys/command.ts")).keysProgram,
  "agtp-manifest": async () =>
    (await import("../src/programs/manifest-check/command.ts")).manifestProgram,
  "agtp-mcp": async () => (await import("../src/programs/mcp/command.ts")).mcpProgram,
  "agtp-openapi": async () => (await import("../src/programs/openapi/command.ts")).openapiProgram,
  "agtp-rpc": async () => (await import("../src/programs/rpc/command.ts")).rpcProgram,
};

export function otherPrograms(): Promise<readonly Command[]> {
  return Promise.all(Object.values(OTHER_PROGRAMS).map((load) => load()));
}
