/**
 * Runs a declared program: help and version go to standard output, errors to standard error, and
 * the exit code is 2 for an invalid command line or a command that cannot be carried out.
 */
import {
  Argument,
  CommanderError,
  Help,
  InvalidArgumentError,
  Option,
  Command as Parser,
} from "commander";
import { closeMatches } from "../../base/close-matches.ts";
import { given } from "../../base/json-value.ts";
import { VERSION } from "../../base/version.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import {
  type Command,
  CommandRefusal,
  FileProblems,
  type OptionDetails,
  type OptionTable,
  type Outcome,
  type SubProgram,
} from "./command.ts";
import { printFailure } from "./print-json.ts";
import { defuse, defuseLine, type Output, type Terminal } from "./terminal.ts";

export { InvalidArgumentError as InvalidValue };

type Run = () => Outcome | Promise<Outcome>;
/** Stores the chosen command until the command line is completely parsed. */
type Choose = (chosen: Chosen) => void;

interface Chosen {
  readonly run: Run;
  readonly asksForJson: boolean;
}

/** Runs a program with its arguments, and returns the exit code. */
export async function runProgram(
  program: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const { out, isSilent } = heard(terminal.out);
  const heardTerminal = { ...terminal, out };
  let chosen: Chosen | undefined;
  try {
    const parser = createParser(program, heardTerminal, (one) => {
      chosen = one;
    });
    parser.parse(askingBelow(program, args), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    if (args.includes("--json")) {
      const [message = "", hint] = defuse(error.message)
        .replace(/^error: /, "")
        .split("\n");
      printFailure({ message, ...given({ hint }) }, out);
    }
    return 2;
  }
  if (chosen === undefined) return 2;
  return await exitCodeOf(chosen, program, { ...heardTerminal, isSilent });
}

/** Rewrites `agtpd help status` to `agtpd status --help`, because the program must be loaded for its help. */
function askingBelow({ programs = [] }: Command, args: readonly string[]): readonly string[] {
  const [first, name, ...more] = args;
  const isBelow = first === "help" && programs.some((below) => below.name === name);
  return isBelow && name !== undefined ? [name, ...more, "--help"] : args;
}

/** Wraps an output to tell whether anything was written to it. */
function heard(out: Output): { readonly out: Output; isSilent(): boolean } {
  let isSilent = true;
  const write = (text: string): void => {
    isSilent = false;
    out.write(text);
  };
  const { isTerminal, hasColour } = out;
  return { out: { write, isTerminal, hasColour }, isSilent: () => isSilent };
}

async function exitCodeOf(
  { run, asksForJson }: Chosen,
  program: Command,
  { out, err, isSilent }: Terminal & { isSilent(): boolean },
): Promise<number> {
  try {
    const outcome = await run();
    return typeof outcome === "number" ? outcome : outcome === false ? 1 : 0;
  } catch (error) {
    const isRefusal = error instanceof CommandRefusal;
    if (!isRefusal && !(error instanceof AgtpClientError)) throw error;
    const message = (program.hasLongMessages ? defuse : defuseLine)(error.message);
    err.write(`${program.name}: ${message}\n`);
    // A reader of JSON expects one document: this one, unless another was begun.
    const isOfFiles = isRefusal || error instanceof FileProblems;
    if (asksForJson && isSilent()) {
      printFailure({ message }, out, isOfFiles ? error.problems : []);
    }
    return isRefusal ? 1 : 2;
  }
}

function createParser(program: Command, terminal: Terminal, choose: Choose): Parser {
  const { out, err } = terminal;
  const parser = new Parser(program.name)
    .version(VERSION)
    .allowExcessArguments(false)
    .exitOverride()
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(defuse(text)),
    });
  // Options of the program precede a command, those of the command follow it.
  const hasBoth = program.options !== undefined && (program.commands ?? program.programs);
  if (hasBoth) parser.enablePositionalOptions();
  fillParser(parser, program, terminal, choose);
  return parser;
}

function fillParser(parser: Parser, command: Command, terminal: Terminal, choose: Choose): void {
  const { args = {}, options = {}, run, notes, commands = [], programs = [] } = command;
  parser.description(command.description);
  parser.showHelpAfterError(`(${pathOf(parser)} --help says what it takes)`);
  for (const [name, details] of Object.entries(args)) {
    parser.addArgument(new Argument(name, typeof details === "string" ? details : details.help));
  }
  for (const [flags, details] of Object.entries(options)) {
    parser.addOption(
      createOption(flags, typeof details === "string" ? { help: details } : details),
    );
  }
  if (notes !== undefined) parser.addHelpText("after", notes);
  if (run !== undefined) {
    parser.action(() => {
      refuseMissingOptions(parser, options);
      const line = readLine(parser);
      const asksForJson = "json" in line && line.json === true;
      choose({ asksForJson, run: () => run(line as never, terminal) });
    });
  }
  for (const below of commands) {
    fillParser(parser.command(below.name), below, terminal, choose);
  }
  for (const below of programs) addProgram(parser, below, terminal, choose);
  const names = [...commands, ...programs.filter(({ description }) => description !== undefined)];
  if (run !== undefined && names.length > 0 && Object.keys(args).length === 0) {
    // Done late, because a command inherits from its parent that excess arguments are allowed.
    refuseUnknownCommands(
      parser,
      names.map(({ name }) => name),
    );
  }
  if (programs.length > 0 && programs.every(({ description }) => description === undefined)) {
    parser.usage(["[options]", ...Object.keys(args)].join(" "));
  }
}

