/** The connections to MCP servers, through every reload. */
import { McpServer, type McpServerOptions } from "./mcp-server.ts";
import type { McpServerSettings } from "./server-settings.ts";

/** Servers that outlive a reload: one that is configured as before goes on as it is. */
export class McpServerPool {
  readonly #servers = new Map<string, { readonly server: McpServer; users: number }>();

  /** The server of these settings, until it is released as often as it was taken. */
  take(settings: McpServerSettings, options: McpServerOptions): McpServer {
    const key = JSON.stringify(settings);
    const known = this.#servers.get(key);
    if (known !== undefined) {
      known.users += 1;
      return known.server;
    }
    const server = new McpServer(settings, options);
    this.#servers.set(key, { server, users: 1 });
    return server;
  }

  /** Closes a server that nobody uses any more. */
  async release(server: McpServer): Promise<void> {
    if (this.#leave(server)) await server.close();
  }

  /** Ends a server that nobody uses any more with the last of its calls. */
  retire(server: McpServer): void {
    if (this.#leave(server)) server.retire();
  }

  /** True for the last of its users. */
  #leave({ settings }: McpServer): boolean {
    const key = JSON.stringify(settings);
    const known = this.#servers.get(key);
    if (known === undefined) return false;
    known.users -= 1;
    if (known.users > 0) return false;
    this.#servers.delete(key);
    return true;
  }
}
