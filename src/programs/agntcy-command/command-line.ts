/**
 * The command line of `agtp-agntcy`: its two commands and what may be written behind them. Answers
 * with options, or with the exit code when nothing is left to do.
 */
import { type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";

/** `agtp-agntcy validate` */
export interface ValidateLine {
  readonly kind: "validate";
  readonly manifest: string;
  readonly dependencies?: boolean;
  readonly json?: boolean;
}

/** `agtp-agntcy export` */
export interface ExportLine {
  readonly kind: "export";
  /** Its name, its Agent-ID, or the path that it is served on. */
  readonly agent: string;
  readonly config: string;
  /** Undefined: standard output. */
  readonly output?: string;
  readonly upstream?: boolean;
  readonly force?: boolean;
}

const EXAMPLES = `
Examples:
  agtp-agntcy validate agents/agntcy/mailcomposer.json
  agtp-agntcy validate manifest.json --dependencies --json
  agtp-agntcy export org.agntcy.mailcomposer -o mailcomposer.record.json

Exit codes: 0 done, 1 the manifest is not valid or there is no such agent, 2 it could not be asked.`;

/** Reads the arguments behind the program's name. */
export function parseCommandLine(
  args: readonly string[],
  terminal: Pick<Terminal, "out" | "err">,
): ValidateLine | ExportLine | CommandLineEnd {
  let taken: ValidateLine | ExportLine | undefined;
  const program = createProgram("agtp-agntcy", terminal)
    .description("Checks AGNTCY agent manifests, and writes OASF records of hosted agents.")
    .addHelpText("after", EXAMPLES);
  program
    .command("validate")
    .description("Checks a manifest, in any of the shapes that are in use.")
    .argument("<manifest>", "the manifest, JSON")
    .option("--dependencies", "check what it depends on as well: manifests beside it, variables")
    .option("--json", "print JSON")
    .allowExcessArguments(false)
    .action((manifest: string, options: Omit<ValidateLine, "kind" | "manifest">) => {
      taken = { kind: "validate", manifest, ...options };
    });
  program
    .command("export")
    .description("Writes the OASF record of an agent that a deployment hosts.")
    .argument("<agent>", "its name or Agent-ID, or the path that it is served on")
    .option("--config <file>", "configuration of the deployment", "agtp-server.toml")
    .option("-o, --output <file>", "where the record goes; default: standard output")
    .option("--upstream", "show the ACP servers behind the agent in its deployment options")
    .option("--force", "replace a file that is there")
    .allowExcessArguments(false)
    .action((agent: string, options: Omit<ExportLine, "kind" | "agent">) => {
      taken = { kind: "export", agent, ...options };
    });
  const end = readArguments(program, args);
  if (end !== undefined) return end;
  return taken ?? { kind: "end", exitCode: 2 };
}
