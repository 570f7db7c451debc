/**
 * The command line of `agtp-conformance`: what may be written, before anything is read or asked.
 * Answers with options, or with the exit code when there is nothing left to do.
 */
import type { Command } from "commander";
import { append, type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The options as written. */
export interface ConformanceLine {
  readonly kind: "command-line";
  /** Undefined only with --list. */
  readonly uri?: string;
  readonly agentId?: string;
  readonly ownerId?: string;
  readonly scope?: string;
  readonly otherAgentId?: string;
  readonly header: readonly string[];
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly fingerprint?: string;
  readonly allowStateChanges?: boolean;
  readonly strict?: boolean;
  readonly proposal?: string;
  readonly catalog?: string;
  readonly cases?: string;
  readonly only: readonly string[];
  readonly clause: readonly string[];
  readonly case: readonly string[];
  readonly knownFailing?: string;
  readonly list?: boolean;
  readonly json?: boolean;
  readonly junit?: string;
  readonly timeout: string;
  readonly totalTimeout: string;
}

const HELP = `
Nothing that changes the server's state is asked without --allow-state-changes; endpoints are tried
only where their impact is "informational".

Examples:
  agtp-conformance agtp://localhost
  agtp-conformance agtp://agents.acme.example --agent-id 4f… --scope booking:read,booking:room
  agtp-conformance agtp://localhost --only 5.1 --only 13.1.4
  agtp-conformance agtp://localhost --agent-id 4f… --allow-state-changes --junit conformance.xml

Exit codes: 0 nothing failed that is not known to; 1 a case failed; 2 it could not be asked.`;

/** Reads the arguments behind the program's name. */
export function parseCommandLine(
  args: readonly string[],
  terminal: Pick<Terminal, "out" | "err">,
): ConformanceLine | CommandLineEnd {
  const command = createProgram("agtp-conformance", terminal)
    .description("Runs the conformance cases of AGTP-API against a server.")
    .argument("[uri]", "agtp://HOST[:PORT]")
    .addHelpText("after", HELP);
  for (const add of [addIdentity, addTrust, addChoice, addReport]) add(command);
  const end = readArguments(command, args);
  if (end !== undefined) return end;
  const [uri] = command.args;
  return {
    kind: "command-line",
    ...(uri === undefined ? {} : { uri }),
    ...command.opts<Omit<ConformanceLine, "kind" | "uri">>(),
  };
}

function addIdentity(command: Command): void {
  command
    .option("--agent-id <id>", "an agent that the server knows; without it little can be asked")
    .option("--owner-id <id>", "Owner-ID, sent with it")
    .option("--scope <scopes>", "the scopes that the agent holds, sent as Authority-Scope: a:b,c:d")
    .option("--other-agent-id <id>", "a second agent, for what must not pass between agents")
    .option(
      "-H, --header <field>",
      "'Name: value' with every request; may be repeated",
      append,
      [],
    );
}

function addTrust(command: Command): void {
  command
    .option("--cert <file>", "certificate of the agent, PEM")
    .option("--key <file>", "its key, PEM")
    .option("--ca <file>", "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem")
    .option("--fingerprint <sha256>", "trust the certificate with this SHA-256, and no other")
    .option("--insecure", "trust any certificate");
}

function addChoice(command: Command): void {
  command
    .option("--allow-state-changes", "run the cases that change state as well")
    .option("--strict", "a SHOULD that is not met fails, too")
    .option("--proposal <file>", "an endpoint the server can make: {endpoint, input}, JSON")
    .option("--catalog <file>", "the catalog that the server uses; default: the one shipped")
    .option("--cases <folder>", "other cases than those shipped")
    .option("--only <section>", "a section or requirement: 5.1, 13.1.4; repeatable", append, [])
    .option("--clause <section>", "the same", append, [])
    .option("--case <name>", "a case by its name; repeatable", append, [])
    .option("--timeout <seconds>", "for one case", "10")
    .option("--total-timeout <seconds>", "for all of them", "300");
}

function addReport(command: Command): void {
  command
    .option("--known-failing <file>", "cases that may fail, a line each: NAME: reason")
    .option("--list", "print the cases, and ask nothing")
    .option("--json", "print JSON")
    .option("--junit <file>", "write JUnit XML to a file as well");
}
