/**
 * The address and credentials of an agent's server. Environment variables override both, and the agent id, under the
 * names of the AGNTCY tools: `org.agntcy.mail` reads `ORG_AGNTCY_MAIL_ENDPOINT` and the like. Manifests are untrusted,
 * so addresses of the machine's own surroundings are refused for any scheme. No message contains a value of these
 * variables.
 */
import { isLoopbackHost, isNobodysAddress } from "../../base/addresses.ts";
import type { Environment } from "../../base/environment.ts";
import { type JsonRecord, memberOf, parseRecord, quoteValue } from "../../base/json-value.ts";
import { parseUrl, withoutEndSlashes } from "../../base/url-text.ts";
import { isFieldValue, isToken } from "../../wire/header-fields.ts";

export interface UpstreamAddress {
  readonly origin: string;
  /** The path prefix, without a trailing slash. */
  readonly basePath: string;
}

type AddressResult =
  | { readonly address: UpstreamAddress; readonly fault?: undefined }
  | { readonly fault: string };

/** Parses an address. */
export function readAddress(written: string, allowsHttp: boolean): AddressResult {
  const url = parseUrl(written);
  const fault = url === undefined ? "must be an absolute URL" : findFault(url, allowsHttp);
  if (url === undefined || fault !== undefined) return { fault: `${quoteUrl(written)} ${fault}` };
  return { address: { origin: url.origin, basePath: withoutEndSlashes(url.pathname) } };
}

function findFault(url: URL, allowsHttp: boolean): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (url.username !== "" || url.password !== "") {
    return "must hold no user and no password, credentials are taken from the environment";
  }
  if (url.search !== "" || url.hash !== "") return "must have neither query nor fragment";
  if (isNobodysAddress(host)) return "is an address that no service has";
  if (url.protocol === "https:") return undefined;
  if (url.protocol !== "http:" || !isLoopbackHost(host)) return "must use https";
  return allowsHttp ? undefined : "must use https; plain http on loopback takes allow_http = true";
}

/** Quotes a URL without its password. */
function quoteUrl(written: string): string {
  return quoteValue(written.replace(/\/\/[^/@]*@/, "//…@"));
}

/** How to access an agent's server. */
export interface UpstreamAccess {
  /** Overrides the manifest's address. */
  readonly endpoint: string | undefined;
  /** Overrides the manifest's agent id. */
  readonly agentId: string | undefined;
  /** The header fields with credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The faults of the variables. */
  readonly faults: readonly string[];
}

/** Header fields that must not be used for a credential. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "connection", "content-length", "content-type", "expect"],
  ...["host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent"],
]);
const DEFAULT_KEY_FIELD = "x-api-key";
const AGENT_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The prefix of an agent's variables. */
export function variablePrefix(name: string): string {
  return `${name.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}_`;
}

/** Names the variables of an agent's credentials, for its operator. */
export function credentialHint(name: string): string {
  const prefix = variablePrefix(name);
  return `credentials are taken from ${prefix}API_KEY, ${prefix}ACCESS_TOKEN or ${prefix}USERNAME`;
}

/** Reads the variables of an agent. */
export function readAccess(
  name: string,
  env: Environment,
  scheme: JsonRecord | undefined,
): UpstreamAccess {
  const prefix = variablePrefix(name);
  const faults: string[] = [];
  const read = (suffix: string): string | undefined => {
    const variable = `${prefix}${suffix}`;
    const value = memberOf(env, variable);
    return value === "" ? undefined : value;
  };
  const agentId = read("ID");
  if (agentId !== undefined && !AGENT_ID.test(agentId)) faults.push(`${prefix}ID is no agent id`);
  const headers = {
    ...keyHeaders(read("API_KEY"), read("API_KEY_PREFIX"), scheme, `${prefix}API_KEY`, faults),
    ...authorization(read("ACCESS_TOKEN"), read("USERNAME"), read("PASSWORD"), prefix, faults),
  };
  for (const [field, value] of Object.entries(headers)) {
    if (!isFieldValue(value)) faults.push(`${prefix}… has a value that no header field can hold`);
    if (!isToken(field) || OWN_FIELDS.has(field.toLowerCase())) {
      faults.push(`${prefix}API_KEY names the header field ${quoteValue(field)}`);
    }
  }
  return { endpoint: read("ENDPOINT") ?? read("HOST"), agentId, headers, faults };
}

/** Tells whether required credentials are missing. */
export function lacksCredentials(
  { headers }: UpstreamAccess,
  scheme: JsonRecord | undefined,
): boolean {
  return scheme !== undefined && Object.keys(headers).length === 0;
}

/** Reads `{"x-api-key": "…"}`, the form of the AGNTCY tools, or a bare key. */
function keyHeaders(
  key: string | undefined,
  keyPrefix: string | undefined,
  scheme: JsonRecord | undefined,
  variable: string,
  faults: string[],
): Record<string, string> {
  if (key === undefined) return {};
  if (scheme?.["type"] === "apiKey" && scheme["in"] !== "header" && scheme["in"] !== undefined) {
    faults.push(`the agent takes its key in the ${quoteValue(scheme["in"])}, expected a header`);
    return {};
  }
  const keys = parseObject(key) ?? { [keyField(scheme)]: key };
  const prefixes = keyPrefix === undefined ? {} : (parseObject(keyPrefix) ?? { "": keyPrefix });
  const headers: Record<string, string> = {};
  for (const [field, value] of Object.entries(keys)) {
    if (typeof value !== "string") {
      faults.push(`${variable} must hold texts by header field`);
      continue;
    }
    const before = prefixes[field] ?? prefixes[""];
    headers[field.toLowerCase()] = typeof before === "string" ? `${before} ${value}` : value;
  }
  return headers;
}

function keyField(scheme: JsonRecord | undefined): string {
  const name = scheme?.["type"] === "apiKey" ? scheme["name"] : undefined;
  return typeof name === "string" ? name : DEFAULT_KEY_FIELD;
}

function authorization(
  token: string | undefined,
  username: string | undefined,
  password: string | undefined,
  prefix: string,
  faults: string[],
): Record<string, string> {
  if (token !== undefined && username !== undefined) {
    faults.push(`${prefix}ACCESS_TOKEN and ${prefix}USERNAME are both set, expected one of them`);
  }
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  if (username === undefined) return {};
  if (username.includes(":")) faults.push(`${prefix}USERNAME must have no colon`);
  const pair = Buffer.from(`${username}:${password ?? ""}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}

function parseObject(text: string): JsonRecord | undefined {
  return text.trimStart().startsWith("{") ? parseRecord(text) : undefined;
}
