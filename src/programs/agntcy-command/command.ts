/**
 * `agtp-agntcy`: AGNTCY manifests in, OASF records out. The exit code is 0 when it was done, 1 when
 * the manifest is not valid or the agent is not there, 2 when it could not be asked.
 */

import type { Environment } from "../../base/environment.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { CommandRefusal } from "../shell/command-refusal.ts";
import { defuse, type Terminal } from "../shell/terminal.ts";
import { parseCommandLine } from "./command-line.ts";
import { runExport } from "./export-command.ts";
import { runValidate } from "./validate-command.ts";

/** Runs the program and answers its exit code. */
export async function runAgntcyCommand(
  args: readonly string[],
  terminal: Terminal,
  environment: Environment,
): Promise<number> {
  const line = parseCommandLine(args, terminal);
  if (line.kind === "end") return line.exitCode;
  try {
    if (line.kind === "validate") return runValidate(line, terminal, environment) ? 0 : 1;
    runExport(line, terminal, environment);
    return 0;
  } catch (error) {
    const isRefusal = error instanceof CommandRefusal;
    if (!isRefusal && !(error instanceof AgtpClientError)) throw error;
    terminal.err.write(`agtp-agntcy: ${defuse(error.message)}\n`);
    return isRefusal ? 1 : 2;
  }
}
