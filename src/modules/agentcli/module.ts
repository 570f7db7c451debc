/** agentcli workflows: manifests whose exposed tasks are endpoints of the operator's tier.   AGTP-API §6.1 */
import type { Module } from "../../dispatch/module/module.ts";
import type { AgentcliSections } from "./config.ts";

export const agentcliModule: Module<AgentcliSections> = {
  name: "agentcli",
  takes: { agentcli: true, limits: true, server: true },
  async provision(context) {
    const { manifests, expose } = context.config.agentcli;
    if (manifests.length + expose.length === 0) return {};
    // A program that nobody uses is not loaded: a start would wait for it.
    const { serveTasks } = await import("./serve-tasks.ts");
    return serveTasks(context);
  },
};
