/**
 * A program as it is declared: its name, arguments, options with their help, sub-commands and what it
 * does. Parsing, --help, --version, suggestions and errors come from here, by `runProgram`.
 */

import { resolve } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import type { ArgumentTable, Line, OptionTable } from "./command-line.ts";
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

/** The answer no, which ends a command with exit code 1; the message is for people. */
export class CommandRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandRefusal";
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
