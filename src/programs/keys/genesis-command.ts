/**
 * `agtp-keys genesis`: makes the Genesis and the identity document of a new agent, signed by one
 * issuer. Documents that would not load are not written.   AGTP "Agent Genesis"
 */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { isError, type Problem } from "../../base/problem.ts";
import { makeKey } from "../../identity/certificate-writer.ts";
import { type Ed25519PublicKey, publicKeyOf } from "../../identity/ed25519.ts";
import { ARCHETYPES } from "../../identity/genesis.ts";
import {
  type AgentOptions,
  type IssuedAgent,
  issueAgent,
  USUAL_ZONE,
} from "../../identity/issue.ts";
import { keyId } from "../../identity/jws.ts";
import { DEFAULT_VERIFICATION_PATH } from "../../identity/trust-posture.ts";
import { type Command, command, type Options, usage } from "../shell/command.ts";
import { jsonText } from "../shell/print-json.ts";
import type { Terminal } from "../shell/terminal.ts";
import { type NewFile, writeFiles } from "../shell/write-files.ts";
import {
  MAKING_OPTIONS,
  printFacts,
  readChoice,
  readName,
  readScopes,
  readSigningKey,
  readTrustTier,
  readVerificationKey,
  TRUST_TIERS,
} from "./key-files.ts";

const OPTIONS = {
  ...MAKING_OPTIONS,
  "--name <name>": { help: "the agent's name, and that of its files", isRequired: true },
  "--principal <name>": { help: "for whom it acts", isRequired: true },
  "--owner-id <id>": { help: "Owner-ID: who answers for it", isRequired: true },
  "--issuer-key <file>": { help: "Ed25519 private key of the issuer, PEM", isRequired: true },
  "--principal-id <id>": "stable id of the principal; default: the Owner-ID",
  "--issuer <url>": "who the issuer is; default: a URN of its key",
  "--description <text>": "what it does",
  "--scope <scopes>": { help: "scopes that it holds: a:b,c:d", isJoined: true },
  "--archetype <word>": {
    help: "assistant, analyst, executor, orchestrator or monitor",
    words: ARCHETYPES,
  },
  "--governance-zone <zone>": { help: "where it may act", default: USUAL_ZONE },
  "--trust-tier <tier>": { help: "1, 2 or 3", default: "2", words: TRUST_TIERS },
  "--verification-path <path>": {
    help: "how its identity was verified",
    default: DEFAULT_VERIFICATION_PATH,
  },
  "--agent-key [file]": "a key of its own, made if need be; default .agtp/keys/NAME.pem",
  "--out-dir <dir>": { help: "where the two files go", default: "agents" },
} as const;

type GenesisLine = Options<typeof OPTIONS>;

/** Makes both documents, and a key for the agent if requested. */
export const genesisCommand: Command = command({
  name: "genesis",
  description: "Makes an agent's Genesis and identity document, signed by an issuer.",
  options: OPTIONS,
  run,
});

function run(line: GenesisLine, terminal: Terminal): undefined {
  const { force = false, json = false, outDir } = line;
  const name = readName(line.name);
  const issuerKey = readSigningKey(line.issuerKey, terminal);
  const agentKey = readAgentKey(line, name, terminal);
  const issued = issueAgent(readAgent(line, issuerKey, agentKey?.publicKey));
  refuseFaults(issued);
  const paths = {
    genesis: join(outDir, `${name}.genesis.json`),
    document: join(outDir, `${name}.agent.json`),
  };
  const files: readonly NewFile[] = [
    { path: paths.genesis, content: jsonText(issued.genesis), isSecret: false },
    { path: paths.document, content: jsonText(issued.document), isSecret: false },
    ...(agentKey?.created ?? []),
  ];
  writeFiles(terminal.directory, files, force);
  const facts = { agent_id: issued.agentId, ...paths, agent_key: agentKey?.path };
  printFacts({ ...facts, issuer_kid: kidOf(issuerKey) }, json, terminal);
}

function readAgent(
  line: GenesisLine,
  issuerKey: KeyObject,
  agentPublicKey: Ed25519PublicKey | undefined,
): AgentOptions {
  const { name, principal, ownerId, archetype } = line;
  return {
    name,
    principal,
    principalId: line.principalId ?? ownerId,
    ownerId,
    description: line.description ?? `${name}, an agent of ${principal}`,
    archetype:
      archetype === undefined ? undefined : readChoice("--archetype", archetype, ARCHETYPES),
    governanceZone: line.governanceZone,
    scopes: readScopes(line.scope) ?? [],
    trustTier: readTrustTier(line.trustTier),
    verificationPath: line.verificationPath,
    issuer: line.issuer ?? `urn:agtp:issuer:${kidOf(issuerKey)}`,
    issuerKey,
    agentPublicKey,
  };
}

interface AgentKey {
  readonly path: string;
  readonly publicKey: Ed25519PublicKey | undefined;
  /** Empty if the key already existed. */
  readonly created: readonly NewFile[];
}

/** Reads the agent's existing key, or makes one. */
function readAgentKey(
  { agentKey }: GenesisLine,
  name: string,
  terminal: Terminal,
): AgentKey | undefined {
  if (agentKey === undefined) return undefined;
  const path = agentKey === true ? join(".agtp", "keys", `${name}.pem`) : agentKey;
  if (existsSync(resolve(terminal.directory, path))) {
    return { path, publicKey: readVerificationKey(path, terminal), created: [] };
  }
  const pem = makeKey("ed25519");
  const created = [{ path, content: pem, isSecret: true }];
  return { path, publicKey: publicKeyOf(createPrivateKey(pem)), created };
}

function refuseFaults({ problems }: IssuedAgent): void {
  const faults = problems.filter(isError).map(({ key, message }: Problem) => `${key}: ${message}`);
  if (faults.length > 0)
    throw usage(`the agent would not load: ${[...new Set(faults)].join("; ")}`);
}

function kidOf(key: KeyObject): string {
  const publicKey = publicKeyOf(key);
  return publicKey === undefined ? "" : keyId(publicKey);
}
