/**
 * The command line of `agtp-openapi`: its two commands and what may be written behind them. Answers
 * with options, or with the exit code when nothing is left to do.
 */
import type { Command } from "commander";
import { type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";

/** `agtp-openapi import` */
export interface ImportLine {
  readonly kind: "import";
  /** A file, or "-" for standard input. */
  readonly spec: string;
  readonly output: string;
  readonly baseUrl?: string;
  readonly strict?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** `agtp-openapi export` */
export interface ExportLine {
  readonly kind: "export";
  /** A deployment directory or an `agtp://` URI; undefined: what `--config` says. */
  readonly source?: string;
  readonly config?: string;
  /** Undefined: standard output. */
  readonly output?: string;
  readonly force?: boolean;
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly cert?: string;
  readonly key?: string;
  readonly agentId?: string;
}

const EXAMPLES = `
Examples:
  agtp-openapi import petstore.yaml --output petstore
  agtp-openapi import internal.json --output billing --base-url https://billing.acme.example/v1
  agtp-openapi export --config petstore/agtp-server.toml -o petstore.openapi.json
  agtp-openapi export agtp://localhost

Exit codes: 0 done, 1 refused, or --strict and there is more to review than usual, 2 it could not be asked.`;

/** Reads the arguments behind the program's name. */
export function parseCommandLine(
  args: readonly string[],
  terminal: Pick<Terminal, "out" | "err">,
): ImportLine | ExportLine | CommandLineEnd {
  let taken: ImportLine | ExportLine | undefined;
  const program = createProgram("agtp-openapi", terminal)
    .description("OpenAPI documents as AGTP endpoints, and AGTP endpoints as OpenAPI documents.")
    .addHelpText("after", EXAMPLES);
  addImport(program, (line) => {
    taken = line;
  });
  addExport(program, (line) => {
    taken = line;
  });
  const end = readArguments(program, args);
  if (end !== undefined) return end;
  return taken ?? { kind: "end", exitCode: 2 };
}

function addImport(program: Command, take: (line: ImportLine) => void): void {
  program
    .command("import")
    .description("Drafts a deployment from an OpenAPI 3.0 or 3.1 document, JSON or YAML.")
    .argument("<spec>", "the document: a file, or - for standard input")
    .requiredOption("-o, --output <dir>", "the deployment directory to write")
    .option("--base-url <url>", "where the API is; default: the document's servers")
    .option("--strict", "exit 1 where more than impact and outcome has to be reviewed")
    .option("--force", "replace files that are there")
    .option("--json", "print what was made as JSON")
    .allowExcessArguments(false)
    .action((spec: string, options: Omit<ImportLine, "kind" | "spec">) =>
      take({ kind: "import", spec, ...options }),
    );
}

function addExport(program: Command, take: (line: ExportLine) => void): void {
  program
    .command("export")
    .description("Writes the endpoints of a deployment, or of a server, as OpenAPI 3.1.")
    .argument("[source]", "a deployment directory, or agtp://HOST[:PORT]")
    .option("--config <file>", "configuration of the deployment; default agtp-server.toml")
    .option("-o, --output <file>", "where the document goes; default: standard output")
    .option("--force", "replace a file that is there")
    .option("--agent-id <id>", "Agent-ID: who asks a server")
    .option("--ca <file>", "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem")
    .option("--insecure", "trust any certificate")
    .option("--cert <file>", "certificate of who asks, PEM")
    .option("--key <file>", "its key, PEM")
    .allowExcessArguments(false)
    .action((source: string | undefined, options: Omit<ExportLine, "kind" | "source">) =>
      take({ kind: "export", ...(source === undefined ? {} : { source }), ...options }),
    );
}
