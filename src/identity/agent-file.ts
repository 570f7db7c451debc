/**
 * One `*.agent.json` file: from its text to an Agent Identity Document, or to everything that is
 * wrong with it. Members beyond those checked here are kept as they are, because a signature may
 * cover them.   AGTP "Agent Identity Document"
 */
import { isRecord, type JsonRecord, quoteValue } from "../json-value.ts";
import type { Problem } from "../problem.ts";
import type { AgentDocument, AgentStatus } from "./agent-document.ts";
import { isScopeToken } from "./authority-scope.ts";
import { isAgentId } from "./identifiers.ts";
import { parseBoundedJson } from "./json-document.ts";
import { checkPostureSource, resolveTrustPosture } from "./trust-posture.ts";

/** The document of a file, undefined when a problem keeps it from being served. */
export interface AgentFile {
  readonly document: AgentDocument | undefined;
  readonly problems: readonly Problem[];
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
type Required = Readonly<Record<(typeof REQUIRED)[number], string>>;

/** `revoked` is another draft's word for retired. */
const STATUSES: ReadonlyMap<string, AgentStatus> = new Map([
  ["active", "active"],
  ["suspended", "suspended"],
  ["deprecated", "deprecated"],
  ["retired", "retired"],
  ["revoked", "retired"],
]);
const MAX_SCOPES = 1024;
const ISO_8601 =
  /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/i;

type Report = (key: string, message: string) => void;

/** Reads a document from its text; `file` is the name that problems carry. */
export function readAgentFile(text: string, file: string): AgentFile {
  const problems: Problem[] = [];
  const report: Report = (key, message) => {
    problems.push({ file, key, message });
  };
  const document = build(text, file, report);
  return { document: problems.length === 0 ? document : undefined, problems };
}

function build(text: string, file: string, report: Report): AgentDocument | undefined {
  const parsed = parseBoundedJson(text);
  if (parsed.fault !== undefined) {
    report("", parsed.fault);
    return undefined;
  }
  const source = parsed.value;
  if (!isRecord(source)) {
    report("", "must be a JSON object");
    return undefined;
  }
  const required = readRequired(source, report);
  const status = STATUSES.get(required.status.toLowerCase());
  if (status === undefined && required.status !== "") {
    report(
      "status",
      `must be active, suspended, retired or deprecated, got ${quoteValue(required.status)}`,
    );
  }
  const scopes = readScopes(source, report);
  for (const fault of checkPostureSource(source)) {
    report(fault.key, `${fault.message}, got ${quoteValue(source[fault.key])}`);
  }
  return {
    agentId: required.agent_id,
    name: required.name,
    description: required.description,
    principal: required.principal,
    principalId: required.principal_id,
    status: status ?? "retired",
    scopes,
    ...resolveTrustPosture([source]),
    document: source,
    file,
  };
}

/** Absent members come back as "", each with its problem. */
function readRequired(source: JsonRecord, report: Report): Required {
  const entries = REQUIRED.map((key): [string, string] => {
    const value = source[key] ?? undefined;
    if (value === undefined) report(key, "is required");
    else if (typeof value !== "string") report(key, `must be a string, got ${quoteValue(value)}`);
    else if (value.trim() === "") report(key, "must not be empty");
    else return [key, value];
    return [key, ""];
  });
  const required = Object.fromEntries(entries) as Required;
  if (required.agent_id !== "" && !isAgentId(required.agent_id)) {
    report(
      "agent_id",
      `must be 64 lower-case hex characters, got ${quoteValue(required.agent_id)}`,
    );
  }
  if (required.issued_at !== "" && !isTimestamp(required.issued_at)) {
    report("issued_at", `must be an ISO 8601 time, got ${quoteValue(required.issued_at)}`);
  }
  return required;
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
  const scopes = held ?? source["scopes_accepted"] ?? [];
  if (!Array.isArray(scopes)) {
    report(key, `must be an array of scope tokens, got ${quoteValue(scopes)}`);
    return [];
  }
  if (scopes.length > MAX_SCOPES) {
    report(key, `must have at most ${MAX_SCOPES} scopes, has ${scopes.length}`);
    return [];
  }
  for (const [index, scope] of scopes.entries()) {
    if (typeof scope === "string" && isScopeToken(scope)) continue;
    report(
      `${key}[${index}]`,
      `must be a scope token like "booking:room", got ${quoteValue(scope)}`,
    );
  }
  return [...new Set<string>(scopes)];
}

function isTimestamp(text: string): boolean {
  return ISO_8601.test(text) && !Number.isNaN(Date.parse(text));
}
