/**
 * Checks of identity: which callers are believed and may read or change things without proof;
 * agents, their grants, and the validity of their documents.
 */

import { describeListener, exposedListener } from "../../../app/config/listeners.ts";
import type { JsonRecord } from "../../../base/json-value.ts";
import type { AgentDocument } from "../../../identity/agent-document.ts";
import { type Check, type Observation, type Subject, settingCheck } from "../check.ts";

/** The checks, in the order in which they run. */
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
  // Users of other machines can claim an Agent-ID without proof.
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
  // Another service that receives a token can use it here.   RFC 8725 §3.9
  settingCheck(
    "token-audience",
    "are only tokens taken that are meant for this server?",
    "policies.oauth.audience",
    ({ config: { policies } }) => {
      if (policies.oauth === undefined || policies.oauth.audience !== undefined) return undefined;
      return {
        message:
          "is not set: tokens that the issuer makes out for other services are taken as well",
        hint: "set it to the aud that the issuer gives to tokens for this server",
      };
    },
  ),
  // Anyone may suspend and revoke agents.   AGTP "Agent Lifecycle"
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
  // Anyone on the network may discover what the server offers.
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
  // Anyone may read what agents did.   AGTP "INSPECT"
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
  // Grants are unbounded: methods beyond the catalog, and scopes with an asterisk.
  {
    id: "wildcards",
    asks: "are grants as narrow as they can be?",
    look: (subject) => {
      const { config, configFile, agents } = subject;
      return [
        ...(config.policies.wildcardsAccepted ? [methodsBeyondCatalog(configFile)] : []),
        ...agents.flatMap(({ file, scopes }) => judgeScopes(file, "scopes_accepted", scopes)),
        ...grantedScopes(subject).flatMap(({ key, scopes }) =>
          judgeScopes(configFile, key, scopes),
        ),
      ];
    },
  },
  // Hosted agents can do nothing, because their issuers are not, or no longer, trusted. AGTP-TRUST
  // "Trust Anchors"
  {
    id: "issuer-trust",
    asks: "are the issuers of agents trusted?",
    look: ({ agents }) => agents.flatMap(judgeIssuer),
  },
  // Agents' documents have expired by a member that the drafts do not define and the daemon does
  // not read; or hosted agents are no longer active.
  {
    id: "agent-documents",
    asks: "are the documents of agents still good?",
    look: ({ agents, machine: { now } }) =>
      agents.flatMap((agent) => [
        ...checkEnd(agent.file, agent.document, now),
        ...(agent.genesis === undefined
          ? []
          : checkEnd(agent.genesis.file, agent.genesis.document, now)),
        ...checkStatus(agent),
      ]),
  },
];

const NARROWER = "name the scopes that are needed";

function methodsBeyondCatalog(file: string): Observation {
  return {
    severity: "warning",
    file,
    key: "policies.wildcards_accepted",
    message:
      "is true: the manifest invites methods that the catalog does not have, which are refused with 459",
    hint: "set it to false, and name methods of your own in policies.methods.custom",
  };
}

function grantedScopes({ config: { peers, openwop } }: Subject) {
  return [
    ...peers.flatMap(({ scopes, acceptScopes }, index) => [
      { key: `peers[${index}].scopes`, scopes },
      { key: `peers[${index}].accept_scopes`, scopes: acceptScopes },
    ]),
    ...Object.entries(openwop.agents).map(([name, { scopes }]) => {
      return { key: `openwop.agents.${JSON.stringify(name)}.scopes`, scopes };
    }),
  ];
}

function judgeScopes(file: string, key: string, scopes: readonly string[]): readonly Observation[] {
  const wild = scopes.filter((scope) => scope.includes("*"));
  const all = wild.filter((scope) => /^\*(?::\*)*$/.test(scope));
  if (wild.length === 0) return [];
  const names = (all.length > 0 ? all : wild).slice(0, 5).join(", ");
  return all.length > 0
    ? [{ severity: "warning", file, key, message: `${names} grants everything`, hint: NARROWER }]
    : [
        {
          severity: "note",
          file,
          key,
          message: `${names} grants more than it names`,
          hint: NARROWER,
        },
      ];
}

const TRUSTED_ISSUER =
  "list the issuer in policies.identity.trusted_issuers, or take away what a revoked one signed";

function judgeIssuer({ file, signature, genesis }: AgentDocument): readonly Observation[] {
  const untrusted: Observation[] = [];
  if (signature === "untrusted") {
    const message =
      "is signed by an issuer that is not trusted: the agent holds none of its scopes";
    untrusted.push({
      ...{ severity: "warning", file, key: "manifest_issuer_public_key" },
      ...{ message, hint: TRUSTED_ISSUER },
    });
  }
  if (genesis !== undefined && !genesis.isTrusted) {
    const message = "is signed by an issuer that is not trusted: what it says of trust is ignored";
    untrusted.push({
      ...{ severity: "warning", file: genesis.file, key: "issuer_public_key" },
      ...{ message, hint: TRUSTED_ISSUER },
    });
  }
  return untrusted;
}

const DAY_MS = 86_400_000;
const SOON_MS = 30 * DAY_MS;
/** The members that issuers use for the expiry of a document. */
const ENDS = ["expires_at", "expires", "valid_until", "not_after"];

function checkEnd(file: string, document: JsonRecord, now: number): readonly Observation[] {
  return ENDS.flatMap((key): readonly Observation[] => {
    const written = document[key];
    const end = typeof written === "string" ? Date.parse(written) : Number.NaN;
    if (Number.isNaN(end) || end - now >= SOON_MS) return [];
    const place = { file, key };
    const date = new Date(end).toISOString();
    if (end <= now) {
      const message = `was over at ${date}; the daemon does not look at it and serves the agent`;
      const hint = "have the issuer sign a new document, or take the file away";
      return [{ ...place, severity: "error", message, hint }];
    }
    const message = `will be over at ${date}`;
    return [
      { ...place, severity: "warning", message, hint: "have the issuer sign a new document" },
    ];
  });
}

function checkStatus({ file, status }: AgentDocument): readonly Observation[] {
  if (status === "active") return [];
  const message = `is "${status}" and still hosted here`;
  const hint = "take the file away, unless its history is to be looked up here";
  return [{ severity: "note", file, key: "status", message, hint }];
}
