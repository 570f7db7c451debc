/**
 * `agtp-openapi`: OpenAPI documents in and out. The exit code is 0 when it was done, 1 when the
 * document or the command is refused or `--strict` finds something to review, 2 when it could not
 * be asked.
 */

import type { Environment } from "../../base/environment.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { CommandRefusal } from "../shell/command-refusal.ts";
import { defuse, type Terminal } from "../shell/terminal.ts";
import { parseCommandLine } from "./command-line.ts";
import { runExport } from "./export-command.ts";
import { runImport } from "./import-command.ts";

/** Runs the program and answers its exit code. */
export async function runOpenApiCommand(
  args: readonly string[],
  terminal: Terminal,
  environment: Environment,
): Promise<number> {
  const line = parseCommandLine(args, terminal);
  if (line.kind === "end") return line.exitCode;
  try {
    const isYes = await (line.kind === "import"
      ? runImport(line, terminal)
      : runExport(line, terminal, environment));
    return isYes ? 0 : 1;
  } catch (error) {
    const isRefusal = error instanceof CommandRefusal;
    if (!isRefusal && !(error instanceof AgtpClientError)) throw error;
    terminal.err.write(`agtp-openapi: ${defuse(error.message)}\n`);
    return isRefusal ? 1 : 2;
  }
}
