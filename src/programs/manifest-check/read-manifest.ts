/**
 * Reads a manifest from a file, or requests it from a server over AGTP as the draft specifies. An
 * unreadable file is a client error; another answer of the server is a finding, and so are missing
 * header fields.   AGTP-API §8.10, §8.11
 */
import { quoteValue, recordIn } from "../../base/json-value.ts";
import { isTooDeep } from "../../base/nesting.ts";
import { findRepeatedMember } from "../../base/repeated-member.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { ClientResponse } from "../../client/agtp-client.ts";
import { MANIFEST_TYPE } from "../../identity/manifest-signature.ts";
import { askServer, type TrustFlags } from "../shell/ask-server.ts";
import { readText, usage } from "../shell/command.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { ReportFinding } from "./findings.ts";

interface FetchFlags extends TrustFlags {
  readonly agentId?: string | undefined;
}

/** Deeper values have no use in a manifest, and would overflow the stack. */
const MAX_DEPTH = 128;

/** Returns true if a source is a server, not a file. */
export function isUri(source: string): boolean {
  return /^agtp:\/\//i.test(source);
}

/** Reads a manifest file; throws ERR_AGTP_REQUEST if it is not JSON. */
export function readManifestFile(file: string, terminal: Terminal, report: ReportFinding): unknown {
  const text = readText(terminal.directory, file);
  const parsed = parseManifest(text, report);
  if (parsed.fault === undefined) return parsed.value;
  throw usage(`${JSON.stringify(file)} ${parsed.fault}`);
}

/** Fetches a server's manifest; undefined if it answered with something else. */
export async function fetchManifest(
  uri: string,
  flags: FetchFlags,
  terminal: Terminal,
  report: ReportFinding,
): Promise<unknown> {
  const response = await ask(uri, flags, terminal);
  const fault = (message: string): undefined => {
    report({ severity: "error", key: "", rule: "8.10", message });
  };
  if (response.status !== 200) {
    const code = errorCode(response.body);
    const reason = code === undefined ? "" : ` ${quoteValue(code)}`;
    return fault(`the server answers ${response.status}${reason}, expected 200 and its manifest`);
  }
  checkResponse(response, report);
  const parsed = parseManifest(response.text, report);
  return parsed.fault === undefined ? parsed.value : fault(`the body ${parsed.fault}`);
}

/** Requests the manifest: without an Agent-ID plain DISCOVER returns it; with one, the media type selects it. */
async function ask(
  uri: string,
  { agentId, ...trust }: FetchFlags,
  terminal: Terminal,
): Promise<ClientResponse> {
  const headers = agentId === undefined ? [] : [["Accept", MANIFEST_TYPE] as const];
  const request = { method: "DISCOVER", path: "/", agentId, headers };
  return askServer(trust, uri, terminal, (client) => client.request(request));
}

function errorCode(body: unknown): unknown {
  const error = recordIn(body)["error"];
  return recordIn(error)["code"];
}

type ParsedManifest =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly fault: string };

function parseManifest(text: string, report: ReportFinding): ParsedManifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `is not JSON: ${reasonOf(error)}` };
  }
  if (isTooDeep(value, MAX_DEPTH)) return { fault: `is nested deeper than ${MAX_DEPTH} levels` };
  const repeated = findRepeatedMember(text);
  if (repeated !== undefined) {
    const message = `has the member ${quoteValue(repeated)} twice in one object, so nobody knows what is signed`;
    report({ severity: "error", key: "", rule: "8.8", message });
  }
  return { value };
}

/** Checks the response with a manifest: its media type and cache lifetime. AGTP-API §8.10, §8.11 */
function checkResponse({ headers }: ClientResponse, report: ReportFinding): void {
  const type = headers.get("content-type");
  const [essence = ""] = (type ?? "").toLowerCase().split(";");
  if (essence.trim() !== MANIFEST_TYPE) {
    const message = `the Content-Type is ${quoteValue(type ?? "")}, expected ${MANIFEST_TYPE}`;
    report({ severity: "error", key: "", rule: "8.10", message });
  }
  for (const name of ["Cache-Control", "ETag"]) {
    if (headers.get(name.toLowerCase()) !== undefined) continue;
    const message = `the response has no ${name}`;
    report({ severity: "warning", key: "", rule: "8.11", message });
  }
}
