/**
 * The capability document: what an agent, or the server itself, can do, by the domains that were
 * asked for. 422 for a domain that does not exist and for a `version_min` that is no version.
 * AGTP "DESCRIBE"
 */
import { isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import { type Refusal, violationAt } from "../../dispatch/refusals/refusal.ts";
import { AGTP_API_VERSION } from "../../dispatch/stamp.ts";
import type { AgentDocument, AgentMigration, AgentStatus } from "../../identity/agent-document.ts";
import { trustScoreOf } from "../../identity/trust-posture.ts";

export interface CapabilitySubject {
  /** The names of it: an agent's id and name, or the server's. */
  readonly identity: Readonly<Record<string, string>>;
  readonly status: AgentStatus;
  /** The way on from an agent that is deprecated. */
  readonly migration?: AgentMigration | undefined;
  /** The capabilities in its document; a server has none. */
  readonly document: JsonRecord;
  /** The zone it belongs to, by its document or its Genesis. */
  readonly governanceZone: string | undefined;
  /** The methods that this server lets it call, besides those of its document. */
  readonly tools?: readonly string[];
  /** The methods that this server lets it be called with. */
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

/** The document, or why the parameters ask for none. */
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

/** A comma list or an array; nothing named is all. Answers with what is wrong, in words. */
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

/** An agent that has a version of its own is asked for that, any other for the protocol's. */
function describeVersion({ version: own }: JsonRecord, minimum: string | undefined): JsonRecord {
  const version = typeof own === "string" && isVersion(own) ? own : AGTP_API_VERSION;
  return { version, version_min_satisfied: minimum === undefined || isAtLeast(version, minimum) };
}

/** An agent that names no others accepts its own zone. */
function readZones(document: JsonRecord, own: string | undefined): readonly string[] {
  return readNames(document["zones_accepted"] ?? (own === undefined ? [] : [own]));
}

/** Names, or objects that have one; whatever else stands there has no name to show. */
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

/** Versions as `version_min` compares them: up to three numbers, and a pre-release before them. */
const VERSION =
  /^(?:AGTP\/|v)?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(-[0-9A-Za-z.-]{1,64})?(?:\+[0-9A-Za-z.-]{1,64})?$/;

/** Tells whether a text can be compared. */
export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/** Tells whether a version is as new as another one; a text that is none is as old as can be. */
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
