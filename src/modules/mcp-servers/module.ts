/**
 * MCP servers behind endpoints: connected while a deployment is served, with their tools' definitions watched, changes
 * escalated to the operators, and questions in the middle of a call.
 */

import type { Confirmable } from "../../dispatch/approvals/confirmation.ts";
import type { Module } from "../../dispatch/module/module.ts";
import { createStreamRecorder } from "../../dispatch/stream-events.ts";
import type { PinnedTool } from "../../handlers/mcp/tool-pins.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";
import { exceptStoreFaults } from "../../state/store-fault.ts";
import { DefinitionWatch } from "./definition-watch.ts";
import { HeldQuestions } from "./held-questions.ts";

export const mcpServersModule: Module = {
  name: "mcp-servers",
  takes: {},
  async provision(context) {
    const { mcpServers, log, routes } = context;
    if (mcpServers === undefined) return {};
    const { escalations, holders } = context.state;
    const onFault = exceptStoreFaults((error) =>
      log.warn({ error }, "definitions of tools are not looked after"),
    );
    const tools = routes.flatMap(({ definition: { handler } }): readonly PinnedTool[] =>
      handler.type === "mcp_tool" ? [handler] : [],
    );
    const { pins, servers } = mcpServers;
    const watch = new DefinitionWatch({ tools, pins, escalations, log, onFault });
    const held = new HeldQuestions({
      ...{ escalations, holders, onFault, servers: [...servers.values()] },
      record: createStreamRecorder(context),
    });
    let unwatch: readonly (() => void)[] = [];
    return {
      features: ["mcp-servers"],
      confirmables: [confirmableDefinitions({ escalations, watch })],
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

/** The escalations to confirm, and the watch that pins accepted definitions. */
interface ConfirmDefinitionOptions {
  readonly escalations: Pick<EscalationRegister, "find">;
  readonly watch: Pick<DefinitionWatch, "changedToolOf" | "settle">;
}

/** Makes changed definitions confirmable: an accepted one is pinned at once.   AGTP "CONFIRM" */
function confirmableDefinitions(options: ConfirmDefinitionOptions): Confirmable {
  const { escalations, watch } = options;
  return {
    confirm: async (confirmation, _, byNext) => {
      const before = escalations.find(confirmation.targetId);
      if (before === undefined || watch.changedToolOf(before) === undefined) return undefined;
      const answer = await byNext();
      const after = escalations.find(before.escalationId);
      if (answer !== undefined && after !== undefined) await watch.settle(after);
      return answer;
    },
  };
}
