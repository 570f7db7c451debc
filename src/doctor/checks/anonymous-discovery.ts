/** Whether everybody on the network may look at what the server offers. */
import { isLoopbackHost } from "../../config/loopback.ts";
import type { Check } from "../finding.ts";

/** The check `anonymous-discovery`. */
export const anonymousDiscovery: Check = {
  id: "anonymous-discovery",
  asks: "who may look at what is offered?",
  look: ({ config: { policies, server }, configFile }) => {
    if (!policies.anonymousDiscovery || isLoopbackHost(server.host)) return [];
    return [
      {
        severity: "warning",
        file: configFile,
        key: "policies.anonymous_discovery",
        message: `is true on host "${server.host}": endpoints and agents are listed to everybody`,
        remedy:
          "set it to false, unless the server is for the public; agents.disclosure hides agents",
      },
    ];
  },
};
