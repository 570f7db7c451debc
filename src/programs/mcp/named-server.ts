/** Resolves the MCP server on a command line: a name in the configuration, a URL, or a command to run. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { type Environment, literalValue, variableReference } from "../../base/environment.ts";
import { McpServer, type OfferedTools } from "../../handlers/mcp/mcp-server.ts";
import {
  type McpServerSettings,
  readMcpSettings,
  SERVER_NAME,
  STARTUP_MS,
} from "../../handlers/mcp/read-settings.ts";
import { kebab } from "../../openapi/words.ts";
import { usage } from "../shell/command.ts";
import { readConfig } from "../shell/read-config.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";

/** A server, and the configuration that its endpoints require. */
export interface NamedServer {
  readonly settings: McpServerSettings;
  /** The `[[mcp.servers]]` entry to add; undefined if it exists. */
  readonly entry: Readonly<Record<string, unknown>> | undefined;
}

const TIMEOUT_MS = 30_000;
const MAX_RESPONSE_BYTES = 1_048_576;

interface Naming {
  readonly config: string;
  readonly name?: string;
  /** The variables to pass to a command; it gets no others. */
  readonly variables: readonly string[];
}

/** Resolves `NAME`, `URL` or `COMMAND ARGS…`. */
export function nameServer(
  target: string,
  args: readonly string[],
  { config, name, variables }: Naming,
  terminal: Terminal,
): NamedServer {
  if (name !== undefined && !new RegExp(SERVER_NAME).test(name)) {
    throw usage(`--name ${JSON.stringify(name)}: expected letters, digits, - and _`);
  }
  const limits = {
    ...{ timeoutMs: TIMEOUT_MS, connectMs: STARTUP_MS, maxResponseBytes: MAX_RESPONSE_BYTES },
  };
  if (/^https?:\/\//i.test(target)) {
    if (!URL.canParse(target)) throw usage(`${JSON.stringify(target)} is no URL`);
    refuseVariables(variables);
    const { host, protocol } = new URL(target);
    const named = name ?? (kebab(host) || "server");
    const entry = {
      name: named,
      url: target,
      ...(protocol === "http:" ? { allow_http: true } : {}),
    };
    return { settings: { name: named, place: { kind: "http", url: target }, ...limits }, entry };
  }
  const isCommand = args.length > 0 || hasNone(config, terminal);
  const known = isCommand ? undefined : configured(target, config, terminal);
  if (known !== undefined) {
    refuseVariables(variables);
    return { settings: known, entry: undefined };
  }
  const named = name ?? (kebab(programName([target, ...args])) || "server");
  const { directory: cwd, environment } = terminal;
  const env = readVariables(variables, environment);
  const place = { kind: "command", command: target, args, env, cwd } as const;
  const references = variables.map((variable) => [variable, variableReference(variable)]);
  const entry = {
    ...literalValue({ name: named, command: target, args }),
    ...(variables.length === 0 ? {} : { env: Object.fromEntries(references) }),
  };
  return { settings: { name: named, place, ...limits }, entry };
}

/** A scoped package, a word with "mcp", or a source file. */
const PROGRAM = /^@[^/]+\/|mcp|\.(?:[cm]?[jt]s|jar|php|pl|py|rb|sh)$/i;
/** Common names of servers, where the folder or scope is more specific. */
const USUAL =
  /^(?:bin|build|cli|dist|http|index|lib|main|mcp|mcp[-_]server|out|server|src|stdio|\.{0,2})$/i;

/** The program in a command line, without version and extension. */
function programName(words: readonly string[]): string {
  const named = words.filter((word) => !word.startsWith("-"));
  const program = named.find((word) => PROGRAM.test(word)) ?? named.at(-1) ?? "";
  const parts = program.split("/").map((part) => part.replace(/(?!^)(?:[@:].*|\.[a-z]+)$/i, ""));
  return parts.findLast((part) => !USUAL.test(part)) ?? parts.at(-1) ?? "";
}

function refuseVariables(variables: readonly string[]): void {
  if (variables.length > 0) throw usage("--env is for a command, behind --");
}

function readVariables(
  names: readonly string[],
  environment: Environment,
): Readonly<Record<string, string>> {
  const values = names.map((name) => {
    const value = environment[name];
    if (value === undefined) throw usage(`--env ${name}: the environment has no such variable`);
    return [name, value] as const;
  });
  return Object.fromEntries(values);
}

/** The default configuration file. */
export const USUAL_CONFIG = "agtp-server.toml";

/** Returns true if no configuration was named, and the default one does not exist. */
function hasNone(config: string, { directory }: Terminal): boolean {
  return config === USUAL_CONFIG && !existsSync(resolve(directory, config));
}

function configured(
  name: string,
  config: string,
  terminal: Terminal,
): McpServerSettings | undefined {
  return settingsOf(readConfig(config, terminal)).find((one) => one.name === name);
}

/** The servers of a configuration. */
export function settingsOf({ mcp, directory }: Config): readonly McpServerSettings[] {
  return readMcpSettings(mcp.servers, directory);
}

/** The time after which a slow server is announced. */
const SILENCE_MS = 5_000;

/** Lists the tools of a server, once; throws if it cannot be reached. A wait for a slow one is announced. */
export async function askTools(
  settings: McpServerSettings,
  { err }: Pick<Terminal, "err">,
): Promise<OfferedTools> {
  const ignore = (): void => undefined;
  const server = new McpServer(settings, { log: { info: ignore, warn: ignore } });
  const { name, place, connectMs, timeoutMs } = settings;
  const most = Math.ceil((place.kind === "command" ? connectMs : timeoutMs) / 1_000);
  const slow = setTimeout(() => {
    err.write(defuseLine(`waiting for the MCP server "${name}", for ${most} s at most`));
    err.write("\n");
  }, SILENCE_MS);
  try {
    // The server's own timeout ends the request.
    return await server.tools(new AbortController().signal);
  } finally {
    clearTimeout(slow);
    await server.close();
  }
}
