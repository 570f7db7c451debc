/** Who may read what agents did.   AGTP "INSPECT" */
import { isLoopbackHost } from "../../config/loopback.ts";
import type { Check } from "../finding.ts";

/** The check `inspect-access`. */
export const inspectAccess: Check = {
  id: "inspect-access",
  asks: "who may read the records of agents?",
  look: ({ config: { policies, server }, configFile }) => {
    if (policies.identity.inspectAcl !== "public") return [];
    return [
      {
        severity: isLoopbackHost(server.host) ? "warning" : "error",
        file: configFile,
        key: "policies.identity.inspect_acl",
        message: 'is "public": anybody may read what any agent did here',
        remedy: 'set it to "agent_only" or "operator_only"',
      },
    ];
  },
};
