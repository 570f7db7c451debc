/** agentcli workflows: the exposed tasks of manifests as endpoints of the operator's tier.   AGTP-API §6.1 */
import type { Module } from "../../dispatch/module/module.ts";
import type { AgentcliSections } from "./config.ts";

export const agentcliModule: Module<AgentcliSections> = {
  name: "agentcli",
  takes: { agentcli: true, limits: true, server: true },
  async provision(context) {
    const { manifests, expose } = context.config.agentcli;
    if (manifests.length + expose.length === 0) return {};
    // Loaded only if configured, to keep the start fast.
    const { serveTasks } = await import("./serve-tasks.ts");
    return serveTasks(context);
  },
};
