/** `[[mcp.servers]]`: the transport, the checks that only the files allow, and the secrets of each server. */

import { resolve } from "node:path";
import { findDirectoryFault } from "../../base/bounded-file.ts";
import { given, isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { Problem } from "../../base/problem.ts";
import { readCertificates } from "../../endpoint/upstream-ca.ts";
import {
  count,
  credential,
  flag,
  list,
  milliseconds,
  optional,
  path,
  type Schema,
  table,
  text,
  variables,
  word,
} from "../../schema/section-field.ts";

/** Reports a problem with a configuration key. */
type ReportSetting = (key: string, message: string, more: Pick<Problem, "hint">) => void;

/** The servers with valid settings; problems of the others are reported. */
export function readMcpSettings(
  servers: readonly McpServerConfig[],
  directory: string,
  report: ReportSetting = () => undefined,
): readonly McpServerSettings[] {
  const names = new Set<string>();
  return servers.flatMap((server, index): readonly McpServerSettings[] => {
    const fail: Fail = (key, message, hint) =>
      report(`mcp.servers[${index}]${key === "" ? "" : `.${key}`}`, message, { hint });
    if (names.has(server.name)) fail("name", `is "${server.name}" a second time`);
    names.add(server.name);
    const place = readPlace(server, directory, fail);
    if (place === undefined) return [];
    const { name, timeoutMs, startupTimeoutMs, maxResponseBytes } = server;
    const connectMs = place.kind === "command" ? startupTimeoutMs : timeoutMs;
    return [{ name, place, timeoutMs, connectMs, maxResponseBytes }];
  });
}

type Fail = (key: string, message: string, hint?: string) => void;

function readPlace(
  server: McpServerConfig,
  directory: string,
  fail: Fail,
): McpServerSettings["place"] | undefined {
  const { url, command, args, env, cwd, token, ca, allowHttp } = server;
  if ((url === undefined) === (command === undefined)) {
    fail("", "needs either url or command");
    return undefined;
  }
  if (command !== undefined) {
    for (const key of ["token", "ca"] as const) {
      if (server[key] !== undefined) fail(key, "is for a server with a url");
    }
    const place = resolve(directory, cwd);
    const misplaced = findDirectoryFault(place);
    if (misplaced !== undefined) fail("cwd", `"${place}" ${misplaced}`);
    return { kind: "command", command, args, env, cwd: place };
  }
  if (args.length > 0) fail("args", "is for a server with a command");
  if (Object.keys(env).length > 0) fail("env", "is for a server with a command");
  const fault = faultOf(url ?? "", allowHttp);
  if (fault !== undefined) fail("url", fault.message, fault.hint);
  const authorities = ca === undefined ? undefined : readCertificates(directory, ca);
  if (authorities?.fault !== undefined) fail("ca", authorities.fault);
  if (fault !== undefined || authorities?.fault !== undefined) return undefined;
  return { kind: "http", url: url ?? "", ...given({ token, ca: authorities?.text }) };
}

function faultOf(text: string, allowHttp: boolean): Pick<Problem, "message" | "hint"> | undefined {
  if (!URL.canParse(text)) return { message: "is no URL, expected https://host/path" };
  const { protocol, username, password } = new URL(text);
  if (username !== "" || password !== "") {
    return { message: "has credentials in it, expected a token" };
  }
  if (protocol === "https:" || (protocol === "http:" && allowHttp)) return undefined;
  const message = `has the scheme "${protocol.slice(0, -1)}", expected https`;
  return protocol === "http:"
    ? { message, hint: "allow_http = true is for trusted networks" }
    : { message };
}

/** The settings of Streamable HTTP. */
export interface McpHttpPlace {
  readonly kind: "http";
  readonly url: string;
  /** The bearer token, a secret. */
  readonly token?: string;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca?: string;
}

/** The settings of a child process, spoken to over its standard input and output. */
export interface McpCommandPlace {
  readonly kind: "command";
  readonly command: string;
  readonly args: readonly string[];
  /** The variables beside those that every child gets: PATH, HOME and the like. Values are secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** An absolute path. */
  readonly cwd: string;
}

/** A checked entry of `[[mcp.servers]]`. */
export interface McpServerSettings {
  readonly name: string;
  readonly place: McpHttpPlace | McpCommandPlace;
  /** The timeout of one request, connecting included. */
  readonly timeoutMs: number;
  /** The timeout of connecting: a program may take longer to start than a call may take. */
  readonly connectMs: number;
  /** The maximum length of one received message. */
  readonly maxResponseBytes: number;
}

/** `[[mcp.servers]]` */
export interface McpServerConfig {
  readonly name: string;
  /** Either this or `command`. */
  readonly url?: string;
  readonly token?: string;
  /** An absolute path. */
  readonly ca?: string;
  readonly allowHttp: boolean;
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** An absolute path. */
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly startupTimeoutMs: number;
  readonly maxResponseBytes: number;
}

/** The default time that a command may take to start. */
export const STARTUP_MS = 120_000;

/** The pattern of server names. */
export const SERVER_NAME = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$";

export const mcpServerSection: Schema = table(
  "An MCP server behind endpoints: either url or command",
  {
    name: optional(word("", SERVER_NAME, "letters, digits, - and _", "How endpoints name it")),
    url: optional(text("", "Streamable HTTP; https unless allow_http is true")),
    token: optional(credential("The bearer token that it wants; best taken from the environment")),
    ca: optional(path("", "Certificates to trust there instead of the system's, in PEM")),
    allow_http: flag(false, "Whether url may be plain HTTP"),
    command: optional(text("", "The program that serves on its standard input and output")),
    args: list(text("", "", { pattern: "^[^\\u0000]*$", expected: "a text" }), "Its arguments"),
    env: variables("Its variables, beside PATH, HOME and the like"),
    cwd: path(".", "The directory that it runs in"),
    timeout_ms: milliseconds(30_000, "How long one call may take"),
    startup_timeout_ms: milliseconds(
      STARTUP_MS,
      "How long a command may take until it answers: npx may have to fetch it",
    ),
    max_response_bytes: count(1_048_576, "Longest message that is taken from it", 1_073_741_824),
  },
  ["name"],
);

/** Shorter values occur in ordinary text, so they are not concealed. */
const LEAST_LENGTH = 6;
const CONCEALED = "[secret]";

/** The secrets that a server was given; they are removed from its messages, since it may echo them. */
export class Secrets {
  readonly #values: readonly string[];

  constructor({ place }: Pick<McpServerSettings, "place">) {
    const values = place.kind === "http" ? [place.token ?? ""] : Object.values(place.env);
    this.#values = values
      .flatMap((value) => [value, ...value.split(/\r?\n/)])
      .filter((value) => value.length >= LEAST_LENGTH)
      .sort((one, other) => other.length - one.length);
  }

  /** The text with the secrets replaced. */
  conceal(text: string): string {
    return this.#values.reduce((rest, value) => rest.replaceAll(value, CONCEALED), text);
  }

  /** A JSON value with the secrets replaced, in numbers and member names too. */
  concealIn<T extends JsonRecord>(value: T): T {
    if (this.#values.length === 0) return value;
    // Fast path: most values contain no secret, which one search shows.
    const json = JSON.stringify(value);
    const isIn = this.#values.some((secret) => json.includes(inJson(secret)));
    return isIn ? (this.#concealedIn(value) as T) : value;
  }

  #concealedIn(value: unknown): unknown {
    if (typeof value === "string") return this.conceal(value);
    if (typeof value === "number") {
      const text = String(value);
      const concealed = this.conceal(text);
      return concealed === text ? value : concealed;
    }
    if (Array.isArray(value)) return value.map((item) => this.#concealedIn(item));
    if (!isRecord(value)) return value;
    const members = Object.entries(value);
    return Object.fromEntries(
      members.map(([name, member]) => [this.conceal(name), this.#concealedIn(member)]),
    );
  }
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}
