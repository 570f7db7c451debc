/**
 * Sends the one request of an `agtp` command line and prints its response; also the options that
 * its commands share.
 */
import { X509Certificate } from "node:crypto";
import pc from "picocolors";
import { given, isRecord, type JsonRecord, recordIn } from "../../base/json-value.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { ClientRequest, ClientResponse } from "../../client/agtp-client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { isAccepted } from "../../client/exchange.ts";
import { type AgtpUri, parseUri } from "../../client/uri.ts";
import { readAgentExtensions } from "../../identity/certificate-agent-extensions.ts";
import { describeCertificate } from "../../identity/certificate-roles.ts";
import type { HeaderField } from "../../wire/fields.ts";
import { askServer, hintFor } from "../shell/ask-server.ts";
import { type Options, readText, usage } from "../shell/command.ts";
import { printFailure } from "../shell/print-json.ts";
import { defuse, defuseLine, type Output, type Terminal } from "../shell/terminal.ts";
import { printResponse } from "./report.ts";

/** Options for the caller, for trust and for the output. */
export const EXCHANGE_OPTIONS = {
  "-H, --header <field>": { help: "'Name: value'; may be repeated", isRepeated: true },
  "--agent-id <id>": { help: "Agent-ID: who asks; default: the agent of --cert", words: "agents" },
  "--owner-id <id>": "Owner-ID: for whom",
  "--scope <scopes>": { help: "Authority-Scope: a:b,c:d", isJoined: true },
  "--cert <file>": "certificate of the agent, PEM",
  "--key <file>": "its key, PEM",
  "--ca <file>": "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem",
  "--insecure": "trust any certificate",
  "-i, --include": "print the status line and header fields too",
  "--json": "print {status, headers, body}",
} as const;

interface ExchangeLine extends Options<typeof EXCHANGE_OPTIONS> {
  readonly uri: string;
  readonly method?: string;
  readonly path?: string;
  readonly data?: string;
  readonly envelope?: boolean;
  /** True if the request is made as the operator that `--cert` proves, not as an agent. */
  readonly isOperator?: boolean;
  readonly isEscalationList?: boolean;
}

/** Sends the request, prints the response and returns the exit code. */
export async function exchange(line: ExchangeLine, terminal: Terminal): Promise<number> {
  try {
    const uri = parseUri(line.uri);
    const request = await readRequest(line, uri, terminal);
    const response = await askServer(line, uri, terminal, (client) => client.request(request));
    checkAgent(uri, request, response);
    if (!printEscalations(response, line, terminal)) printResponse(response, line, terminal);
    return isAccepted(response.status) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof AgtpClientError)) throw error;
    const message = defuseLine(error.message);
    const hint = hintFor(error, line);
    const remark = hint === undefined ? "" : `\n      (${hint})`;
    terminal.err.write(`agtp: ${message}${remark}\n`);
    if (line.json) printFailure({ message, ...given({ hint }) }, terminal.out);
    return 2;
  }
}

/** Form 1a: the host is only the address, so a document of another agent is refused. */
function checkAgent(uri: AgtpUri, request: ClientRequest, { body }: ClientResponse): void {
  if (uri.agentId === undefined || request.path !== agentPath(uri)) return;
  if (typeof body !== "object" || body === null || !("agent_id" in body)) return;
  if (body.agent_id === uri.agentId) return;
  throw new AgtpClientError("ERR_AGTP_RESPONSE", "the document is of another agent than asked for");
}

/** Throws ERR_AGTP_REQUEST for a contradictory command line. */
async function readRequest(
  line: ExchangeLine,
  uri: AgtpUri,
  terminal: Terminal,
): Promise<ClientRequest> {
  const data = line.data === undefined ? undefined : await readData(line.data, terminal);
  const named = agentPath(uri);
  return {
    method: line.method ?? (named === undefined ? "DISCOVER" : "DESCRIBE"),
    ...readTarget(line, uri, named),
    headers: line.header.map(readHeader),
    agentId: line.agentId ?? certifiedAgent(line, terminal),
    ownerId: line.ownerId,
    scopes: line.scope?.split(",").map((scope) => scope.trim()),
    // Sent as written: parsing and serializing could change a number.
    ...(line.envelope ? { parameters: data?.value, envelope: true } : { body: data?.text }),
  };
}

/** The agent of `--cert`; undefined without one, for an operator, or for a certificate without an agent. */
function certifiedAgent({ cert, key, isOperator }: ExchangeLine, terminal: Terminal) {
  if (cert === undefined || key === undefined || isOperator) return undefined;
  return certificateAgent(readText(terminal.directory, cert));
}

function readTarget(
  line: ExchangeLine,
  uri: AgtpUri,
  named: string | undefined,
): Pick<ClientRequest, "path" | "query"> {
  if (line.path === undefined) return { path: uri.path ?? named, query: uri.query };
  if (named === undefined && (uri.path !== undefined || uri.query !== undefined)) {
    throw usage("expected a path in the URI or behind the method, got both");
  }
  return { path: line.path };
}

/**
 * The path for requests about an agent that the URI names.   AGTP "URI Scheme", Forms 1a, 3 and 4
 */