/** Checks required options late: the parser would check them before unknown ones, and so hide a misspelt one. */
function refuseMissingOptions(parser: Parser, options: OptionTable): void {
  for (const [flags, details] of Object.entries(options)) {
    if (typeof details === "string" || details.isRequired !== true) continue;
    const isWritten = parser.getOptionValue(new Option(flags).attributeName()) !== undefined;
    if (!isWritten) parser.error(`error: required option '${flags}' not specified`);
  }
}

/** The words that call a command. */
function pathOf(parser: Parser): string {
  const { parent } = parser;
  return parent === null ? parser.name() : `${pathOf(parent)} ${parser.name()}`;
}

/** Sub-commands of other daemons for what this program does by default. */
const STARTING: ReadonlySet<string> = new Set(["start", "run", "serve"]);

/** Refuses unknown commands of a program with a default action, which would take them for arguments. */
function refuseUnknownCommands(parser: Parser, names: readonly string[]): void {
  parser.helpCommand("help [command]").allowExcessArguments();
  parser.hook("preAction", (_, asked) => {
    const [unknown] = asked === parser ? parser.args : [];
    if (unknown === undefined) return;
    const flag = `--${unknown}`;
    const isFlag = parser.options.some(({ long }) => long === flag);
    const [closest] = isFlag ? [flag] : closeMatches(unknown, names, 1);
    const meant = closest === undefined ? "" : `\n(Did you mean ${closest}?)`;
    const hint = STARTING.has(unknown) ? `\n(${parser.name()} without a command does that)` : meant;
    parser.error(`error: unknown command '${unknown}'${hint}`);
  });
}

/** Passes everything on, including --help; `agtpd --config F doctor` means `agtpd doctor --config F`. */
function addProgram(parser: Parser, below: SubProgram, terminal: Terminal, choose: Choose): void {
  const { name, description, load } = below;
  parser.configureHelp({
    optionDescription: describeOption,
    subcommandTerm: (command) => command.name(),
  });
  parser
    .command(`${name} [args...]`, { hidden: description === undefined })
    .description(description ?? "")
    .usage("...")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action((args: readonly string[]) => {
      const all = [...writtenOptions(parser), ...args];
      const run = async (): Promise<number> => runProgram(await load(), all, terminal);
      choose({ asksForJson: false, run });
    });
}

/** The options that were given, in command-line form. */
function writtenOptions(parser: Parser): readonly string[] {
  const written = parser.options.filter(
    (option) => parser.getOptionValueSource(option.attributeName()) === "cli",
  );
  return written.flatMap((option) => {
    const value: unknown = parser.getOptionValue(option.attributeName());
    const flag = option.long ?? option.flags;
    if (value === true) return [flag];
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.flatMap((one) => [flag, String(one)]);
  });
}

function readLine(parser: Parser): object {
  const args = parser.registeredArguments.map((argument, index) => {
    return [camelCase(argument.name()), parser.processedArgs[index]] as const;
  });
  const written = args.filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(written), ...parser.opts() };
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function createOption(flags: string, details: OptionDetails): Option {
  const { help, choices, parse } = details;
  const option = new Option(flags, help);
  if (choices !== undefined) option.choices(choices);
  const isPath = /<(?:file|dir)>$/.test(flags);
  if (parse !== undefined) option.argParser(parse);
  else if (isPath) option.argParser(readPath);
  if (details.isRepeated) {
    const read = isPath ? readPath : (text: string) => text;
    option.argParser((text, earlier: readonly string[]) => [...earlier, read(text)]).default([]);
  }
  if (details.isJoined) {
    option.argParser((text, earlier?: string) => [earlier, text].filter(Boolean).join(","));
  }
  if (details.default !== undefined) option.default(details.default);
  return option;
}

/** An empty path comes from an unset shell variable, so it is refused. */
function readPath(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("it is empty, and a path is expected");
}

const help = new Help();

/** Describes a default as on a command line: numbers without quotes, and no empty lists. */
function describeOption(option: Option): string {
  const { defaultValue } = option;
  const isEmpty = Array.isArray(defaultValue) && defaultValue.length === 0;
  const isNumber = typeof defaultValue === "string" && /^\d+$/.test(defaultValue);
  if (!isEmpty && !isNumber) return help.optionDescription(option);
  const value = isEmpty ? undefined : Number(defaultValue);
  const shown: Option = Object.create(option, { defaultValue: { value } });
  return help.optionDescription(shown);
}
