/**
 * The environment's settings of an agent's server: where it is, which agent is meant, and the
 * credentials, under the names that the AGNTCY tools use. `org.agntcy.mail` reads
 * `ORG_AGNTCY_MAIL_ENDPOINT` and the like. No message holds a value of these variables.
 */
import type { Environment } from "../../base/environment.ts";
import { isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import { isFieldName, isFieldValue } from "../../wire/header-fields.ts";

/** Options of the connection to a server. */
export interface UpstreamAccess {
  /** Takes the place of the manifest's address. */
  readonly endpoint: string | undefined;
  /** Takes the place of the manifest's agent id. */
  readonly agentId: string | undefined;
  /** The header fields that carry the credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The fault of the variables, in words. */
  readonly faults: readonly string[];
}

/** Field names that a credential must not be under. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...["accept", "accept-encoding", "connection", "content-length", "content-type", "expect"],
  ...["host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent"],
]);
const DEFAULT_KEY_FIELD = "x-api-key";
const AGENT_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The beginning of the variables of an agent. */
export function variablePrefix(name: string): string {
  return `${name.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}_`;
}

/** Names the source of an agent's credentials, for its operator. */
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
    const value = Object.hasOwn(env, variable) ? env[variable] : undefined;
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
    if (!isFieldName(field) || OWN_FIELDS.has(field.toLowerCase())) {
      faults.push(`${prefix}API_KEY names the header field ${quoteValue(field)}`);
    }
  }
  return { endpoint: read("ENDPOINT") ?? read("HOST"), agentId, headers, faults };
}

/** Tells whether a scheme asks for credentials that are not there. */
export function lacksCredentials(
  { headers }: UpstreamAccess,
  scheme: JsonRecord | undefined,
): boolean {
  return scheme !== undefined && Object.keys(headers).length === 0;
}

/** `{"x-api-key": "…"}` as the tools hand it on, or the key alone. */
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
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
