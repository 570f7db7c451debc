/** Whether strangers are believed.   AGTP "Agent Identity" */
import { exposedListener } from "../../../app/config/listeners.ts";
import type { Check } from "../finding.ts";

/** The check `unknown-agents`. */
export const unknownAgents: Check = {
  id: "unknown-agents",
  asks: "are agents that nobody knows turned away?",
  look: ({ config, configFile }) => {
    if (config.policies.identity.unknownAgents === "reject") return [];
    return [
      {
        severity: exposedListener(config, "claims") === undefined ? "warning" : "error",
        file: configFile,
        key: "policies.identity.unknown_agents",
        message: 'is "accept": whoever makes up an Agent-ID has the scopes that it claims',
        remedy: 'set it to "reject", and put a document of each agent under agents/',
      },
    ];
  },
};
