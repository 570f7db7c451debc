/**
 * The command line of `agtp-keys`: its sub-commands and what may be written behind them, before
 * anything is read or made. Answers with options, or with the exit code when nothing is left to do.
 */
import type { Command } from "commander";
import { append, type CommandLineEnd, createProgram, readArguments } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";
import type {
  AgentCaLine,
  AgentCertLine,
  GenesisLine,
  KeysCommandLine,
  RepairLine,
  SigningLine,
  VerifyLine,
} from "./command-options.ts";

type Take = (line: KeysCommandLine) => void;

const EXAMPLES = `
Examples:
  agtp-keys signing
  agtp-keys genesis --name lauren --principal "Acme Retail" --owner-id acme --issuer-key .agtp/keys/signing.pem
  agtp-keys agent-ca
  agtp-keys agent-cert --ca-cert .agtp/keys/agents-ca.pem --ca-key .agtp/keys/agents-ca-key.pem --genesis agents/lauren.genesis.json
  agtp-keys verify agents/lauren.genesis.json agents/lauren.agent.json
  agtp-keys verify --chain .agtp/journal --agent 4f… --key .agtp/keys/signing.pem
  agtp-keys verify --chain backup/journal --agent 4f… --head agtp://agents.acme.example
  agtp-keys repair --config agtp-server.toml --reason "the disk of host a was lost"

Exit codes: 0 done, 1 a check failed or the answer is no, 2 it could not be asked.`;

/** Reads the arguments behind the program's name. */
export function parseCommandLine(
  args: readonly string[],
  terminal: Pick<Terminal, "out" | "err">,
): KeysCommandLine | CommandLineEnd {
  let taken: KeysCommandLine | undefined;
  const program = createProgram("agtp-keys", terminal)
    .description("Makes and verifies keys, identities, certificates and attribution chains.")
    .addHelpText("after", EXAMPLES);
  const take: Take = (line) => {
    taken = line;
  };
  for (const add of [addSigning, addGenesis, addAgentCa, addAgentCert, addVerify, addRepair]) {
    add(program, take);
  }
  const end = readArguments(program, args);
  if (end !== undefined) return end;
  return taken ?? { kind: "end", exitCode: 2 };
}

function addSigning(program: Command, take: Take): void {
  written(program.command("signing"))
    .description("Makes an Ed25519 signing key.")
    .option("--out <file>", "where it is kept", ".agtp/keys/signing.pem")
    .action((options: Omit<SigningLine, "kind">) => take({ kind: "signing", ...options }));
}

function addGenesis(program: Command, take: Take): void {
  written(program.command("genesis"))
    .description("Makes an agent's Genesis and identity document, signed by an issuer.")
    .requiredOption("--name <name>", "the agent's name, and that of its files")
    .requiredOption("--principal <name>", "for whom it acts")
    .requiredOption("--owner-id <id>", "Owner-ID: who answers for it")
    .requiredOption("--issuer-key <file>", "Ed25519 private key of the issuer, PEM")
    .option("--principal-id <id>", "stable id of the principal; default: the Owner-ID")
    .option("--issuer <url>", "who the issuer is; default: a URN of its key")
    .option("--description <text>", "what it does")
    .option("--scope <scopes>", "scopes that it holds: a:b,c:d")
    .option("--archetype <word>", "assistant, analyst, executor, orchestrator or monitor")
    .option("--governance-zone <zone>", "where it may act", "zone:default")
    .option("--trust-tier <tier>", "1, 2 or 3", "2")
    .option("--verification-path <path>", "how its identity was verified")
    .option("--agent-key [file]", "a key of its own, made if need be; default .agtp/keys/NAME.pem")
    .option("--out-dir <dir>", "where the two files go", "agents")
    .action((options: Omit<GenesisLine, "kind">) => take({ kind: "genesis", ...options }));
}

function addAgentCa(program: Command, take: Take): void {
  written(program.command("agent-ca"))
    .description("Makes a CA for Agent Certificates: [tls] client_ca.")
    .option("--name <name>", "its common name", "AGTP agents")
    .option("--days <days>", "how long it is valid", "3650")
    .option("--out-dir <dir>", "where agents-ca.pem and agents-ca-key.pem go", ".agtp/keys")
    .action((options: Omit<AgentCaLine, "kind">) => take({ kind: "agent-ca", ...options }));
}

function addAgentCert(program: Command, take: Take): void {
  written(program.command("agent-cert"))
    .description("Issues an Agent Certificate; what is not written is taken from the Genesis.")
    .requiredOption("--ca-cert <file>", "the CA's certificate, PEM")
    .requiredOption("--ca-key <file>", "the CA's private key, PEM")
    .option("--genesis <file>", "the agent's Genesis")
    .option("--agent-id <id>", "the agent's canonical id, without a Genesis")
    .option("--name <name>", "common name, and that of the files")
    .option("--organization <name>", "who answers for the agent; default: the Owner-ID")
    .option("--owner-id <id>", "Owner-ID")
    .option("--scope <scopes>", 'scopes that the agent is committed to: a:b,c:d; "" for none')
    .option("--governance-zone <zone>", "where it may act")
    .option("--trust-tier <tier>", "1, 2 or 3")
    .option("--archetype <word>", "what kind of agent it is")
    .option("--days <days>", "how long it is valid, 90 at most", "90")
    .option("--public-key <file>", "certify this key, PEM, instead of making one")
    .option("--key-kind <kind>", "of the key that is made: p256 or ed25519", "p256")
    .option("--out-dir <dir>", "where NAME.cert.pem and NAME.key.pem go", ".agtp/keys")
    .action((options: Omit<AgentCertLine, "kind">) => take({ kind: "agent-cert", ...options }));
}

function addVerify(program: Command, take: Take): void {
  reported(program.command("verify"))
    .description("Verifies files, recognised by their content, or an attribution chain.")
    .argument("[files...]", "Genesis, identity document, certificate, key, record or manifest")
    .option(
      "--key <key>",
      "what records and manifests are signed with: file or base64url",
      append,
      [],
    )
    .option(
      "--issuer-key <key>",
      "an issuer that is trusted: file or base64url; repeatable",
      append,
      [],
    )
    .option("--ca <file>", "authorities to trust, PEM")
    .option("--chain <where>", "a journal directory, or agtp://HOST to ask by INSPECT")
    .option("--agent <id>", "whose chain")
    .option(
      "--head <audit-id>",
      "a record that was in the chain, or agtp://HOST to ask for the newest: says where the chain was cut",
    )
    .option("--agent-id <id>", "Agent-ID: who asks; default: the agent itself")
    .option("--client-cert <file>", "certificate of who asks, PEM")
    .option("--client-key <file>", "its key, PEM")
    .option("--insecure", "trust any certificate of the server")
    .action((files: readonly string[], options: Omit<VerifyLine, "kind" | "files">) =>
      take({ kind: "verify", files, ...options }),
    );
}

function addRepair(program: Command, take: Take): void {
  reported(program.command("repair"))
    .description(
      "Goes on with a journal that lost records: each chain says which, in a new record.",
    )
    .option("--config <file>", "configuration of the deployment", "agtp-server.toml")
    .option("--reason <text>", "why the loss is accepted; stands in the records")
    .action((options: Omit<RepairLine, "kind">) => take({ kind: "repair", ...options }));
}

function written(command: Command): Command {
  return reported(command).option("--force", "replace files that are there");
}

function reported(command: Command): Command {
  return command.option("--json", "print JSON").allowExcessArguments(false);
}
