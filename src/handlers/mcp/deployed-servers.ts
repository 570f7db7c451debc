/** The MCP servers of a deployment: reused from the pool, or created. */
import type { Holders } from "../../state/holders.ts";
import type { McpServers } from "../call-upstream.ts";
import type { McpServerOptions } from "./kept-connection.ts";
import { McpServer } from "./mcp-server.ts";
import { createMcpTool } from "./mcp-tool.ts";
import type { McpServerSettings } from "./read-settings.ts";
import type { ToolPins } from "./tool-pins.ts";

/** The servers of a deployment, held until it is closed or replaced. */
export interface DeployedServers extends McpServers {
  readonly servers: ReadonlyMap<string, McpServer>;
  readonly pins: ToolPins;
  /** Connects to every server and begins to refresh its tools. */
  start(): void;
  /** Called when another deployment is served: servers that it does not use end with their last calls. */
  retire(): void;
  close(): Promise<void>;
}

/** Opens the process's pool; where several processes share a store, held calls name their process. */
export function openServerPool(
  _store: unknown,
  _clock: unknown,
  { holders }: { readonly holders: Holders },
): McpServerPool {
  return new McpServerPool(holders);
}

interface DeployedServersParts extends McpServerOptions {
  readonly settings: readonly McpServerSettings[];
  readonly pool: McpServerPool;
  readonly pins: ToolPins;
}

/** Takes a deployment's servers from the pool. Connects to nothing yet. */
export function deployServers({
  settings,
  pool,
  pins,
  ...options
}: DeployedServersParts): DeployedServers {
  let isHeld = true;
  const retired: McpServer[] = [];
  const letGo = (): Iterable<McpServer> => {
    const held = isHeld ? servers.values() : [];
    isHeld = false;
    return held;
  };
  const servers = new Map(settings.map((one) => [one.name, pool.take(one, options)]));
  return {
    servers,
    pins,
    names: [...servers.keys()],
    timeoutMs: (name) => servers.get(name)?.settings.timeoutMs,
    bind: (binding, outputSchema) => {
      const server = servers.get(binding.server);
      return server && createMcpTool(binding, { server, pins, outputSchema });
    },
    start: () => {
      for (const server of servers.values()) server.start();
    },
    retire: () => {
      for (const server of letGo()) if (pool.retire(server)) retired.push(server);
    },
    close: async () => {
      const ends = [...letGo()].map((server) => pool.release(server));
      // Retired servers with no calls left may still be closing.
      await Promise.all([...ends, ...retired.map((server) => server.close())]);
    },
  };
}

/** The servers that outlive a reload: one with unchanged settings stays connected. */
class McpServerPool {
  readonly #holders: Holders;
  readonly #servers = new Map<string, { readonly server: McpServer; users: number }>();

  constructor(holders: Holders) {
    this.#holders = holders;
  }

  /** Takes the server of these settings; each take needs one release. */
  take(settings: McpServerSettings, options: McpServerOptions): McpServer {
    const key = JSON.stringify(settings);
    const known = this.#servers.get(key);
    if (known !== undefined) {
      known.users += 1;
      return known.server;
    }
    const server = new McpServer(settings, { ...options, holders: this.#holders });
    this.#servers.set(key, { server, users: 1 });
    return server;
  }

  /** Releases a server, and closes it after its last user. */
  async release(server: McpServer): Promise<void> {
    if (this.#leave(server)) await server.close();
  }

  /** Releases a server, and ends it with its last call; returns false if it has other users. */
  retire(server: McpServer): boolean {
    const isLast = this.#leave(server);
    if (isLast) server.retire();
    return isLast;
  }

  /** Removes one user; returns true for the last. */
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
