/**
 * MCP servers behind endpoints: connected to while a deployment is served, their tools' definitions
 * watched, what changes put before the operators, and what servers ask in the middle of a call.
 */
import type { Module } from "../../dispatch/module.ts";
import { recordStreamEvents } from "../../dispatch/stream-events.ts";
import type { PinnedTool } from "../../handlers/mcp/tool-pins.ts";
import { exceptStoreFaults } from "../../state/store-fault.ts";
import type { McpServersSections } from "./config.ts";
import { confirmableDefinitions } from "./confirm-definition.ts";
import { DefinitionWatch } from "./definition-watch.ts";
import { HeldQuestions } from "./held-questions.ts";

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
    const held = new HeldQuestions({
      ...{ escalations, onFault, servers: [...servers.values()] },
      record: recordStreamEvents(context),
      approvals: () => context.dispatch().approvals,
    });
    let unwatch: readonly (() => void)[] = [];
    return {
      features: ["mcp-servers"],
      approvals: [
        confirmableDefinitions({
          ...{ escalations, watch, policy: config.policies.identity },
          approvals: () => context.dispatch().approvals,
        }),
        held,
      ],
      start: () => {
        void watch.start().catch(onFault);
        held.start();
        unwatch = [...servers.values()].map((server) => watch.watch(server));
        mcpServers.start();
      },
      stop: async () => {
        held.stop();
        for (const end of unwatch) end();
      },
    };
  },
};
