/** Whether anybody may suspend and revoke agents.   AGTP "Agent Lifecycle" */
import type { Check } from "../finding.ts";

/** The check `lifecycle-auth`. */
export const lifecycleAuth: Check = {
  id: "lifecycle-auth",
  asks: "can only issuers change lifecycles?",
  look: ({ config: { policies }, configFile }) => {
    if (policies.identity.lifecycleAuth === "genesis_issuer") return [];
    return [
      {
        severity: "warning",
        file: configFile,
        key: "policies.identity.lifecycle_auth",
        message: 'is "open": whoever reaches the port can revoke agents, for good',
        remedy: 'set it to "genesis_issuer"',
      },
    ];
  },
};
