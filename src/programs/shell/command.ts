/**
 * A program as it is declared: its name, arguments, options with their help, sub-commands and what it
 * does. Parsing, --help, --version, suggestions and errors come from here, by `runProgram`.
 */

import { resolve } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { formatProblem, type Problem } from "../../base/problem.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import type { Terminal } from "./terminal.ts";

/** The exit code; true or nothing is 0, false is 1. */
export type Outcome = number | boolean | undefined;

interface CommandDetails {
  /** With the program's name before it, if it is called on its own: `agtpd doctor`. */
  readonly name: string;
  readonly description: string;
  readonly args?: ArgumentTable;
  readonly options?: OptionTable;
  /** Shown behind the options: examples, exit codes. */
  readonly notes?: string;
  /** Messages are shown whole, on several lines where they have them. */
  readonly hasLongMessages?: true;
  readonly commands?: readonly Command[];
  /** Commands that are programs of their own, with a `--version` and notes. */
  readonly programs?: readonly SubProgram[];
}

/** A command with its options erased; `command` makes one. */
export interface Command extends CommandDetails {
  readonly run?: (line: never, terminal: Terminal) => Outcome | Promise<Outcome>;
}

/** A program below another one; it is loaded when it is called. */
export interface SubProgram {
  /** Without the name of the program above. */
  readonly name: string;
  /** As --help of the program above has it; there are its notes instead where it is absent. */
  readonly description?: string;
  load(): Command | Promise<Command>;
}

/** A command to be declared; the types of its line come from its tables. */
interface CommandDeclaration<A extends ArgumentTable, O extends OptionTable>
  extends CommandDetails {
  readonly args?: A;
  readonly options?: O;
  /** @throws AgtpClientError (exit code 2) or CommandRefusal (1), shown to the person who asks. */
  readonly run: (line: Line<A, O>, terminal: Terminal) => Outcome | Promise<Outcome>;
}

type None = Readonly<Record<never, never>>;

/** Declares a command. */
export function command<const A extends ArgumentTable = None, const O extends OptionTable = None>(
  declaration: CommandDeclaration<A, O>,
): Command {
  return declaration;
}

/** The answer no, which ends a command with exit code 1; the message is for people, `problems` are those of files in it. */
export class CommandRefusal extends Error {
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[] = []) {
    super(message);
    this.name = "CommandRefusal";
    this.problems = problems;
  }
}

/** Files keep a command from being asked: exit code 2, and `--json` tells each problem by its file and key. */
export class FileProblems extends AgtpClientError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super("ERR_AGTP_REQUEST", problems.map(formatProblem).join("; "));
    this.problems = problems;
  }
}

const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** The text of a file; a relative path starts at `directory`. */
export function readText(directory: string, file: string): string {
  const read = readBoundedFile(resolve(directory, file), MAX_FILE_BYTES);
  if (read.text !== undefined) return read.text;
  throw usage(`${JSON.stringify(file)} ${read.fault}`);
}

/** The command line asks for something that cannot be. */
export function usage(message: string): AgtpClientError {
  return new AgtpClientError("ERR_AGTP_REQUEST", message);
}

/** An option's help, and how it is read. */
export interface OptionDetails {
  readonly help: string;
  /** Taken where the option is not written. */
  readonly default?: unknown;
  readonly choices?: readonly string[];
  /** Offered by shells; the command itself says what else it takes. */
  readonly words?: OfferedWords;
  readonly isRequired?: true;
  /** It may be written several times, and is a list. */
  readonly isRepeated?: true;
  /** Its text is a list with commas, to which each time that it is written adds. */
  readonly isJoined?: true;
  /** @throws InvalidValue for a text that is none. */
  readonly parse?: (text: string) => unknown;
}

/** Words to offer, or those of the deployment that somebody stands in: ids of its agents, methods and paths of its endpoints. */
export type OfferedWords = readonly string[] | "agents" | "endpoints";

/** An argument's help, and the words that a shell offers for it. */
interface ArgumentDetails {
  readonly help: string;
  readonly words: OfferedWords;
}

/** Options by their flags: `-i, --include`, `--ca <file>`, `--key [file]`, `--no-agent`. */
export type OptionTable = Readonly<Record<string, string | OptionDetails>>;
/** Arguments by name, with what --help says of them: `<uri>`, `[path]`, `[files...]`. */
export type ArgumentTable = Readonly<Record<string, string | ArgumentDetails>>;

type CamelCase<Name extends string> = Name extends `${infer Word}-${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The last of several names counts. */
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

/** The options of a table, as written. */
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

/** A command line that was read. */
export type Line<ArgumentsOf, OptionsOf> = Arguments<ArgumentsOf> & Options<OptionsOf>;
