/** AGNTCY agents, each described by a manifest and served at endpoints of the operator's tier.   AGTP-API §6.1 */
import type { Confirmable } from "../../dispatch/approvals/confirmation.ts";
import type { Module, ModuleContext } from "../../dispatch/module/module.ts";
import type { AgntcySections } from "./config.ts";

/** It precedes `tasks`, whose CONFIRM would decide an escalation without answering the run. */
export const agntcyModule: Module<AgntcySections> = {
  name: "agntcy",
  takes: { agntcy: true, agents: true, limits: true, policies: true, server: true },
  async provision(context) {
    // Loaded only if configured, to keep the start fast.
    if (context.config.agntcy.length === 0) return { confirmables: [unservedInterrupts(context)] };
    const { serveAgents } = await import("./serve-agents.ts");
    return serveAgents(context);
  },
};

/** Handles CONFIRM for runs of removed agents, which an answer can no longer reach. */
function unservedInterrupts({
  state: { escalations },
  attributor,
}: Pick<ModuleContext<AgntcySections>, "state" | "attributor">): Confirmable {
  return {
    confirm: async (...word) => {
      const { confirmableInterrupts } = await import("./interrupts/confirmable-interrupts.ts");
      return confirmableInterrupts({ escalations, attributor, hosted: [] }).confirm(...word);
    },
  };
}
