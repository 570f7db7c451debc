/**
 * `agtp-keys agent-ca` and `agtp-keys agent-cert`: a CA for agents, and certificates by it. What the
 * command line leaves out of a certificate, the agent's Genesis says.
 * AGTP-CERT "Agent Certificate Profile"
 */
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { formatProblem, isError } from "../../base/problem.ts";
import {
  type AgentCertificateRequest,
  issueAgentCertificate,
  makeAgentCa,
} from "../../identity/certificate-authority.ts";
import type { CertificateFault } from "../../identity/certificate-fields.ts";
import type { KeyKind } from "../../identity/certificate-keys.ts";
import type { Genesis } from "../../identity/genesis.ts";
import { readGenesisFile } from "../../identity/genesis-file.ts";
import { readText, usage } from "../shell/command-file.ts";
import type { Terminal } from "../shell/terminal.ts";
import { type NewFile, writeFiles } from "../shell/write-files.ts";
import type { AgentCaLine, AgentCertLine } from "./command-options.ts";
import { readChoice, readDays, readName, readScopes, readTrustTier } from "./flag-values.ts";
import { readSecret } from "./key-files.ts";
import { printFacts } from "./print-facts.ts";

const KEY_KINDS: readonly KeyKind[] = ["p256", "ed25519"];

/** Makes a CA. */
export async function makeCa(line: AgentCaLine, terminal: Terminal): Promise<void> {
  const { name, days, outDir } = line;
  const issued = unwrap(await makeAgentCa({ name, days: readDays(days) }));
  const paths = {
    certificate: join(outDir, "agents-ca.pem"),
    key: join(outDir, "agents-ca-key.pem"),
  };
  finish(line, terminal, { issued, paths });
}

/** Issues a certificate. */
export async function makeAgentCertificate(line: AgentCertLine, terminal: Terminal): Promise<void> {
  const request = readRequest(line, terminal);
  const issued = unwrap(await issueAgentCertificate(request));
  const name = readName(request.name);
  const paths = {
    certificate: join(line.outDir, `${name}.cert.pem`),
    key: join(line.outDir, `${name}.key.pem`),
  };
  finish(line, terminal, { issued, paths, agentId: request.agentId });
}

interface Finished {
  readonly issued: { readonly certificate: string; readonly key: string | undefined };
  readonly paths: { readonly certificate: string; readonly key: string };
  readonly agentId?: string;
}

function finish(
  { force = false, json = false }: AgentCaLine | AgentCertLine,
  terminal: Terminal,
  { issued: { certificate, key }, paths, agentId }: Finished,
): void {
  const files: readonly NewFile[] = [
    { path: paths.certificate, content: certificate, isSecret: false },
    ...(key === undefined ? [] : [{ path: paths.key, content: key, isSecret: true }]),
  ];
  writeFiles(terminal.directory, files, force);
  const { serialNumber, validTo, fingerprint256 } = new X509Certificate(certificate);
  const facts = {
    ...(agentId === undefined ? {} : { agent_id: agentId }),
    certificate: paths.certificate,
    key: key === undefined ? undefined : paths.key,
    serial: serialNumber.toLowerCase().replace(/^0+(?=.)/, ""),
    fingerprint: fingerprint256,
    valid_to: new Date(validTo).toISOString(),
  };
  printFacts(facts, json, terminal);
}

function readRequest(line: AgentCertLine, terminal: Terminal): AgentCertificateRequest {
  const genesis = line.genesis === undefined ? undefined : readGenesis(line.genesis, terminal);
  const born = genesis === undefined ? {} : profileOf(genesis);
  const agentId = line.agentId ?? born.agentId;
  if (agentId === undefined) throw usage("expected --genesis or --agent-id");
  if (born.agentId !== undefined && agentId !== born.agentId) {
    throw usage(`expected --agent-id to be that of the Genesis, "${born.agentId}"`);
  }
  const name = line.name ?? born.name;
  if (name === undefined) throw usage("expected --name, or a Genesis that has one");
  const ownerId = line.ownerId ?? born.ownerId;
  return {
    agentId,
    name,
    organization: line.organization ?? ownerId ?? name,
    ownerId,
    scopes: readScopes(line.scope) ?? born.scopes,
    governanceZone: line.governanceZone ?? born.governanceZone,
    trustTier: line.trustTier === undefined ? born.trustTier : readTrustTier(line.trustTier),
    archetype: line.archetype ?? born.archetype,
    days: readDays(line.days),
    caCert: readText(terminal.directory, line.caCert),
    caKey: readSecret(line.caKey, terminal),
    publicKey:
      line.publicKey === undefined ? undefined : readText(terminal.directory, line.publicKey),
    keyKind: readChoice("--key-kind", line.keyKind, KEY_KINDS),
  };
}

function readGenesis(file: string, terminal: Terminal): Genesis {
  const { genesis, problems } = readGenesisFile(readText(terminal.directory, file), file, []);
  if (genesis !== undefined) return genesis;
  throw usage(`${problems.filter(isError).map(formatProblem).join("; ")}`);
}

/** What of a Genesis a certificate can carry; no scopes in it are no commitment. */
function profileOf({ agentId, ownerId, document }: Genesis): Partial<AgentCertificateRequest> {
  const { name, scope, governance_zone: zone, trust_tier: tier, archetype } = document;
  const scopes = Array.isArray(scope) ? scope.join(",") : scope;
  return {
    agentId,
    ownerId,
    name: textOf(name),
    scopes: typeof scopes === "string" && scopes !== "" ? readScopes(scopes) : undefined,
    governanceZone: textOf(zone),
    trustTier: tier === 1 || tier === 2 || tier === 3 ? tier : undefined,
    archetype: textOf(archetype),
  } as Partial<AgentCertificateRequest>;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function unwrap<Issued extends object>(result: Issued | CertificateFault): Issued {
  if ("fault" in result) throw usage(String(result.fault));
  return result as Issued;
}
