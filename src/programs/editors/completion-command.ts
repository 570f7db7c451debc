/** `agtpd completion`: shell completions for every program. */
import { type Command, command, type OfferedWords, usage } from "../shell/command.ts";

const NOTES = `
Examples:
  source <(agtpd completion bash)                 in ~/.bashrc
  source <(agtpd completion zsh)                  in ~/.zshrc, behind compinit
  agtpd completion fish > ~/.config/fish/completions/agtpd.fish`;

/** Prints the script; `programs` are loaded for it. */
export function completionCommand(programs: () => Promise<readonly Command[]>): Command {
  return command({
    name: "agtpd completion",
    description: "Prints completions of agtpd and the programs beside it.",
    args: { "<shell>": { help: SHELLS.join(" | "), words: SHELLS } },
    notes: NOTES,
    run: async ({ shell }, { out }) => {
      const known = SHELLS.find((one) => one === shell);
      if (known === undefined) {
        throw usage(`no completions for ${JSON.stringify(shell)}: ${SHELLS.join(", ")}`);
      }
      const commands = [];
      for (const program of await programs()) commands.push(...(await completedCommands(program)));
      out.write(SCRIPTS[known](commands));
      return true;
    },
  });
}

const SHELLS = ["bash", "zsh", "fish"] as const;
const SCRIPTS: Readonly<
  Record<(typeof SHELLS)[number], (commands: readonly CompletedCommand[]) => string>
> = {
  bash: (commands) =>
    `# source <(agtpd completion bash)\n${wordFunctions(commands)}${bashEnd(commands)}`,
  zsh: (commands) =>
    `#compdef ${programs(commands).join(" ")}\n# source <(agtpd completion zsh)\n${wordFunctions(commands)}${zshEnd(commands)}`,
  fish: fishScript,
};

function programs(commands: readonly CompletedCommand[]): readonly string[] {
  return commands.map(({ words }) => words).filter((words) => !words.includes(" "));
}

/** The functions that bash and zsh share: the words of a command, and the values of an option. */
function wordFunctions(commands: readonly CompletedCommand[]): string {
  const words = commands.map(({ words: path, options, commands: below, args }) => {
    const offered = [
      ...below.map(({ name }) => name),
      ...args.filter((one) => typeof one !== "string").flat(),
      ...options.flatMap(({ flags }) => flags),
    ];
    const local = args.filter((one) => typeof one === "string").map((one) => `; ${LOCAL[one]}`);
    return `    ${quoted(path)}) echo ${quoted(offered.join(" "))}${local.join("")} ;;`;
  });
  const values = commands.flatMap(({ words: path, options }) => {
    return options
      .filter(({ hasValue }) => hasValue)
      .map((option) => {
        const { choices } = option;
        const print =
          typeof choices === "string" ? LOCAL[choices] : `echo ${quoted(choices.join(" "))}`;
        return `    ${patterns(path, option)}) ${print}; return 0 ;;`;
      });
  });
  return `_agtpd_words() {
  case "$1" in
${words.join("\n")}
    *) return 1 ;;
  esac
}
# Succeeds where a value is expected, and prints those that there are.
_agtpd_values() {
  case "$1 $2" in
${values.join("\n")}
  esac
  return 1
}
# The command that the words before the cursor name.
_agtpd_command() {
  local found="$1" last="" word; shift
  for word in "$@"; do
    if [ -n "$last" ] && _agtpd_values "$found" "$last" >/dev/null; then last=""; continue; fi
    last="$word"
    case "$word" in -*) continue ;; esac
    if _agtpd_words "$found $word" >/dev/null; then found="$found $word"; fi
  done
  echo "$found"
}
`;
}

/**
 * Commands that print names from the deployment in the current directory, limited to words without
 * special meaning in any shell. Others may have written its files, and bash executes `$(…)` in the
 * words that it is given. Adjacent braces are avoided, because `find` would replace them.
 */
const LOCAL: Readonly<Record<Extract<OfferedWords, string>, string>> = {
  agents: printed("agents", "*.agent.json", '"agent_id": *"([0-9a-f]{64})"'),
  endpoints: printed("endpoints", "*.toml", '^(method|path) *= *"([A-Za-z0-9/}{._%:@+=-]*)"', 2),
};

function printed(directory: string, files: string, pattern: string, group = 1): string {
  const script = `s#^.*${pattern.replace("^", "")}.*$#\\${group}#p`;
  return `find ${directory} -name '${files}' -exec sed -nE '${script}' {} + 2>/dev/null | sort -u`;
}

