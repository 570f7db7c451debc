/** The commands of `agtpd` beside serving: `init` and `doctor`, each read and run by its own folder. */
import type { Command } from "commander";
import { AgtpClientError } from "../src/client/client-error.ts";
import type { Terminal } from "../src/programs/shell/terminal.ts";
import { openQuestions } from "./process-questions.ts";
import { processTerminal } from "./process-terminal.ts";

const EXAMPLES = `
Examples:
  agtpd init shop                                a new deployment, in shop/
  agtpd --config shop/agtp-server.toml
  agtpd --config shop/agtp-server.toml --check --json
  agtpd doctor --config shop/agtp-server.toml

SIGHUP reads the deployment again, SIGTERM and SIGINT drain and stop.

Exit codes: 0 stopped, or nothing to complain of; 1 it does not start, or --check found errors;
2 the command line is wrong, or there is no configuration to read.`;

/** Adds the commands; options of the daemon stand before them, their own behind. */
export function addCommands(program: Command): Command {
  program.enablePositionalOptions().configureHelp({ subcommandTerm: (command) => command.name() });
  program.addHelpText("after", EXAMPLES);
  addCommand(program, "init", "make a new deployment: agtpd init DIR", async (args) => {
    const { runInitCommand } = await import("../src/programs/init/command.ts");
    const questions = openQuestions();
    try {
      return await runInitCommand(args, terminal(), questions?.ask);
    } finally {
      questions?.close();
    }
  });
  addCommand(program, "doctor", "say what a careful operator would look at", async (args) => {
    const { runDoctorCommand } = await import("../src/programs/doctor/command.ts");
    return runDoctorCommand(args, terminal(), process.env);
  });
  return program;
}

function addCommand(
  program: Command,
  name: string,
  description: string,
  run: (args: readonly string[]) => Promise<number>,
): void {
  program
    .command(`${name} [args...]`)
    .description(description)
    .usage("...")
    // --help, too, is for the command's own parser.
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: readonly string[]) => {
      process.exitCode = await run([...daemonOptions(program), ...args]);
    });
}

/** `agtpd --config F doctor` means the same as `agtpd doctor --config F`. */
function daemonOptions(program: Command): readonly string[] {
  const names = ["config", "host", "port", "check", "json", "logLevel"];
  return names.flatMap((name) => {
    if (program.getOptionValueSource(name) !== "cli") return [];
    const value: unknown = program.getOptionValue(name);
    const flag = `--${name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === true ? [flag] : [flag, String(value)];
  });
}

function terminal(): Terminal {
  return processTerminal(() =>
    Promise.reject(new AgtpClientError("ERR_AGTP_REQUEST", "standard input is not read")),
  );
}
