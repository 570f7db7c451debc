/** AGNTCY agents: each a manifest, served at endpoints of the operator's tier.   AGTP-API §6.1 */
import type { Confirmable } from "../../dispatch/approvals/confirmation.ts";
import type { Module, ModuleContext } from "../../dispatch/module/module.ts";
import type { AgntcySections } from "./config.ts";

/** It goes before tasks, whose CONFIRM would decide an escalation and give the run no answer. */
export const agntcyModule: Module<AgntcySections> = {
  name: "agntcy",
  takes: { agntcy: true, agents: true, limits: true, policies: true, server: true },
  async provision(context) {
    // A program that nobody uses is not loaded: a start would wait for it.
    if (context.config.agntcy.length === 0) return { confirmables: [unservedInterrupts(context)] };
    const { serveAgents } = await import("./serve-agents.ts");
    return serveAgents(context);
  },
};

/** Runs of agents that were taken out may still wait for an answer, which would not reach them. */
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
