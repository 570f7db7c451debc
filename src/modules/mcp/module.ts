/** MCP on the HTTP listener: its tools, its callers and its path.   `[mcp]` */
import type { HttpApi, HttpRoute } from "../../dispatch/module/http-route.ts";
import type { Module } from "../../dispatch/module/module.ts";
import type { OpenKept } from "../../dispatch/process-state.ts";
import { openSecret } from "../../state/kept-secret.ts";
import type { McpContext, McpSections } from "./config.ts";
import { RequestStates } from "./contracts/front-contracts.ts";
import { creatingFront } from "./create-front.ts";
import type { McpFront } from "./front.ts";
import { createMetadataApi, METADATA_PREFIX, payerOfMessage } from "./identify.ts";
import { OpenStreams } from "./listening/open-streams.ts";
import { createMcpApi, type McpApiParts } from "./mcp-api.ts";
import { McpState } from "./mcp-state.ts";
import { openMcpTasks } from "./tasks/task.ts";

/** It goes behind the gateway, which serves it, and whose agent its clients speak as. */
export const mcpModule: Module<McpSections> = {
  name: "mcp",
  takes: { mcp: true, policies: true, server: true },
  async provision(context) {
    const { mcp, server } = context.config;
    const { http } = context;
    const streams = await context.once(openStreams);
    if (!mcp.enabled || http === undefined) return { start: () => streams.serve(undefined) };
    // The library is loaded late: only those wait for it who serve MCP.
    const kept = await context.once(openState);
    const endpoint = await kept.open(server.serverId, streams, context);
    let front: McpFront | undefined;
    const frontOf = (): McpFront => {
      if (front === undefined) throw new Error("the deployment is not put together yet");
      return front;
    };
    let isServed = false;
    const { toll } = context;
    const payerOf: McpApiParts["payerOf"] = (request) => payerOfMessage(context.tokens, request);
    const plugin = createMcpApi({ endpoint, toll, frontOf, payerOf });
    return {
      httpRoutes: [{ prefix: mcp.path, api: API, plugin, payerOf }, ...metadata(context, frontOf)],
      complete: async () => {
        front = await context.drive(creatingFront(context, http, kept));
        return [];
      },
      start: () => {
        isServed = true;
        kept.serve(frontOf(), context);
        streams.serve(frontOf());
      },
      // Streams and sessions are the process's: they end with the deployment that is served last.
      close: async () => {
        if (isServed) await kept.close();
      },
    };
  },
};

const API: HttpApi = { name: "mcp", description: "MCP: the endpoints of this server as tools." };

const SECRET = { collection: "mcp-secrets", key: "request-state" };

const openStreams: OpenKept<OpenStreams> = () => new OpenStreams();

const openState: OpenKept<McpState> = async (store, clock) => {
  const states = new RequestStates(await openSecret(store, SECRET), () => clock.now());
  return new McpState(await openMcpTasks(store, clock), states);
};

/** Where a token is asked for, who gives it is told beside. */
function metadata(context: McpContext, frontOf: () => McpFront): readonly HttpRoute[] {
  const { mcp, server, policies } = context.config;
  if (policies.oauth === undefined) return [];
  const plugin = createMetadataApi(() => frontOf().protection, server.serverId);
  return [{ prefix: `${METADATA_PREFIX}${mcp.path}`, api: API, plugin }];
}
