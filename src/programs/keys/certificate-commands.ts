/**
 * `agtp-keys agent-ca` and `agtp-keys agent-cert`: make a CA for agents, and certificates signed by
 * it. The agent's Genesis provides values that the command line omits.
 * AGTP-CERT "Agent Certificate Profile"
 */
import { hash, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { textIn } from "../../base/json-value.ts";
import { isError } from "../../base/problem.ts";
import {
  type AgentCertificateRequest,
  issueAgentCertificate,
  makeAgentCa,
} from "../../identity/certificate-authority.ts";
import type { CertificateFault } from "../../identity/certificate-fields.ts";
import type { KeyKind } from "../../identity/certificate-writer.ts";
import { type Genesis, readGenesisFile } from "../../identity/genesis.ts";
import {
  type Command,
  command,
  FileProblems,
  type Options,
  readText,
  usage,
} from "../shell/command.ts";
import type { Terminal } from "../shell/terminal.ts";
import { type NewFile, writeFiles } from "../shell/write-files.ts";
import {
  MAKING_OPTIONS,
  printFacts,
  readChoice,
  readDays,
  readName,
  readScopes,
  readSecret,
  readTrustTier,
} from "./key-files.ts";

const KEY_KINDS: readonly KeyKind[] = ["p256", "ed25519"];

const CERTIFICATE_OPTIONS = {
  ...MAKING_OPTIONS,
  "--ca-cert <file>": { help: "the CA's certificate, PEM", isRequired: true },
  "--ca-key <file>": { help: "the CA's private key, PEM", isRequired: true },
  "--genesis <file>": "the agent's Genesis",
  "--agent-id <id>": "the agent's canonical id, without a Genesis",
  "--name <name>": "common name, and that of the files",
  "--organization <name>": "who answers for the agent; default: the Owner-ID",
  "--owner-id <id>": "Owner-ID",
  "--scope <scopes>": {
    help: 'scopes that the agent is committed to: a:b,c:d; "" for none',
    isJoined: true,
  },
  "--governance-zone <zone>": "where it may act",
  "--trust-tier <tier>": "1, 2 or 3",
  "--archetype <word>": "what kind of agent it is",
  "--days <days>": { help: "how long it is valid, 90 at most", default: "90" },
  "--public-key <file>": "certify this key, PEM, instead of making one",
  "--key-kind <kind>": {
    help: "of the key that is made: p256 or ed25519",
    default: "p256",
    words: KEY_KINDS,
  },
  "--out-dir <dir>": { help: "where NAME.cert.pem and NAME.key.pem go", default: ".agtp/keys" },
} as const;

export const agentCaCommand: Command = command({
  name: "agent-ca",
  description: "Makes a CA for Agent Certificates: [tls] client_ca.",
  options: {
    ...MAKING_OPTIONS,
    "--name <name>": { help: "its common name", default: "AGTP agents" },
    "--days <days>": { help: "how long it is valid", default: "3650" },
    "--out-dir <dir>": {
      help: "where agents-ca.pem and agents-ca-key.pem go",
      default: ".agtp/keys",
    },
  },
  run: async (line, terminal) => {
    const { name, days, outDir } = line;
    const issued = unwrap(makeAgentCa({ name, days: readDays(days) }));
    const paths = {
      certificate: join(outDir, "agents-ca.pem"),
      key: join(outDir, "agents-ca-key.pem"),
    };
    return finish(line, terminal, { issued, paths });
  },
});

export const agentCertCommand: Command = command({
  name: "agent-cert",
  description: "Issues an Agent Certificate; what is not written is taken from the Genesis.",
  options: CERTIFICATE_OPTIONS,
  run: async (line, terminal) => {
    const request = readRequest(line, terminal);
    const issued = unwrap(issueAgentCertificate(request));
    const name = readName(request.name);
    const paths = {
      certificate: join(line.outDir, `${name}.cert.pem`),
      key: join(line.outDir, `${name}.key.pem`),
    };
    return finish(line, terminal, { issued, paths, agentId: request.agentId });
  },
});

interface Finished {
  readonly issued: { readonly certificate: string; readonly key: string | undefined };
  readonly paths: { readonly certificate: string; readonly key: string };
  readonly agentId?: string;
}

function finish(
  { force = false, json = false }: Options<typeof MAKING_OPTIONS>,
  terminal: Terminal,
  { issued: { certificate, key }, paths, agentId }: Finished,
): undefined {
  const files: readonly NewFile[] = [
    { path: paths.certificate, content: certificate, isSecret: false },
    ...(key === undefined ? [] : [{ path: paths.key, content: key, isSecret: true }]),
  ];
  writeFiles(terminal.directory, files, force);
  const { serialNumber, validTo, fingerprint256, publicKey } = new X509Certificate(certificate);
  const spki = publicKey.export({ type: "spki", format: "der" });
  const facts = {
    agent_id: agentId,
    certificate: paths.certificate,
    key: key === undefined ? undefined : paths.key,
    serial: serialNumber.toLowerCase().replace(/^0+(?=.)/, ""),
    fingerprint: fingerprint256,
    // The digest that [policies.identity] operator_certificates lists.
    public_key_sha256: agentId && hash("sha256", spki),
    valid_to: new Date(validTo).toISOString(),
  };
  printFacts(facts, json, terminal);
}

function readRequest(
  line: Options<typeof CERTIFICATE_OPTIONS>,
  terminal: Terminal,
): AgentCertificateRequest {
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
  throw new FileProblems(problems.filter(isError));
}

/** The members of a Genesis for a certificate; a Genesis without scopes commits to none in particular. */
function profileOf({ agentId, ownerId, document }: Genesis): Partial<AgentCertificateRequest> {
  const { name, scope, governance_zone: zone, trust_tier: tier, archetype } = document;
  const scopes = Array.isArray(scope) ? scope.join(",") : scope;
  return {
    agentId,
    ownerId,
    name: textIn(name),
    scopes: typeof scopes === "string" && scopes !== "" ? readScopes(scopes) : undefined,
    governanceZone: textIn(zone),
    trustTier: tier === 1 || tier === 2 || tier === 3 ? tier : undefined,
    archetype: textIn(archetype),
  } as Partial<AgentCertificateRequest>;
}

function unwrap<Issued extends object>(result: Issued | CertificateFault): Issued {
  if ("fault" in result) throw usage(String(result.fault));
  return result as Issued;
}
