/** Programs as completions see them: every command by its words, with what may follow them. */
import type { Command } from "../shell/command.ts";

/** An option as one writes it. */
export interface CompletedOption {
  /** `--config`, `-o`. */
  readonly flags: readonly string[];
  readonly help: string;
  /** A value follows. */
  readonly hasValue: boolean;
  /** The only values that it may have. */
  readonly choices: readonly string[];
}

/** A program or a command below one. */
export interface CompletedCommand {
  /** `agtp-keys agent-cert` */
  readonly words: string;
  readonly options: readonly CompletedOption[];
  readonly commands: readonly { readonly name: string; readonly help: string }[];
}

const ALWAYS: readonly CompletedOption[] = [
  { flags: ["--help", "-h"], help: "display help for command", hasValue: false, choices: [] },
];

/** The program and all that is below it; programs below are loaded for it. */
export async function completedCommands(
  program: Command,
  words: string = program.name,
): Promise<readonly CompletedCommand[]> {
  const below: (readonly [string, string, Command])[] = (program.commands ?? []).map((one) => {
    return [one.name, one.description, one];
  });
  for (const { name, description, load } of program.programs ?? []) {
    const loaded = await load();
    below.push([name, description ?? loaded.description, loaded]);
  }
  const commands = below.map(([name, help]) => ({ name, help }));
  const deeper: CompletedCommand[] = [];
  for (const [name, , one] of below) {
    deeper.push(...(await completedCommands(one, `${words} ${name}`)));
  }
  return [{ words, options: [...completedOptions(program), ...ALWAYS], commands }, ...deeper];
}

function completedOptions({ options = {} }: Command): readonly CompletedOption[] {
  return Object.entries(options).map(([written, details]) => {
    const { help, choices = [] } = typeof details === "string" ? { help: details } : details;
    return {
      flags: written
        .replace(/[<[].*$/, "")
        .trim()
        .split(/,? +/),
      help,
      hasValue: /[<[]/.test(written),
      choices,
    };
  });
}
