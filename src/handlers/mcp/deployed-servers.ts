/** The MCP servers that a deployment names, taken from those that are there or made anew. */
import type { Holders } from "../../state/holders.ts";
import type { McpServers } from "../call-upstream.ts";
import type { McpServerOptions } from "./kept-connection.ts";
import { McpServer } from "./mcp-server.ts";
import { createMcpTool } from "./mcp-tool.ts";
import type { McpServerSettings } from "./read-settings.ts";
import type { ToolPins } from "./tool-pins.ts";

/** The servers of a deployment; they are held until it is closed, or another is in its place. */
export interface DeployedServers extends McpServers {
  readonly servers: ReadonlyMap<string, McpServer>;
  readonly pins: ToolPins;
  /** Connects to them all, and looks after them. */
  start(): void;
  /** Another deployment is served: those that it does not name end with their last calls. */
  retire(): void;
  close(): Promise<void>;
}

/** The pool of a process; among others over one store, what waits in it names the process. */
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

/** Takes the servers of a deployment. Connects to nothing yet. */
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
      // Those whose last call is over may still be on their way out.
      await Promise.all([...ends, ...retired.map((server) => server.close())]);
    },
  };
}

/** Servers that outlive a reload: one that is configured as before goes on as it is. */
class McpServerPool {
  readonly #holders: Holders;
  readonly #servers = new Map<string, { readonly server: McpServer; users: number }>();

  constructor(holders: Holders) {
    this.#holders = holders;
  }

  /** The server of these settings, until it is released as often as it was taken. */
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

  /** Closes a server that nobody uses any more. */
  async release(server: McpServer): Promise<void> {
    if (this.#leave(server)) await server.close();
  }

  /** Ends a server that nobody uses any more with the last of its calls; false: somebody does. */
  retire(server: McpServer): boolean {
    const isLast = this.#leave(server);
    if (isLast) server.retire();
    return isLast;
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
