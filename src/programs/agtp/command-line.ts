/**
 * The command line of `agtp`: what may be written, and what it means before anything is read or
 * asked. Answers with options, or with the exit code when there is nothing left to do.
 */
import type { Command } from "commander";
import { append, type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The options as written. */
export interface CommandLine {
  readonly kind: "command-line";
  readonly uri: string;
  readonly method?: string;
  readonly path?: string;
  readonly data?: string;
  readonly header: readonly string[];
  readonly agentId?: string;
  readonly ownerId?: string;
  readonly scope?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly include?: boolean;
  readonly json?: boolean;
  readonly envelope?: boolean;
  /** The response is shown as a list of escalations. */
  readonly isEscalationList?: boolean;
}

const EXAMPLES = `
Examples:
  agtp agtp://localhost                          the server's manifest
  agtp agtp://localhost DISCOVER /methods        its methods
  agtp agtp://localhost QUERY /orders/7 --agent-id 4f…
  agtp agtp://localhost/orders/7 CANCEL -d '{"reason":"late"}'

For operators (--help says more):
  agtp escalations agtp://localhost              what waits for a decision
  agtp confirm agtp://localhost ID --decision accepted

Exit codes: 0 for 200, 202, 204, 261 and 263; 1 for any other status; 2 when there was no response.`;

/** Reads the arguments behind the program's name. */
export function parseCommandLine(
  args: readonly string[],
  terminal: Pick<Terminal, "out" | "err">,
): CommandLine | CommandLineEnd {
  const command = withExchangeOptions(createProgram("agtp", terminal))
    .description("Sends one AGTP request and prints the response.")
    .argument("<uri>", "agtp://HOST[:PORT][/PATH], agtp://HOST/agents/NAME or agtp://AGENT_ID@HOST")
    .argument("[method]", "default DISCOVER; DESCRIBE for a URI that names an agent")
    .argument("[path]", 'default: the URI\'s, else "/"; may have a query')
    .option("-d, --data <json>", "parameters: JSON, @FILE, or - for standard input")
    .option("--envelope", "send the parameters in the AGTP envelope")
    .addHelpText("after", EXAMPLES);
  const end = readArguments(command, args);
  if (end !== undefined) return end;
  const [uri = "", method, path] = command.args;
  return {
    kind: "command-line",
    uri,
    ...(method === undefined ? {} : { method }),
    ...(path === undefined ? {} : { path }),
    ...command.opts<Omit<CommandLine, "kind" | "uri">>(),
  };
}

/** What every command knows: who asks, whom to trust, and what to print. */
export function withExchangeOptions(command: Command): Command {
  return command
    .option("-H, --header <field>", "'Name: value'; may be repeated", append, [])
    .option("--agent-id <id>", "Agent-ID: who asks")
    .option("--owner-id <id>", "Owner-ID: for whom")
    .option("--scope <scopes>", "Authority-Scope: a:b,c:d")
    .option("--cert <file>", "certificate of the agent, PEM")
    .option("--key <file>", "its key, PEM")
    .option("--ca <file>", "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem")
    .option("--insecure", "trust any certificate")
    .option("-i, --include", "print the status line and header fields too")
    .option("--json", "print {status, headers, body}");
}
