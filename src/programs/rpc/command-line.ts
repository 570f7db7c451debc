/**
 * The command line of `agtp-rpc`: without a command it serves the protocol, with one it is one call of
 * a method. Answers with what to do, or with the exit code when nothing is left to do.
 */
import type { Command } from "commander";
import type { JsonRecord } from "../../base/json-value.ts";
import { type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";
import { addCommands, type CallLine } from "./commands.ts";

/** Serve until standard input ends. */
export interface ServeLine {
  readonly kind: "serve";
  readonly db: string | undefined;
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
  terminal: Pick<Terminal, "out" | "err">,
): ServeLine | CallLine | CommandLineEnd {
  let line: ServeLine | CallLine | undefined;
  const serve = (options: JsonRecord): void => {
    line = { kind: "serve", db: typeof options["db"] === "string" ? options["db"] : undefined };
  };
  const command = createProgram("agtp-rpc", terminal)
    .description("agentcli manifests: JSON-RPC on standard input and output, or one command.")
    .option("--db <file>", "the scheduler's database")
    .option("--json", "print JSON, as is done anyway")
    .addHelpText("after", EXAMPLES)
    .enablePositionalOptions()
    .helpCommand("help [command]")
    .allowExcessArguments()
    .action((options: JsonRecord, program: Command) => {
      const [unknown] = program.args;
      if (unknown !== undefined) program.error(`error: unknown command '${unknown}'`);
      serve(options);
    });
  command
    .command("serve")
    .description("serve the protocol, as without a command")
    .option("--db <file>", "the scheduler's database")
    .action(serve);
  addCommands(command, (call) => {
    line = call;
  });
  const end = readArguments(command, args);
  if (end !== undefined) return end;
  return line ?? { kind: "end", exitCode: 2 };
}
