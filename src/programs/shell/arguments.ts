/**
 * What every program does with its arguments alike: help and version to standard output, what is
 * wrong to standard error, and exit code 2 for a command line that cannot be understood.
 */
import { Command, CommanderError, Help, type Option } from "commander";
import { VERSION } from "../../base/version.ts";
import type { Terminal } from "./terminal.ts";

/** Nothing to do: help was wanted, or the command line is wrong. */
export interface CommandLineEnd {
  readonly kind: "end";
  readonly exitCode: 0 | 2;
}

/** A program, or one command of it, to be given its options; what it cannot take, it refuses. */
export function createProgram(name: string, { out, err }: Pick<Terminal, "out" | "err">): Command {
  return new Command(name)
    .version(VERSION)
    .allowExcessArguments(false)
    .exitOverride()
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) });
}

const help = new Help();

/** Says a default as it is written on a command line: a number bare, and no list that is empty. */
function describeOption(option: Option): string {
  const { defaultValue } = option;
  const isEmpty = Array.isArray(defaultValue) && defaultValue.length === 0;
  const isNumber = typeof defaultValue === "string" && /^\d+$/.test(defaultValue);
  if (!isEmpty && !isNumber) return help.optionDescription(option);
  const value = isEmpty ? undefined : Number(defaultValue);
  const shown: Option = Object.create(option, { defaultValue: { value } });
  return help.optionDescription(shown);
}

/** Reads the arguments behind the program's name; the exit code when nothing is left to do. */
export function readArguments(
  program: Command,
  args: readonly string[],
): CommandLineEnd | undefined {
  try {
    program.parse(args, { from: "user" });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { kind: "end", exitCode: error.exitCode === 0 ? 0 : 2 };
  }
}

/** Collects an option that may be repeated. */
export function append(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}
