/**
 * The command line of `agtpd doctor`, before anything is read. Answers with options, or with the exit
 * code when nothing is left to do.
 */
import { Command, CommanderError } from "commander";
import type { Terminal } from "../client/terminal.ts";
import { VERSION } from "../version.ts";

/** The options as written. */
export interface DoctorCommandLine {
  readonly kind: "doctor";
  readonly config: string;
  readonly host?: string;
  readonly json?: boolean;
}

/** Nothing to do: help was wanted, or the command line is wrong. */
export interface CommandLineEnd {
  readonly kind: "end";
  readonly exitCode: 0 | 2;
}

const EXAMPLES = `
Nothing is written, started or asked over the network. Problems for which a daemon would not start
are "agtpd --check"'s; with one of them there is nothing to look at.

Examples:
  agtpd doctor
  agtpd doctor --config /srv/shop/agtp-server.toml --json
  agtpd doctor --host 0.0.0.0          what would be wrong if it listened there

Exit codes: 0 nothing but notes, 1 there are errors or warnings, 2 it could not be asked.`;

/** Reads the arguments behind the command's name. */
export function parseCommandLine(
  args: readonly string[],
  { out, err }: Pick<Terminal, "out" | "err">,
): DoctorCommandLine | CommandLineEnd {
  const command = new Command("agtpd doctor")
    .description("Says what a careful operator would look at, each with its remedy.")
    .version(VERSION)
    .option("--config <file>", "configuration file", "agtp-server.toml")
    .option("--host <host>", "address to listen on, instead of [server] host")
    .option("--json", "print JSON")
    .addHelpText("after", EXAMPLES)
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) });
  try {
    command.parse(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { kind: "end", exitCode: error.exitCode === 0 ? 0 : 2 };
  }
  return { kind: "doctor", ...command.opts<Omit<DoctorCommandLine, "kind">>() };
}
