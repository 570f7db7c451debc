/**
 * Interprets the command line of `agtp-conformance`: the server and the identity, the cases, and
 * the content of named files. Invalid values are usage errors.
 */
import { isRecord, parseRecord } from "../../base/json-value.ts";
import type { Problem } from "../../base/problem.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { parseCatalog, shippedCatalogPath } from "../../catalog/catalog-file.ts";
import type { Peer } from "../../client/agtp-client.ts";
import { parseAuthorityScope } from "../../identity/authority-scope.ts";
import { isAgentId, isOwnerId, isSha256 } from "../../identity/identifiers.ts";
import { isFieldValue, isToken } from "../../wire/header-fields.ts";
import { clientOptions, parseServerUri } from "../shell/ask-server.ts";
import { FileProblems, type Line, readText, usage } from "../shell/command.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { Identity } from "./ask.ts";
import type { ConformanceCase } from "./case.ts";
import { liesWithin, readClause } from "./clauses.ts";
import type { Proposal } from "./subject.ts";

/** The argument, which only --list does not need. */
export const CONFORMANCE_ARGS = { "[uri]": "agtp://HOST[:PORT]" } as const;

/** Options for identity, trust, the choice of cases and the report. */
export const CONFORMANCE_OPTIONS = {
  "--agent-id <id>": {
    help: "an agent that the server knows; without it little can be asked",
    words: "agents",
  },
  "--owner-id <id>": "Owner-ID, sent with it",
  "--scope <scopes>": {
    help: "the scopes that the agent holds, sent as Authority-Scope: a:b,c:d",
    isJoined: true,
  },
  "--other-agent-id <id>": {
    help: "a second agent, for what must not pass between agents",
    words: "agents",
  },
  "-H, --header <field>": {
    help: "'Name: value' with every request; may be repeated",
    isRepeated: true,
  },
  "--cert <file>": "certificate of the agent, PEM",
  "--key <file>": "its key, PEM",
  "--ca <file>": "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem",
  "--fingerprint <sha256>": "trust the certificate with this SHA-256, and no other",
  "--insecure": "trust any certificate",
  "--allow-state-changes": "run the cases that change state as well",
  "--strict": "a SHOULD that is not met fails, too",
  "--proposal <file>": "an endpoint the server can make: {endpoint, input}, JSON",
  "--catalog <file>": "the catalog that the server uses; default: the one shipped",
  "--cases <folder>": "other cases than those shipped",
  "--only <section>": {
    help: "a section or requirement: 5.1, 13.1.4; repeatable",
    isRepeated: true,
  },
  "--clause <section>": { help: "the same as --only", isRepeated: true },
  "--case <name>": { help: "a case by its name; repeatable", isRepeated: true },
  "--timeout <seconds>": { help: "for one case", default: "10" },
  "--total-timeout <seconds>": { help: "for all of them", default: "300" },
  "--known-failing <file>": "cases that may fail, a line each: NAME: reason",
  "--list": "print the cases, and ask nothing",
  "--json": "print JSON",
  "--junit <file>": "write JUnit XML to a file as well",
} as const;

/** The command line, as written. */
export type ConformanceLine = Line<typeof CONFORMANCE_ARGS, typeof CONFORMANCE_OPTIONS>;

const MAX_SECONDS = 86_400;

/** Reads the address of the server. */
export function readPeer(line: ConformanceLine, terminal: Terminal): Peer {
  if (line.uri === undefined) throw usage("expected the server to ask, agtp://HOST[:PORT]");
  const uri = parseServerUri(line.uri);
  const { fingerprint, ca, insecure } = line;
  if (fingerprint === undefined) return clientOptions(line, uri, terminal);
  if (ca !== undefined || insecure) throw usage("expected --fingerprint, --ca or --insecure alone");
  const pin = fingerprint.replaceAll(":", "").toLowerCase();
  if (!isSha256(pin)) throw usage("expected 64 hexadecimal digits for --fingerprint");
  return { ...clientOptions(line, uri, terminal), fingerprint: pin };
}

/** Reads the identity of the caller. */
export function readIdentity(line: ConformanceLine): Identity {
  const { agentId, ownerId, otherAgentId, scope, header } = line;
  for (const id of [agentId, otherAgentId]) {
    if (id === undefined || isAgentId(id)) continue;
    throw usage(`expected 64 lower-case hexadecimal digits for an Agent-ID, got "${id}"`);
  }
  if (ownerId !== undefined && !isOwnerId(ownerId)) throw usage(`"${ownerId}" is no Owner-ID`);
  const scopes = scope === undefined ? undefined : parseAuthorityScope(scope);
  if (scope !== undefined && (scopes === undefined || scopes.length === 0)) {
    throw usage(`expected scopes such as a:b,c:d for --scope, got "${scope}"`);
  }
  // With a certificate all requests come from its one agent.
  const other = line.cert === undefined ? otherAgentId : undefined;
  return { agentId, ownerId, scopes, otherAgentId: other, headers: header.map(readField) };
}

