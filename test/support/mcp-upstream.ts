/** MCP servers behind the daemon: settings of those that run as child processes. */
import { join } from "node:path";
import { McpServer } from "../../src/handlers/mcp/mcp-server.ts";
import type { McpServerSettings } from "../../src/handlers/mcp/read-settings.ts";
import { bundledProgram } from "./bundled-program.ts";

const SUPPORT = import.meta.dirname;

/** The well-behaved one, by the SDK. */
export const SANE: string = await bundledProgram("mcp-server");
/** The one that does as its argument says. */
export const HOSTILE: string = join(SUPPORT, "hostile-mcp-server.mjs");
/** The one of 2026-07-28 that asks before it acts. */
export const ASKING: string = await bundledProgram("asking-mcp-server");

/** Settings of a script that serves on its pipes. */
export function scriptSettings(
  script: string,
  args: readonly string[] = [],
  more: {
    readonly env?: Record<string, string>;
    readonly timeoutMs?: number;
    readonly connectMs?: number;
  } = {},
): McpServerSettings {
  const { env = {}, timeoutMs = 15_000, connectMs = timeoutMs } = more;
  return {
    name: "tools",
    place: {
      kind: "command",
      command: process.execPath,
      args: [script, ...args],
      env,
      cwd: SUPPORT,
    },
    timeoutMs,
    connectMs,
    maxResponseBytes: 1_048_576,
  };
}

/** What a server was heard to say about itself. */
interface HeardServer {
  readonly server: McpServer;
  readonly warnings: readonly object[];
}

/** A server that nobody uses yet; to be closed. */
export function makeMcpServer(settings: McpServerSettings, now?: () => number): HeardServer {
  const warnings: object[] = [];
  const log = {
    info: () => undefined,
    warn: (fields: object) => void warnings.push(fields),
  };
  const server = new McpServer(settings, { log, ...(now && { now }) });
  return { server, warnings };
}
