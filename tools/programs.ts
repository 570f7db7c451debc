/** The programs of the package by name: the build bundles this module with everything they load. */
import type { Command } from "../src/programs/shell/command.ts";
import { runProgram } from "../src/programs/shell/run-program.ts";
import type { Terminal } from "../src/programs/shell/terminal.ts";
import { daemonProgram } from "./agtpd-program.ts";
import { OTHER_PROGRAMS } from "./other-programs.ts";
import { runHere } from "./process-terminal.ts";

/** Runs a program with the arguments of this process, and exits with its code. */
export async function runNamed(name: string): Promise<void> {
  await runHere(await load(name));
}

/** Runs a program on another terminal; returns its exit code. */
export async function runOn(
  terminal: Terminal,
  name: string,
  args: readonly string[],
): Promise<number> {
  return runProgram(await load(name), args, terminal);
}

async function load(name: string): Promise<Command> {
  const other = OTHER_PROGRAMS[name];
  if (other !== undefined) return other();
  return daemonProgram(async (line, terminal) => {
    const { runDaemon } = await import("./agtpd-daemon.ts");
    return runDaemon(line, terminal);
  });
}