function patterns(path: string, { flags }: CompletedOption): string {
  return flags.map((flag) => quoted(`${path} ${flag}`)).join("|");
}

function bashEnd(commands: readonly CompletedCommand[]): string {
  return `_agtpd_complete() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path values
  path="$(_agtpd_command "\${COMP_WORDS[0]##*/}" "\${COMP_WORDS[@]:1:COMP_CWORD-1}")"
  # Where there is no word, bash offers the files that there are.
  values="$(_agtpd_values "$path" "$before")" || values="$(_agtpd_words "$path")"
  COMPREPLY=($(compgen -W "$values" -- "$current"))
}
complete -o default -F _agtpd_complete ${programs(commands).join(" ")}
`;
}

function zshEnd(commands: readonly CompletedCommand[]): string {
  return `_agtpd_complete() {
  local command values before="\${words[CURRENT-1]}"
  command="$(_agtpd_command "\${words[1]:t}" "\${(@)words[2,CURRENT-1]}")"
  if values="$(_agtpd_values "$command" "$before")"; then
    if [ -n "$values" ]; then compadd -- \${=values}; else _files; fi
  else
    compadd -- \${=$(_agtpd_words "$command")}
    _files
  fi
}
compdef _agtpd_complete ${programs(commands).join(" ")}
`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ words, options, commands: below, args }) => {
    const [program = "", ...path] = words.split(" ");
    const start = `complete -c ${program}`;
    // Shown before the program's first command, and after each word that leads to it.
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const unseen =
      below.length === 0
        ? []
        : [`not __fish_seen_subcommand_from ${below.map(({ name }) => name).join(" ")}`];
    const conditions = [...seen, ...unseen].join("; and ");
    const when = conditions === "" ? "" : ` -n ${quoted(conditions)}`;
    return [
      ...below.map(({ name, help }) => `${start}${when} -a ${quoted(name)} -d ${quoted(help)}`),
      ...args.map((one) => `${start}${when} -a ${fishWords(one)}`),
      ...options.map((option) => `${start}${when}${fishOption(option)}`),
    ];
  });
  return `# agtpd completion fish | source\n${lines.join("\n")}\n`;
}

function fishOption({ flags, help, hasValue, choices }: CompletedOption): string {
  const names = flags.map((flag) => {
    return flag.startsWith("--") ? ` -l ${flag.slice(2)}` : ` -s ${flag.slice(1)}`;
  });
  const value = !hasValue ? "" : choices.length === 0 ? " -r" : ` -x -a ${fishWords(choices)}`;
  return `${names.join("")}${value} -d ${quoted(help)}`;
}

/** Fish executes text in parentheses, so it is quoted. */
function fishWords(words: OfferedWords): string {
  return typeof words === "string"
    ? `"(${LOCAL[words].replaceAll(/["$\\]/g, "\\$&")})"`
    : quoted(words.join(" "));
}

/** Quotes a text as one word for fish; the texts for other shells contain no quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}

interface CompletedOption {
  /** `--config`, `-o`. */
  readonly flags: readonly string[];
  readonly help: string;
  /** True if a value follows. */
  readonly hasValue: boolean;
  readonly choices: OfferedWords;
}

/** A program or a command, as completions need it. */
export interface CompletedCommand {
  /** `agtp-keys agent-cert` */
  readonly words: string;
  readonly options: readonly CompletedOption[];
  readonly commands: readonly { readonly name: string; readonly help: string }[];
  /** Words offered for its arguments. */
  readonly args: readonly OfferedWords[];
}

const ALWAYS: readonly CompletedOption[] = [
  { flags: ["--help", "-h"], help: "display help for command", hasValue: false, choices: [] },
];

/**
 * The commands of a program with their words and options: the program itself and everything below
 * it; programs below are loaded for it.
 */
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
  const args = Object.values(program.args ?? {}).flatMap((one) =>
    typeof one === "string" ? [] : [one.words],
  );
  return [{ words, options: [...completedOptions(program), ...ALWAYS], commands, args }, ...deeper];
}

function completedOptions({ options = {} }: Command): readonly CompletedOption[] {
  return Object.entries(options).map(([written, details]) => {
    const { help, choices, words = [] } = typeof details === "string" ? { help: details } : details;
    return {
      flags: written
        .replace(/[<[].*$/, "")
        .trim()
        .split(/,? +/),
      help,
      hasValue: /[<[]/.test(written),
      choices: choices ?? words,
    };
  });
}
