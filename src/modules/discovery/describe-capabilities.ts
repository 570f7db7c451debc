/**
 * The capability document: the capabilities of an agent, or of the server itself, in the requested domains. 422 for an
 * unknown domain and for a malformed `version_min`.
 * AGTP "DESCRIBE"
 */
import { isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import { type Refusal, violationAt } from "../../dispatch/refusals/refusal.ts";
import { AGTP_API_VERSION } from "../../dispatch/stamp.ts";
import type { AgentDocument, AgentMigration, AgentStatus } from "../../identity/agent-document.ts";
import { trustScoreOf } from "../../identity/trust-posture.ts";

export interface CapabilitySubject {
  /** The id and name of the agent, or of the server. */
  readonly identity: Readonly<Record<string, string>>;
  readonly status: AgentStatus;
  /** The migration notice of a deprecated agent. */
  readonly migration?: AgentMigration | undefined;
  /** The agent's document with its capabilities; empty for a server. */
  readonly document: JsonRecord;
  /** The agent's zone, by its document or its Genesis. */
  readonly governanceZone: string | undefined;
  /** Tools that the agent may call on this server, besides those of its document. */
  readonly tools?: readonly string[];
  /** The methods that this server answers for the agent. */
  readonly methods: readonly string[];
}

/** An agent as the subject of a capability document. */
export function agentSubject(
  { agentId, name, document, governanceZone }: AgentDocument,
  { status, migration }: Pick<CapabilitySubject, "status" | "migration">,
  { methods, tools }: Required<Pick<CapabilitySubject, "methods" | "tools">>,
): CapabilitySubject {
  const identity = { agent_id: agentId, name };
  return { identity, status, migration, document, governanceZone, methods, tools };
}

const DOMAINS = ["methods", "modalities", "tools", "version", "budget", "zones"] as const;
type Domain = (typeof DOMAINS)[number];

/** Builds the document, or refuses the parameters. */
export function capabilityDocument(
  subject: CapabilitySubject,
  input: JsonRecord,
): JsonRecord | Refusal {
  const domains = readDomains(input["capability_domains"]);
  if (typeof domains === "string") return violationAt("/capability_domains", "enum", domains);
  const minimum = input["version_min"];
  if (minimum !== undefined && !(typeof minimum === "string" && isVersion(minimum))) {
    const message = `must be a version like "1.0", got ${quoteValue(minimum)}`;
    return violationAt("/version_min", "pattern", message);
  }
  const { identity, status, migration, document } = subject;
  const members = domains.map((domain) => describeDomain(domain, subject, minimum));
  return {
    ...{ ...identity, status, ...migration },
    ...Object.assign({}, ...members),
    ...readTrust(document),
  };
}

/** Reads a comma-separated list or an array; none means all. Returns what is wrong with it as a string. */
function readDomains(value: unknown): readonly Domain[] | string {
  if (value === undefined || value === "") return DOMAINS;
  const list = typeof value === "string" ? value.split(",").map((name) => name.trim()) : value;
  const names: readonly unknown[] = Array.isArray(list) ? list : [list];
  if (names.length === 0) return DOMAINS;
  const unknown = names.findIndex((name) => !(DOMAINS as readonly unknown[]).includes(name));
  if (unknown === -1) return DOMAINS.filter((domain) => names.includes(domain));
  return `must be some of ${DOMAINS.join(", ")}, got ${quoteValue(names[unknown])}`;
}

function describeDomain(
  domain: Domain,
  { document, governanceZone, methods, tools = [] }: CapabilitySubject,
  minimum: string | undefined,
): JsonRecord {
  switch (domain) {
    case "methods":
      return { methods };
    case "modalities":
      return { modalities: readNames(document["modalities"]) };
    case "tools":
      return { tools: [...new Set([...readNames(document["tools"]), ...tools])] };
    case "version":
      return describeVersion(document, minimum);
    case "budget":
      return { budget_units_accepted: readNames(document["budget_units_accepted"]) };
    case "zones":
      return { zones_accepted: readZones(document, governanceZone) };
  }
}

/** Compares with the agent's own version, or else with the protocol's. */
function describeVersion({ version: own }: JsonRecord, minimum: string | undefined): JsonRecord {
  const version = typeof own === "string" && isVersion(own) ? own : AGTP_API_VERSION;
  return { version, version_min_satisfied: minimum === undefined || isAtLeast(version, minimum) };
}

/** Reads the accepted zones; by default the agent's own. */
function readZones(document: JsonRecord, own: string | undefined): readonly string[] {
  return readNames(document["zones_accepted"] ?? (own === undefined ? [] : [own]));
}

/** Reads names, or objects with one, and skips other values. */
function readNames(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value
    .map((item: unknown) => (isRecord(item) ? item["name"] : item))
    .filter((name): name is string => typeof name === "string");
}

function readTrust(document: JsonRecord): JsonRecord {
  const score = trustScoreOf(document);
  if (score === undefined) return {};
  return { trust_score: score, trust_score_computed_at: document["trust_score_computed_at"] };
}

/** Versions as `version_min` compares them: up to three numbers; a pre-release precedes its release. */
const VERSION =
  /^(?:AGTP\/|v)?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(-[0-9A-Za-z.-]{1,64})?(?:\+[0-9A-Za-z.-]{1,64})?$/;

/** Tells whether a text is a comparable version. */
export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/** Tells whether a version is at least `minimum`; a malformed text counts as the oldest. */
export function isAtLeast(version: string, minimum: string): boolean {
  const own = readVersion(version);
  const least = readVersion(minimum);
  for (const [index, part] of own.entries()) {
    const other = least[index] ?? 0;
    if (part !== other) return part > other;
  }
  return true;
}

/** Major, minor, patch, and 0 for a pre-release or 1 for a release. */
function readVersion(text: string): readonly number[] {
  const match = VERSION.exec(text);
  if (match === null) return [0, 0, 0, 0];
  const [, major = "0", minor = "0", patch = "0", preRelease] = match;
  return [Number(major), Number(minor), Number(patch), preRelease === undefined ? 1 : 0];
}
