/**
 * MCP servers behind endpoints: connected to while a deployment is served, their tools' definitions
 * watched, and what changes put before the operators.
 */
import type { Module } from "../../dispatch/module.ts";
import type { PinnedTool } from "../../handlers/mcp/tool-pins.ts";
import { exceptStoreFaults } from "../../state/store-fault.ts";
import type { McpServersSections } from "./config.ts";
import { confirmableDefinitions } from "./confirm-definition.ts";
import { DefinitionWatch } from "./definition-watch.ts";

export const mcpServersModule: Module<McpServersSections> = {
  name: "mcp-servers",
  takes: { policies: true },
  async provision(context) {
    const { mcpServers, log, config, routes } = context;
    if (mcpServers === undefined) return {};
    const { escalations } = context.state;
    const onFault = exceptStoreFaults((error) =>
      log.warn({ error }, "definitions of tools are not looked after"),
    );
    const tools = routes.flatMap(({ definition: { handler } }): readonly PinnedTool[] =>
      handler.type === "mcp_tool" ? [handler] : [],
    );
    const { pins, servers } = mcpServers;
    const watch = new DefinitionWatch({ tools, pins, escalations, log, onFault });
    let unwatch: readonly (() => void)[] = [];
    return {
      features: ["mcp-servers"],
      approvals: [
        confirmableDefinitions({
          ...{ escalations, watch, policy: config.policies.identity },
          approvals: () => context.dispatch().approvals,
        }),
      ],
      start: () => {
        void watch.start().catch(onFault);
        unwatch = [...servers.values()].map((server) => watch.watch(server));
        mcpServers.start();
      },
      stop: async () => {
        for (const end of unwatch) end();
      },
    };
  },
};
