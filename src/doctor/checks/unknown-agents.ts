/** Whether strangers are believed.   AGTP "Agent Identity" */
import { isLoopbackHost } from "../../config/loopback.ts";
import type { Check } from "../finding.ts";

/** The check `unknown-agents`. */
export const unknownAgents: Check = {
  id: "unknown-agents",
  asks: "are agents that nobody knows turned away?",
  look: ({ config: { policies, server }, configFile }) => {
    if (policies.identity.unknownAgents === "reject") return [];
    return [
      {
        severity: isLoopbackHost(server.host) ? "warning" : "error",
        file: configFile,
        key: "policies.identity.unknown_agents",
        message: 'is "accept": whoever makes up an Agent-ID has the scopes that it claims',
        remedy: 'set it to "reject", and put a document of each agent under agents/',
      },
    ];
  },
};
