/**
 * The command line of `agtp-manifest`, before anything is read or asked. Answers with options, or
 * with the exit code when nothing is left to do.
 */
import { append, type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The options as written. */
export interface ManifestCommandLine {
  readonly kind: "manifest";
  /** A file, or the URI of a server. */
  readonly source: string;
  readonly key: readonly string[];
  readonly catalog?: string;
  readonly previous?: string;
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly agentId?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  agtp-manifest agtp://localhost
  agtp-manifest agtp://agents.acme.example --key acme-signing.pem
  agtp-manifest manifest.json --catalog methods.json --previous manifest-of-yesterday.json

Exit codes: 0 no fault, 1 a fault or a refusal, 2 there was no manifest to be had.`;

/** Reads the arguments behind the program's name. */
export function parseCommandLine(
  args: readonly string[],
  terminal: Pick<Terminal, "out" | "err">,
): ManifestCommandLine | CommandLineEnd {
  const command = createProgram("agtp-manifest", terminal)
    .description("Checks a server manifest by every rule of AGTP-API, and verifies its signature.")
    .argument("<source>", "a file, or agtp://HOST[:PORT] to ask the server")
    .option(
      "--key <key>",
      "who should have signed: PEM, JWK, Genesis or identity document as a file, or base64url",
      append,
      [],
    )
    .option("--catalog <file>", "the method catalog that the manifest names")
    .option("--previous <file>", "an earlier revision of the manifest, to compare with")
    .option("--ca <file>", "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem")
    .option("--insecure", "trust any certificate")
    .option("--agent-id <id>", "Agent-ID: who asks; default: nobody")
    .option("--client-cert <file>", "certificate of who asks, PEM")
    .option("--client-key <file>", "its key, PEM")
    .option("--json", "print JSON")
    .addHelpText("after", EXAMPLES);
  const end = readArguments(command, args);
  if (end !== undefined) return end;
  const [source = ""] = command.args;
  return {
    kind: "manifest",
    source,
    ...command.opts<Omit<ManifestCommandLine, "kind" | "source">>(),
  };
}
