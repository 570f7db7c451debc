/** Who may read what agents did.   AGTP "INSPECT" */
import { exposedListener } from "../../../app/config/listeners.ts";
import type { Check } from "../finding.ts";

/** The check `inspect-access`. */
export const inspectAccess: Check = {
  id: "inspect-access",
  asks: "who may read the records of agents?",
  look: ({ config, configFile }) => {
    if (config.policies.identity.inspectAcl !== "public") return [];
    return [
      {
        severity: exposedListener(config, "calls") === undefined ? "warning" : "error",
        file: configFile,
        key: "policies.identity.inspect_acl",
        message: 'is "public": anybody may read what any agent did here',
        remedy: 'set it to "agent_only" or "operator_only"',
      },
    ];
  },
};
