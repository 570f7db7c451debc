/**
 * `agtp-keys genesis`: the Genesis and the identity document of a new agent, signed by one issuer.
 * What would not load is not written.   AGTP "Agent Genesis"
 */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { isError, type Problem } from "../../base/problem.ts";
import { makeKey } from "../../identity/certificate-keys.ts";
import { type Ed25519PublicKey, publicKeyOf } from "../../identity/ed25519.ts";
import { ARCHETYPES } from "../../identity/genesis.ts";
import { type AgentOptions, type IssuedAgent, issueAgent } from "../../identity/issue.ts";
import { keyId } from "../../identity/jws.ts";
import { usage } from "../shell/command-file.ts";
import type { Terminal } from "../shell/terminal.ts";
import { type NewFile, writeFiles } from "../shell/write-files.ts";
import type { GenesisLine } from "./command-options.ts";
import { readChoice, readName, readScopes, readTrustTier } from "./flag-values.ts";
import { readSigningKey, readVerificationKey } from "./key-files.ts";
import { printFacts } from "./print-facts.ts";

/** Makes both documents, and a key for the agent where one is wanted. */
export function makeGenesis(line: GenesisLine, terminal: Terminal): void {
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
    { path: paths.genesis, content: serialize(issued.genesis), isSecret: false },
    { path: paths.document, content: serialize(issued.document), isSecret: false },
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
  /** Empty when the key was there before. */
  readonly created: readonly NewFile[];
}

/** A key that is there is the agent's; else one is made. */
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

function serialize(document: unknown): string {
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
