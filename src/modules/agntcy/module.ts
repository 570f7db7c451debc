/** AGNTCY agents: each a manifest, served at endpoints of the operator's tier.   AGTP-API §6.1 */
import type { Module } from "../../dispatch/module/module.ts";
import type { AgntcySections } from "./config.ts";

/** It goes before tasks, whose CONFIRM would decide an escalation and give the run no answer. */
export const agntcyModule: Module<AgntcySections> = {
  name: "agntcy",
  takes: { agntcy: true, agents: true, limits: true, policies: true, server: true },
  async provision(context) {
    if (context.config.agntcy.length === 0) return {};
    // A program that nobody uses is not loaded: a start would wait for it.
    const { serveAgents } = await import("./serve-agents.ts");
    return serveAgents(context);
  },
};
