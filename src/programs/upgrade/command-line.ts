/**
 * The command line of `agtp-catalog-diff`, before anything is read. Answers with options, or with
 * the exit code when nothing is left to do.
 */
import { type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The options as written. */
export interface DiffCommandLine {
  readonly kind: "diff";
  readonly older: string;
  readonly newer: string;
  readonly againstDeployment?: string;
  readonly config: string;
  readonly json?: boolean;
  readonly fix?: boolean;
  readonly dryRun?: boolean;
}

const EXAMPLES = `
Examples:
  agtp-catalog-diff catalog/methods.json methods-2.0.0.json
  agtp-catalog-diff catalog/methods.json methods-2.0.0.json --against-deployment .
  agtp-catalog-diff catalog/methods.json methods-2.0.0.json --against-deployment . --fix --dry-run

Exit codes: 0 nothing breaks, 1 something in the deployment breaks, 2 a file could not be read.`;

/** Reads the arguments behind the program's name. */
export function parseCommandLine(
  args: readonly string[],
  terminal: Pick<Terminal, "out" | "err">,
): DiffCommandLine | CommandLineEnd {
  const command = createProgram("agtp-catalog-diff", terminal)
    .description("Compares two versions of the method catalog, and says what an upgrade breaks.")
    .argument("<old>", "the catalog in use")
    .argument("<new>", "the catalog to come")
    .option("--against-deployment <dir>", "the deployment that is to be upgraded")
    .option("--config <file>", "its configuration, in that directory", "agtp-server.toml")
    .option("--json", "print JSON")
    .option("--fix", "write the successor where one is named, and look again")
    .option("--dry-run", "show what --fix would write, and write nothing")
    .addHelpText("after", EXAMPLES);
  const end = readArguments(command, args);
  if (end !== undefined) return end;
  const [older = "", newer = ""] = command.args;
  const line: DiffCommandLine = {
    kind: "diff",
    older,
    newer,
    ...command.opts<Omit<DiffCommandLine, "kind" | "older" | "newer">>(),
  };
  if (line.againstDeployment === undefined && (line.fix || line.dryRun)) {
    terminal.err.write("error: --fix and --dry-run need --against-deployment\n");
    return { kind: "end", exitCode: 2 };
  }
  return line;
}
