/**
 * The command line of `agtp-rpc`: without a command it serves the protocol, with one it is one call of
 * a method. Answers with what to do, or with the exit code when nothing is left to do.
 */
import { Command, CommanderError } from "commander";
import type { Terminal } from "../../../client/terminal.ts";
import type { JsonRecord } from "../../../json-value.ts";
import { VERSION } from "../../../version.ts";
import { addCommands, type CallLine } from "./commands.ts";

/** Serve until standard input ends. */
export interface ServeLine {
  readonly kind: "serve";
  readonly db: string | undefined;
}

/** Nothing to do: help was wanted, or the command line is wrong. */
export interface CommandLineEnd {
  readonly kind: "end";
  readonly exitCode: 0 | 2;
}

const EXAMPLES = `
Examples:
  agtp-rpc
  agtp-rpc validate manifest.json
  agtp-rpc compile manifest.json --target openclaw-scheduler
  agtp-rpc apply manifest.json --db scheduler.db --dry-run

A manifest is a file, - for standard input, or JSON.
Exit codes: 0 done, 1 not, and standard error says why as JSON, 2 the command line is wrong.`;

/** Reads the arguments behind the program's name. */
export function parseCommandLine(
  args: readonly string[],
  { out, err }: Pick<Terminal, "out" | "err">,
): ServeLine | CallLine | CommandLineEnd {
  let line: ServeLine | CallLine | undefined;
  const serve = (options: JsonRecord): void => {
    line = { kind: "serve", db: typeof options["db"] === "string" ? options["db"] : undefined };
  };
  const command = new Command("agtp-rpc")
    .description("agentcli manifests: JSON-RPC on standard input and output, or one command.")
    .version(VERSION)
    .option("--db <file>", "the scheduler's database")
    .option("--json", "print JSON, as is done anyway")
    .addHelpText("after", EXAMPLES)
    .allowExcessArguments(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) })
    .action(serve);
  command
    .command("serve")
    .description("serve the protocol, as without a command")
    .option("--db <file>", "the scheduler's database")
    .action(serve);
  addCommands(command, (call) => {
    line = call;
  });
  try {
    command.parse(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { kind: "end", exitCode: error.exitCode === 0 ? 0 : 2 };
  }
  return line ?? { kind: "end", exitCode: 2 };
}
