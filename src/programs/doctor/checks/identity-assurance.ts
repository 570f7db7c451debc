/** Whether an Agent-ID is proved where others than this machine's users can claim one. */
import { describeListener, exposedListener } from "../../../app/config/listeners.ts";
import type { Check } from "../finding.ts";

/** The check `identity-assurance`. */
export const identityAssurance: Check = {
  id: "identity-assurance",
  asks: "do agents prove who they are?",
  look: ({ config, configFile }) => {
    const { assurance, allowUnverifiedIdentity } = config.policies.identity;
    const file = configFile;
    const exposed = exposedListener(config, "claims");
    if (exposed === undefined) {
      if (!allowUnverifiedIdentity) return [];
      const message = "is true, which a server on loopback does not need";
      const remedy = "delete it, so that it is not forgotten when the host changes";
      const key = "policies.identity.allow_unverified_identity";
      return [{ severity: "note", file, key, message, remedy }];
    }
    if (assurance === "certificate") return [];
    const message = `is "header" on ${describeListener(exposed)}: anybody there can claim to be any agent`;
    const remedy = 'set it to "certificate", with tls.client_auth and tls.client_ca';
    return [{ severity: "error", file, key: "policies.identity.assurance", message, remedy }];
  },
};
