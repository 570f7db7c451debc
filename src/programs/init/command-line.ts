/**
 * The command line of `agtpd init`, before anything is asked or written. Answers with options, or
 * with the exit code when nothing is left to do.
 */
import { type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";
import { DEFAULT_AGENT, DEFAULT_PORT } from "./answers.ts";

/** The options as written. */
export interface InitCommandLine {
  readonly kind: "init";
  readonly directory: string;
  readonly serverId?: string;
  readonly operator?: string;
  readonly contact?: string;
  /** False: none is wanted. */
  readonly agent?: string | false;
  readonly port?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
Three questions are asked on a terminal; what a flag says is not asked, and with --yes nothing is.
Without a terminal, what no flag says is assumed, and told.

Examples:
  agtpd init shop
  agtpd init shop --yes
  agtpd init shop --server-id agents.acme.example --operator "Acme Retail" --agent lauren
  agtpd init shop --yes --no-agent --port 4490

Exit codes: 0 made, 2 nothing was written.`;

/** Reads the arguments behind the command's name. */
export function parseCommandLine(
  args: readonly string[],
  terminal: Pick<Terminal, "out" | "err">,
): InitCommandLine | CommandLineEnd {
  const command = createProgram("agtpd init", terminal)
    .description("Makes a new deployment that starts at once, in a directory that is empty or new.")
    .argument("<dir>", "where; never one that has something in it")
    // The last of two long names is the one that options are read by.
    .option("--name, --server-id <id>", "how agents know the server; default: of the directory")
    .option("--operator <name>", "who runs it")
    .option("--contact <text>", "where to reach them, such as an e-mail address")
    .option("--agent <name>", `a first agent, with Genesis and keys; default: ${DEFAULT_AGENT}`)
    .option("--no-agent", "no agent")
    .option("--port <number>", `port to listen on, on loopback; default: ${DEFAULT_PORT}`)
    .option("-y, --yes", "ask nothing")
    .option("--json", "print what was made as JSON")
    .addHelpText("after", EXAMPLES);
  const end = readArguments(command, args);
  if (end !== undefined) return end;
  const [directory = ""] = command.args;
  // Beside --agent and --no-agent, commander takes true for what was not written.
  const { agent, ...options } = command.opts<Omit<InitCommandLine, "kind" | "directory">>();
  return {
    kind: "init",
    directory,
    ...options,
    ...(typeof agent === "string" || agent === false ? { agent } : {}),
  };
}
