/** Identity: who is believed, and may read and change things without proving more. */
import { describeListener, exposedListener } from "../../../app/config/listeners.ts";
import { type Check, settingCheck } from "../check.ts";

/** In the order in which they are asked. */
export const IDENTITY_CHECKS: readonly Check[] = [
  // Strangers are believed.   AGTP "Agent Identity"
  settingCheck(
    "unknown-agents",
    "are agents that nobody knows turned away?",
    "policies.identity.unknown_agents",
    ({ config }) => {
      if (config.policies.identity.unknownAgents === "reject") return undefined;
      return {
        severity: exposedListener(config, "claims") === undefined ? "warning" : "error",
        message: 'is "accept": whoever makes up an Agent-ID has the scopes that it claims',
        hint: 'set it to "reject", and put a document of each agent under agents/',
      };
    },
  ),
  // Others than this machine's users can claim an Agent-ID without proving it.
  settingCheck(
    "identity-assurance",
    "do agents prove who they are?",
    "policies.identity.assurance",
    ({ config }) => {
      const { assurance, allowUnverifiedIdentity } = config.policies.identity;
      const exposed = exposedListener(config, "claims");
      if (exposed === undefined) {
        if (!allowUnverifiedIdentity) return undefined;
        return {
          severity: "note",
          key: "policies.identity.allow_unverified_identity",
          message: "is true, which a server on loopback does not need",
          hint: "delete it, so that it is not forgotten when the host changes",
        };
      }
      if (assurance === "certificate") return undefined;
      const place = describeListener(exposed);
      return {
        severity: "error",
        message: `is "header" on ${place}: anybody there can claim to be any agent`,
        hint: 'set it to "certificate", with tls.client_auth and tls.client_ca',
      };
    },
  ),
  // Anybody may suspend and revoke agents.   AGTP "Agent Lifecycle"
  settingCheck(
    "lifecycle-auth",
    "can only issuers change lifecycles?",
    "policies.identity.lifecycle_auth",
    ({ config: { policies } }) => {
      if (policies.identity.lifecycleAuth === "genesis_issuer") return undefined;
      return {
        message: 'is "open": whoever reaches the port can revoke agents, for good',
        hint: 'set it to "genesis_issuer"',
      };
    },
  ),
  // Everybody on the network may look at what the server offers.
  settingCheck(
    "anonymous-discovery",
    "who may look at what is offered?",
    "policies.anonymous_discovery",
    ({ config }) => {
      const exposed = exposedListener(config, "calls");
      if (!config.policies.anonymousDiscovery || exposed === undefined) return undefined;
      const place = describeListener(exposed);
      return {
        message: `is true on ${place}: endpoints and agents are listed to everybody`,
        hint: "set it to false, unless the server is for the public; agents.disclosure hides agents",
      };
    },
  ),
  // Everybody may read what agents did.   AGTP "INSPECT"
  settingCheck(
    "inspect-access",
    "who may read the records of agents?",
    "policies.identity.inspect_acl",
    ({ config }) => {
      if (config.policies.identity.inspectAcl !== "public") return undefined;
      return {
        severity: exposedListener(config, "calls") === undefined ? "warning" : "error",
        message: 'is "public": anybody may read what any agent did here',
        hint: 'set it to "agent_only" or "operator_only"',
      };
    },
  ),
  // Endpoints can be called without any authority.
  settingCheck(
    "scope-requirement",
    "does calling need a scope?",
    "policies.scope_required_for_invocation",
    ({ config: { policies } }) => {
      if (policies.scopeRequiredForInvocation) return undefined;
      return {
        message: "is false: agents without any scope may call what asks for none",
        hint: "set it to true",
      };
    },
  ),
];