function readField(written: string): string {
  const colon = written.indexOf(":");
  const name = written.slice(0, colon);
  const value = written.slice(colon + 1).trim();
  if (colon > 0 && isToken(name) && isFieldValue(value)) return `${name}: ${value}`;
  throw usage(`expected a header field "Name: value", got ${JSON.stringify(written)}`);
}

/** Reads the catalog that the server is expected to use. */
export function readCatalog({ catalog }: ConformanceLine, { directory }: Terminal): Catalog {
  const file = catalog ?? shippedCatalogPath();
  const { catalog: read, problems } = parseCatalog(readText(directory, file), file);
  if (read === undefined) throw new FileProblems(problems);
  return read;
}

/** Reads the endpoint to propose: `{endpoint, input}`, or the endpoint alone. */
export function readProposal(
  { proposal: file }: ConformanceLine,
  { directory }: Terminal,
): Proposal | undefined {
  if (file === undefined) return undefined;
  const document = readJson(readText(directory, file), file);
  const endpoint = isRecord(document["endpoint"]) ? document["endpoint"] : document;
  const { method, path } = endpoint;
  if (typeof method !== "string" || typeof path !== "string") {
    throw usage(`${file}: expected {"endpoint": {"method": …, "path": …, …}, "input": {…}}`);
  }
  const { input } = document;
  return { endpoint, input: isRecord(input) ? input : undefined };
}

function readJson(text: string, file: string): Readonly<Record<string, unknown>> {
  const value = parseRecord(text);
  if (value !== undefined) return value;
  throw usage(`${file}: expected a JSON object`);
}

/** Selects the named cases; every case if none is named. */
export function chooseCases(
  cases: readonly ConformanceCase[],
  line: ConformanceLine,
): readonly ConformanceCase[] {
  const sections = [...line.only, ...line.clause].map((text) => {
    const section = readClause(text);
    if (section !== undefined) return section;
    throw usage(`expected a section such as 5.1 or 13.1(4), got "${text}"`);
  });
  const unknown = line.case.find((name) => !cases.some((one) => one.name === name));
  if (unknown !== undefined) throw usage(`there is no case "${unknown}"; --list has them all`);
  const idle = sections.filter((section) => !cases.some((one) => isAbout(one, section)));
  if (idle.length > 0) throw usage(`no case is about ${idle.join(", ")}`);
  if (sections.length === 0 && line.case.length === 0) return cases;
  return cases.filter(
    (one) => line.case.includes(one.name) || sections.some((section) => isAbout(one, section)),
  );
}

function isAbout({ clauses }: ConformanceCase, section: string): boolean {
  return clauses.some((clause) => liesWithin(clause, section));
}

/** Reads the cases that are known to fail; `cases` is every existing one, selected or not. */
export function readKnownFailing(
  { knownFailing: file }: ConformanceLine,
  cases: readonly ConformanceCase[],
  { directory }: Terminal,
): KnownFailing {
  if (file === undefined) return new Map();
  const names = new Set(cases.map(({ name }) => name));
  const { known, problems } = parseKnownFailing(readText(directory, file), file, names);
  if (problems.length > 0) throw new FileProblems(problems);
  return known;
}

/** Reads a time in seconds, and returns milliseconds. */
export function readSeconds(text: string, flag: string): number {
  const seconds = /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= MAX_SECONDS) return seconds * 1000;
  throw usage(`expected seconds for ${flag}, more than 0, got "${text}"`);
}

/** The reasons of known failures, by case name. */
export type KnownFailing = ReadonlyMap<string, string>;

const LINE = /^([A-Za-z0-9][A-Za-z0-9._-]*):\s*(.*)$/;

/** Parses a list of known failures; `names` are the existing cases. */
function parseKnownFailing(text: string, file: string, names: ReadonlySet<string>) {
  const known = new Map<string, string>();
  const problems: Problem[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const written = line.trim();
    if (written === "" || written.startsWith("#")) continue;
    const fault = take(written, known, names);
    if (fault !== undefined) problems.push({ file, key: `line ${index + 1}`, message: fault });
  }
  return { known, problems };
}

function take(
  line: string,
  known: Map<string, string>,
  names: ReadonlySet<string>,
): string | undefined {
  const [, name, reason = ""] = LINE.exec(line) ?? [];
  if (name === undefined) return "expected the name of a case, a colon and the reason";
  if (!names.has(name)) return `there is no case "${name}"`;
  if (known.has(name)) return `the case "${name}" is listed twice`;
  if (reason === "") return `the case "${name}" is listed without a reason`;
  known.set(name, reason);
  return undefined;
}
