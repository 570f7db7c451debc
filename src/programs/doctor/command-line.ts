/**
 * The command line of `agtpd doctor`, before anything is read. Answers with options, or with the exit
 * code when nothing is left to do.
 */
import { type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The options as written. */
export interface DoctorCommandLine {
  readonly kind: "doctor";
  readonly config: string;
  readonly host?: string;
  readonly json?: boolean;
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
  terminal: Pick<Terminal, "out" | "err">,
): DoctorCommandLine | CommandLineEnd {
  const command = createProgram("agtpd doctor", terminal)
    .description("Says what a careful operator would look at, each with its remedy.")
    .option("--config <file>", "configuration file", "agtp-server.toml")
    .option("--host <host>", "address to listen on, instead of [server] host")
    .option("--json", "print JSON")
    .addHelpText("after", EXAMPLES);
  const end = readArguments(command, args);
  if (end !== undefined) return end;
  return { kind: "doctor", ...command.opts<Omit<DoctorCommandLine, "kind">>() };
}
