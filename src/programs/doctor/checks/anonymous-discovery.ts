/** Whether everybody on the network may look at what the server offers. */
import { describeListener, exposedListener } from "../../../app/config/listeners.ts";
import type { Check } from "../finding.ts";

/** The check `anonymous-discovery`. */
export const anonymousDiscovery: Check = {
  id: "anonymous-discovery",
  asks: "who may look at what is offered?",
  look: ({ config, configFile }) => {
    const exposed = exposedListener(config, "calls");
    if (!config.policies.anonymousDiscovery || exposed === undefined) return [];
    return [
      {
        severity: "warning",
        file: configFile,
        key: "policies.anonymous_discovery",
        message: `is true on ${describeListener(exposed)}: endpoints and agents are listed to everybody`,
        remedy:
          "set it to false, unless the server is for the public; agents.disclosure hides agents",
      },
    ];
  },
};
