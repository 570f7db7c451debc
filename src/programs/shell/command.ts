/**
 * A declared program: its name, arguments, options with their help, sub-commands and action.
 * `runProgram` adds parsing, --help, --version, suggestions and errors.
 */

import { resolve } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { formatProblem, type Problem } from "../../base/problem.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import type { Terminal } from "./terminal.ts";

/** The exit code; true or undefined is 0, false is 1. */
export type Outcome = number | boolean | undefined;

interface CommandDetails {
  /** Includes the program's name if it is called on its own: `agtpd doctor`. */
  readonly name: string;
  readonly description: string;
  readonly args?: ArgumentTable;
  readonly options?: OptionTable;
  /** Shown after the options: examples, exit codes. */
  readonly notes?: string;
  /** True if messages are shown in full, on several lines if necessary. */
  readonly hasLongMessages?: true;
  readonly commands?: readonly Command[];
  /** Commands that are separate programs, with their own `--version` and notes. */
  readonly programs?: readonly SubProgram[];
}

/** A command with its option types erased; created by `command`. */
export interface Command extends CommandDetails {
  readonly run?: (line: never, terminal: Terminal) => Outcome | Promise<Outcome>;
}

/** A program below another one, loaded when it is called. */
export interface SubProgram {
  /** Without the name of the parent program. */
  readonly name: string;
  /** The line in the parent's --help; if absent, the parent's notes mention it instead. */
  readonly description?: string;
  load(): Command | Promise<Command>;
}

/** The declaration of a command; its tables determine the type of `line`. */
interface CommandDeclaration<A extends ArgumentTable, O extends OptionTable>
  extends CommandDetails {
  readonly args?: A;
  readonly options?: O;
  /** @throws AgtpClientError (exit code 2) or CommandRefusal (1), whose message is shown */
  readonly run: (line: Line<A, O>, terminal: Terminal) => Outcome | Promise<Outcome>;
}

type None = Readonly<Record<never, never>>;

/** Declares a command. */
export function command<const A extends ArgumentTable = None, const O extends OptionTable = None>(
  declaration: CommandDeclaration<A, O>,
): Command {
  return declaration;
}

/** A refusal, which ends a command with exit code 1; the message is for people, `problems` are those in files. */
export class CommandRefusal extends Error {
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[] = []) {
    super(message);
    this.name = "CommandRefusal";
    this.problems = problems;
  }
}

/** Problems in files that prevent a command: exit code 2, and `--json` lists each with its file and key. */
export class FileProblems extends AgtpClientError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super("ERR_AGTP_REQUEST", problems.map(formatProblem).join("; "));
    this.problems = problems;
  }
}

const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Reads a file; a relative path starts at `directory`. */
export function readText(directory: string, file: string): string {
  const read = readBoundedFile(resolve(directory, file), MAX_FILE_BYTES);
  if (read.text !== undefined) return read.text;
  throw usage(`${JSON.stringify(file)} ${read.fault}`);
}

/** Creates the error for an invalid command line. */
export function usage(message: string): AgtpClientError {
  return new AgtpClientError("ERR_AGTP_REQUEST", message);
}

/** An option's help, and how it is read. */
export interface OptionDetails {
  readonly help: string;
  /** Used if the option is absent. */
  readonly default?: unknown;
  readonly choices?: readonly string[];
  /** Completions offered by shells; the command may accept other values. */
  readonly words?: OfferedWords;
  readonly isRequired?: true;
  /** True if the option may be repeated, which makes a list. */
  readonly isRepeated?: true;
  /** True if the text is a comma-separated list; repeated options add to it. */
  readonly isJoined?: true;
  /** @throws InvalidValue for an invalid text */
  readonly parse?: (text: string) => unknown;
}

/**
 * Fixed words, or names from the deployment in the current directory: ids of its agents, methods
 * and paths of its endpoints.
 */
export type OfferedWords = readonly string[] | "agents" | "endpoints";

/** An argument's help, and the words that shells offer for it. */
interface ArgumentDetails {
  readonly help: string;
  readonly words: OfferedWords;
}

/** Options by their flags: `-i, --include`, `--ca <file>`, `--key [file]`, `--no-agent`. */
export type OptionTable = Readonly<Record<string, string | OptionDetails>>;
/** Arguments by name, with their help: `<uri>`, `[path]`, `[files...]`. */
export type ArgumentTable = Readonly<Record<string, string | ArgumentDetails>>;

type CamelCase<Name extends string> = Name extends `${infer Word}-${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** If there are several names, the last counts. */
type OptionName<Flags extends string> = Flags extends `${string}, ${infer Last}`
  ? OptionName<Last>
  : Flags extends `--no-${infer Name}`
    ? CamelCase<Name>
    : Flags extends `--${infer Name} ${string}`
      ? CamelCase<Name>
      : Flags extends `--${infer Name}`
        ? CamelCase<Name>
        : never;

type WrittenValue<Flags extends string> = Flags extends `${string} <${string}>`
  ? string
  : Flags extends `${string} [${string}]`
    ? string | true
    : Flags extends `--no-${string}`
      ? false
      : boolean;

type OptionValue<Flags extends string, Details> = Details extends {
  readonly parse: (text: string) => infer Value;
}
  ? Value
  : Details extends { readonly isRepeated: true }
    ? readonly string[]
    : Details extends { readonly choices: readonly (infer Choice)[] }
      ? Choice
      : WrittenValue<Flags>;

type AlwaysThere =
  | { readonly default: unknown }
  | { readonly isRequired: true }
  | { readonly isRepeated: true };

/** The parsed options of a table. */
export type Options<Table> = {
  readonly [Flags in keyof Table & string as Table[Flags] extends AlwaysThere
    ? OptionName<Flags>
    : never]: OptionValue<Flags, Table[Flags]>;
} & {
  readonly [Flags in keyof Table & string as Table[Flags] extends AlwaysThere
    ? never
    : OptionName<Flags>]?: OptionValue<Flags, Table[Flags]>;
};

type Arguments<Table> = {
  readonly [Name in keyof Table & string as Name extends `<${infer Bare}>`
    ? CamelCase<Bare>
    : Name extends `[${infer Bare}...]`
      ? CamelCase<Bare>
      : never]: Name extends `[${string}...]` ? readonly string[] : string;
} & {
  readonly [Name in keyof Table & string as Name extends `[${string}...]`
    ? never
    : Name extends `[${infer Bare}]`
      ? CamelCase<Bare>
      : never]?: string;
};

/** A parsed command line. */
export type Line<ArgumentsOf, OptionsOf> = Arguments<ArgumentsOf> & Options<OptionsOf>;
