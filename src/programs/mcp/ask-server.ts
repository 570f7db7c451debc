/** Asks an MCP server for its tools, once, for a program. */
import { McpServer, type OfferedTools } from "../../handlers/mcp/mcp-server.ts";
import type { McpServerSettings } from "../../handlers/mcp/server-settings.ts";

/** Its tools; throws for a server that cannot be reached. */
export async function askTools(settings: McpServerSettings): Promise<OfferedTools> {
  const ignore = (): void => undefined;
  const server = new McpServer(settings, { log: { info: ignore, warn: ignore } });
  try {
    return await server.tools(AbortSignal.timeout(settings.timeoutMs));
  } finally {
    await server.close();
  }
}
