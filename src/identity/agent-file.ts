/**
 * One `*.agent.json` file: from its text to an Agent Identity Document, or to everything that is
 * wrong with it. Members beyond those checked here are kept as they are, because a signature may
 * cover them.   AGTP "Agent Identity Document"
 */
import { isRecord, type JsonRecord, quoteValue } from "../base/json-value.ts";
import { isError, type Problem } from "../base/problem.ts";
import type { AgentDocument, AgentStatus, SignatureStanding } from "./agent-document.ts";
import {
  checkTime,
  type Report,
  readRequiredText,
  readScopeTokens,
  readText,
} from "./document-members.ts";
import { checkDocumentSignature } from "./document-signature.ts";
import type { Ed25519PublicKey } from "./ed25519.ts";
import type { Genesis } from "./genesis.ts";
import { isAgentId } from "./identifiers.ts";
import { parseBoundedJson } from "./json-document.ts";
import {
  checkPostureSource,
  distrustPosture,
  type PostureSource,
  resolveTrustPosture,
  type TrustPosture,
} from "./trust-posture.ts";

/** The document of a file, undefined when a problem keeps it from being served. */
export interface AgentFile {
  readonly document: AgentDocument | undefined;
  readonly problems: readonly Problem[];
}

/** The context that a document is judged in. */
export interface AgentFileContext {
  /** The verified Genesis beside it. */
  readonly genesis?: Genesis | undefined;
  readonly trustedIssuers?: readonly Ed25519PublicKey[];
}

const REQUIRED = [
  "agtp_version",
  "agent_id",
  "name",
  "description",
  "principal",
  "principal_id",
  "issuer",
  "issued_at",
  "status",
] as const;
type Required = Readonly<Record<(typeof REQUIRED)[number], string | undefined>>;

/** `revoked` is another draft's word for retired. */
const STATUSES: ReadonlyMap<string, AgentStatus> = new Map([
  ["active", "active"],
  ["suspended", "suspended"],
  ["deprecated", "deprecated"],
  ["retired", "retired"],
  ["revoked", "retired"],
]);
/** Hex digits, in pairs with a colon between them or without. */
const FINGERPRINT = /^(?:sha256:)?((?:[0-9a-f]{2}:){31}[0-9a-f]{2}|[0-9a-f]{64})$/i;

/** Reads a document from its text; `file` is the name that problems carry. */
export function readAgentFile(
  text: string,
  file: string,
  context: AgentFileContext = {},
): AgentFile {
  const problems: Problem[] = [];
  const report: Report = (key, message, severity) => {
    problems.push({ file, key, message, ...(severity === undefined ? {} : { severity }) });
  };
  const source = parse(text, report);
  if (source === undefined) return { document: undefined, problems };
  const document = { ...read(source, context, report), file };
  return { document: problems.some(isError) ? undefined : document, problems };
}

function parse(text: string, report: Report): JsonRecord | undefined {
  const parsed = parseBoundedJson(text);
  if (parsed.fault !== undefined) {
    report("", parsed.fault);
    return undefined;
  }
  if (isRecord(parsed.value)) return parsed.value;
  report("", "must be a JSON object");
  return undefined;
}

/** An empty member has been reported, and keeps the document from being served. */
function read(
  source: JsonRecord,
  { genesis, trustedIssuers = [] }: AgentFileContext,
  report: Report,
): Omit<AgentDocument, "file"> {
  const required = readRequired(source, report);
  checkAgentId(required.agent_id, genesis, report);
  const scopes = readScopes(source, report);
  for (const fault of checkPostureSource(source)) {
    report(fault.key, `${fault.message}, got ${quoteValue(source[fault.key])}`);
  }
  const certFingerprint = readFingerprint(source, report);
  const signature = checkDocumentSignature(source, trustedIssuers, report);
  // A signature that verifies and that nobody trusts binds nothing: no scopes, no certificate.
  const isHeard = signature !== "untrusted";
  return {
    agentId: required.agent_id ?? "",
    name: required.name ?? "",
    description: required.description ?? "",
    principal: required.principal ?? "",
    principalId: required.principal_id ?? "",
    status: readStatus(required.status, report) ?? "retired",
    scopes: isHeard ? scopes : [],
    ...resolvePosture(source, signature, genesis),
    certFingerprint: isHeard ? certFingerprint : undefined,
    genesis,
    signature,
    document: source,
  };
}

function resolvePosture(
  source: JsonRecord,
  signature: SignatureStanding,
  genesis: Genesis | undefined,
): TrustPosture {
  return resolveTrustPosture({
    document: signature === "untrusted" ? distrustPosture(source) : source,
    genesis: genesis && genesisPosture(genesis),
  });
}

function genesisPosture({ document, ownerId, isTrusted }: Genesis): PostureSource {
  return isTrusted ? { ...document, owner_id: ownerId } : distrustPosture(document);
}

function readRequired(source: JsonRecord, report: Report): Required {
  const entries = REQUIRED.map((key) => [key, readRequiredText(source, key, report)]);
  const required = Object.fromEntries(entries) as Required;
  checkTime(required.issued_at, "issued_at", report);
  return required;
}

function checkAgentId(
  agentId: string | undefined,
  genesis: Genesis | undefined,
  report: Report,
): void {
  if (agentId === undefined) return;
  if (!isAgentId(agentId)) {
    report("agent_id", `must be 64 lower-case hex characters, got ${quoteValue(agentId)}`);
  } else if (genesis !== undefined && agentId !== genesis.agentId) {
    const expected = `must be "${genesis.agentId}", the hash of ${genesis.file}`;
    report("agent_id", `${expected}, got ${quoteValue(agentId)}`);
  }
}

function readStatus(text: string | undefined, report: Report): AgentStatus | undefined {
  const status = STATUSES.get(text?.toLowerCase() ?? "");
  if (status === undefined && text !== undefined) {
    report("status", `must be active, suspended, retired or deprecated, got ${quoteValue(text)}`);
  }
  return status;
}

/** The reference's `requires.scopes` is what the agent holds; the drafts have `scopes_accepted`. */
function readScopes(source: JsonRecord, report: Report): readonly string[] {
  const requires = source["requires"] ?? undefined;
  if (requires !== undefined && !isRecord(requires)) {
    report("requires", `must be an object, got ${quoteValue(requires)}`);
    return [];
  }
  const held = requires?.["scopes"] ?? undefined;
  const key = held === undefined ? "scopes_accepted" : "requires.scopes";
  return readScopeTokens(held ?? source["scopes_accepted"] ?? [], key, report);
}

function readFingerprint(source: JsonRecord, report: Report): string | undefined {
  const text = readText(source, "cert_fingerprint", report);
  if (text === undefined) return undefined;
  const digits = FINGERPRINT.exec(text)?.[1];
  if (digits === undefined) {
    report("cert_fingerprint", `must be a SHA-256 in hex, got ${quoteValue(text)}`);
  }
  return digits?.replaceAll(":", "").toLowerCase();
}