function agentPath({ agentId, agentName, path }: AgtpUri): string | undefined {
  if (agentName !== undefined) return path;
  return agentId === undefined || path !== undefined ? undefined : `/agents/${agentId}`;
}

async function readData(
  written: string,
  terminal: Terminal,
): Promise<{ readonly text: string; readonly value: unknown }> {
  const text = await readDataText(written, terminal);
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    throw usage(`the parameters are no JSON: ${reasonOf(error)}`);
  }
}

async function readDataText(written: string, terminal: Terminal): Promise<string> {
  if (written === "-") return terminal.readInput();
  if (!written.startsWith("@")) return written;
  return readText(terminal.directory, written.slice(1));
}

function readHeader(written: string): HeaderField {
  const colon = written.indexOf(":");
  if (colon === -1) {
    throw usage(`expected a header field "Name: value", got ${JSON.stringify(written)}`);
  }
  return [written.slice(0, colon), written.slice(colon + 1).trim()];
}

/** Anonymous callers are shown no escalations, even if some exist. */
const UNSEEN =
  "escalations are shown to known callers alone: say who asks by --cert and --key, or by --agent-id\n";

/** Prints escalations for a person; returns false if the response is to be printed as it is. */
function printEscalations(
  { status, body }: ClientResponse,
  { isEscalationList = false, json = false, include = false, ...line }: ExchangeLine,
  { out, err }: Terminal,
): boolean {
  if (!isEscalationList || json || include || status !== 200) return false;
  const result = recordIn(body)["result"];
  if (!isRecord(result)) return false;
  const listed = result["escalations"] ?? [result];
  if (!Array.isArray(listed) || !listed.every(isRecord)) return false;
  for (const escalation of listed) out.write(textOf(escalation, out));
  const isNobody = (line.agentId ?? line.cert) === undefined && line.header.length === 0;
  if (listed.length === 0) err.write(isNobody ? UNSEEN : "nothing waits for a decision\n");
  const total = Number(result["total"] ?? listed.length);
  if (total > listed.length)
    err.write(`${listed.length} of ${total}: --limit shows more, 200 at most\n`);
  return true;
}

function textOf(escalation: JsonRecord, { hasColour }: Output): string {
  const colours = pc.createColors(hasColour);
  const { escalation_id: id, status, priority, deadline, decision, context } = escalation;
  const { agent_id: agentId, task_id: taskId, reason, routed_to: recipient, votes } = escalation;
  const lines = [
    `${colours.bold(show(id))}  ${show(status)}  ${show(priority)}  until ${show(deadline)}`,
    `  agent ${show(agentId)}  task ${show(taskId)}  ${show(reason)}  to ${show(recipient)}`,
    ...askedIn(context, escalation).map((line) => `  ${line}`),
  ];
  if (Array.isArray(votes)) lines.push(...votes.map(voteText));
  if (isRecord(decision)) lines.push(`  ${decisionText(decision)}`);
  return `${lines.join("\n")}\n`;
}

const ABOUT_CALLS: ReadonlySet<unknown> = new Set(["approval", "elicitation"]);

/** The call of an approval or an elicitation is shown in full, because it is what will run. */
function askedIn(context: unknown, { kind, call_digest: digest }: JsonRecord): readonly string[] {
  const call = ABOUT_CALLS.has(kind) ? recordIn(context)["call"] : undefined;
  if (!isRecord(call) || !isRecord(context)) {
    const asked = typeof context === "string" ? context : (JSON.stringify(context) ?? "");
    return [defuseLine(asked)];
  }
  const { method, path, principal, input } = call;
  return [
    `${whole(method)} ${whole(path)}  ${show(context["impact"])}  for ${show(principal)}`,
    whole(JSON.stringify(input) ?? ""),
    ...(kind === "elicitation" ? questionIn(context) : []),
    show(digest),
  ];
}

/** The upstream's question, and the schema of its answer. */
function questionIn({
  upstream,
  message,
  requested_schema: schema,
}: JsonRecord): readonly string[] {
  return [`${show(upstream)} asks: ${whole(message)}`, whole(JSON.stringify(schema) ?? "")];
}

function voteText(vote: unknown): string {
  const { by, action } = recordIn(vote);
  return `  ${show(by)} says ${show(action)}`;
}

function decisionText({ status, timestamp, decided_by: by, reason }: JsonRecord): string {
  const why = reason === undefined ? "" : `: ${show(reason)}`;
  return `${show(status)} at ${show(timestamp)} by ${show(by ?? "an operator")}${why}`;
}

function whole(value: unknown): string {
  return defuse(String(value)).replaceAll("\n", "\ufffd");
}

function show(value: unknown): string {
  return typeof value === "string" ? defuseLine(value) : "-";
}

/** The agent of the first certificate of a PEM text; undefined if it names none. */
function certificateAgent(pem: string): string | undefined {
  try {
    const fields = describeCertificate(new X509Certificate(pem));
    if ("fault" in fields) return undefined;
    const agent = readAgentExtensions(fields.extensions);
    return agent === undefined || "fault" in agent ? undefined : agent.agentId;
  } catch {
    // The TLS handshake will report the fault.
    return undefined;
  }
}
