/**
 * Reads one `*.agent.json` file into an Agent Identity Document, or into the list of its problems.
 * Members beyond those checked here are kept unchanged, because a signature may cover them.
 * AGTP "Agent Identity Document"
 */
import type { DocumentPlace } from "../base/document-place.ts";
import type { JsonRecord } from "../base/json-value.ts";
import { nameText } from "../base/kept-text.ts";
import { isError, type Problem } from "../base/problem.ts";
import type { AgentDocument, AgentStatus, SignatureStanding } from "./agent-document.ts";
import { canonicalForm } from "./canonical-form.ts";
import {
  checkTime,
  failWith,
  openDocument,
  readKey,
  readRequiredText,
  readScopeTokens,
} from "./document-members.ts";
import { type Ed25519PublicKey, verifyDetached } from "./ed25519.ts";
import type { Genesis } from "./genesis.ts";
import { isAgentId } from "./identifiers.ts";
import {
  checkPostureSource,
  distrustPosture,
  type PostureSource,
  resolveTrustPosture,
  type TrustPosture,
} from "./trust-posture.ts";
import { isTrustedIssuer } from "./trusted-issuers.ts";

/** The document of a file; undefined if a problem keeps it from being served. */
export interface AgentFile {
  readonly document: AgentDocument | undefined;
  readonly problems: readonly Problem[];
}

interface AgentFileContext {
  /** The verified Genesis with the same stem. */
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

/** `revoked` is another draft's name for `retired`. */
const STATUSES: ReadonlyMap<string, AgentStatus> = new Map([
  ["active", "active"],
  ["suspended", "suspended"],
  ["deprecated", "deprecated"],
  ["retired", "retired"],
  ["revoked", "retired"],
]);
/** Pairs of hex digits, with or without colons between them. */
const FINGERPRINT = /^(?:sha256:)?((?:[0-9a-f]{2}:){31}[0-9a-f]{2}|[0-9a-f]{64})$/i;

/** Reads a document from its text; `file` is the name that problems carry. */
export function readAgentFile(
  text: string,
  file: string,
  context: AgentFileContext = {},
): AgentFile {
  const problems: Problem[] = [];
  const source = openDocument(text, file, problems);
  if (source === undefined) return { document: undefined, problems };
  const document = { ...read(source, context), file };
  return { document: problems.some(isError) ? undefined : document, problems };
}

/** An empty value stands for a missing member: its problem keeps the document from being served. */
function read(
  source: DocumentPlace,
  { genesis, trustedIssuers = [] }: AgentFileContext,
): Omit<AgentDocument, "file"> {
  const required = readRequired(source);
  if (required.agent_id !== undefined) checkAgentId(source.at("agent_id"), genesis);
  const scopes = readScopes(source);
  for (const { key, message } of checkPostureSource(source.members)) {
    failWith(source.at(key), message);
  }
  const certFingerprint = readFingerprint(source.at("cert_fingerprint"));
  const signature = checkDocumentSignature(source, trustedIssuers);
  // A verified signature by an untrusted issuer binds nothing: no scopes, no certificate.
  const isHeard = signature !== "untrusted";
  return {
    agentId: nameText(required.agent_id ?? ""),
    name: required.name ?? "",
    description: required.description ?? "",
    principal: required.principal ?? "",
    principalId: required.principal_id ?? "",
    status: readStatus(source.at("status"), required.status) ?? "retired",
    scopes: isHeard ? scopes : [],
    ...resolvePosture(source.members, signature, genesis),
    certFingerprint: isHeard ? certFingerprint : undefined,
    genesis,
    signature,
    document: source.members,
  };
}

function resolvePosture(
  source: PostureSource,
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

function readRequired(source: DocumentPlace): Required {
  const entries = REQUIRED.map((key) => [key, readRequiredText(source.at(key))]);
  checkTime(source.at("issued_at"));
  return Object.fromEntries(entries) as Required;
}

function checkAgentId(place: DocumentPlace, genesis: Genesis | undefined): void {
  const { value: agentId } = place;
  if (typeof agentId !== "string" || !isAgentId(agentId)) {
    failWith(place, "must be 64 lower-case hex characters");
  } else if (genesis !== undefined && agentId !== genesis.agentId) {
    failWith(place, `must be "${genesis.agentId}", the hash of ${genesis.file}`);
  }
}

function readStatus(place: DocumentPlace, text: string | undefined): AgentStatus | undefined {
  if (text === undefined) return undefined;
  const message = "must be active, suspended, retired or deprecated";
  return STATUSES.get(text.toLowerCase()) ?? failWith(place, message);
}

/** The scopes that the agent holds: `scopes_accepted` in the drafts, `requires.scopes` in the reference. */
function readScopes(source: DocumentPlace): readonly string[] {
  const requires = source.at("requires");
  if (!requires.isAbsent && requires.record() === undefined) return [];
  return readScopeTokens(requires.at("scopes").optional ?? source.at("scopes_accepted"));
}

function readFingerprint(place: DocumentPlace): string | undefined {
  const text = place.optional?.text();
  if (text === undefined) return undefined;
  const digits = FINGERPRINT.exec(text)?.[1] ?? failWith(place, "must be a SHA-256 in hex");
  return digits?.replaceAll(":", "").toLowerCase();
}

const MEMBERS = ["manifest_issuer", "manifest_issuer_public_key", "manifest_signature"] as const;

/** The octets that `manifest_signature` signs; issuer and key are part of them. */
export function documentOctets(document: JsonRecord): Buffer {
  return canonicalForm(document, ["manifest_signature"]);
}

/**
 * Evaluates a document's signature. With all three signature members it is verified before the
 * document is served; with none the document is the operator's own statement; with some, a signed
 * document has lost members, which is a fault.   AGTP "Identity Document Signature"
 */
function checkDocumentSignature(
  document: DocumentPlace,
  trustedIssuers: readonly Ed25519PublicKey[],
): SignatureStanding {
  const missing = MEMBERS.filter((key) => !document.has(key));
  if (missing.length === MEMBERS.length) return "none";
  const others = MEMBERS.filter((one) => !missing.includes(one)).join(", ");
  for (const key of missing) document.at(key).fail(`is required beside ${others}`);
  document.at("manifest_issuer").optional?.text();
  const key = document.at("manifest_issuer_public_key");
  const signed = document.at("manifest_signature");
  const issuerKey = readKey(key);
  const signature = signed.optional?.text();
  if (issuerKey === undefined || signature === undefined) return "untrusted";
  if (!verifyDetached(issuerKey, documentOctets(document.members), signature)) {
    const message =
      "does not verify: the document was altered, or signed with another key than its";
    signed.fail(`${message} manifest_issuer_public_key`, REISSUE);
    return "untrusted";
  }
  if (isTrustedIssuer(issuerKey, trustedIssuers)) return "trusted";
  key.warn(UNTRUSTED);
  return "untrusted";
}

const REISSUE =
  "what an agent holds is changed by its issuer alone: agtp-keys genesis --force makes both files anew";
const UNTRUSTED =
  "is not among policies.identity.trusted_issuers, the document's scopes and trust are ignored";
