/**
 * OpenWOP: its agents as agents of this server, and runs of them and of workflows. One run host serves the AGTP
 * endpoints, the agents' own endpoints and the HTTP API.   OpenWOP RFC 0070, RFC 0072
 */
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import { findInactive, longestWaitMs } from "../../dispatch/module/hosted-agents.ts";
import type { Contribution, HostedInventory, Module } from "../../dispatch/module/module.ts";
import type { QuerySource } from "../../dispatch/module/query-source.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import { agentNotInstalled } from "../../dispatch/refusals/task-refusals.ts";
import { type ProtocolEndpoint, protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import { type AgentRoutesOptions, agentRoutes, inventoryEndpoints } from "./agent-endpoints.ts";
import type { OpenwopContext, OpenwopSections } from "./config.ts";
import { grantsOf, hostAgents, type OpenwopAgents } from "./host-agents.ts";
import { type HostedRuns, hostRuns, httpRoutes } from "./host-runs.ts";
import { ApiKeys } from "./http/api-keys.ts";
import type { InstalledAgent } from "./installed-agent.ts";
import { runEndpoints } from "./run-endpoints.ts";
import type { RunHost } from "./runs/run-host.ts";
import { type OpenwopState, openOpenwop } from "./state.ts";

/** It precedes `tasks`, so that confirmations of runs reach it first. */
export const openwopModule: Module<OpenwopSections> = {
  name: "openwop",
  takes: {
    ...{ agents: true, limits: true, openwop: true, policies: true, server: true, store: true },
    webhooks: true,
  },
  async provision(context) {
    const kept = await context.once(openOpenwop);
    const openwop = await hostAgents(context, kept);
    const runs = await hostRuns(context, openwop, kept);
    return contributeOpenwop(context, { openwop, kept, runs });
  },
};

interface OpenwopParts {
  readonly openwop: OpenwopAgents;
  readonly kept: OpenwopState;
  readonly runs: HostedRuns;
}

/** Returns the module's contribution to a deployment. */
export function contributeOpenwop(context: OpenwopContext, parts: OpenwopParts): Contribution {
  const { openwop, kept, runs } = parts;
  const { host, escalations } = runs;
  const { registry, redactor } = openwop;
  const { openwop: settings, policies, server } = context.config;
  const { tenant, runtime, apiKeys } = settings;
  let forgetGone = (): void => undefined;
  const maxWaitMs = longestWaitMs(context.config.limits);
  const { work } = context;
  const dispatching = { host, tenant, serverId: server.serverId, maxWaitMs, redactor, work };
  return {
    routes: [
      ...agentRoutes(registry.list(tenant), dispatching),
      ...protocolRoutes(endpointsOf(context, openwop, runs, dispatching), context),
    ],
    routesKey: "agents",
    httpRoutes: runs.isServing ? httpRoutes(context, openwop, kept, runs) : [],
    sources: [runSource(host, tenant, { tellsApart: policies.oauth !== undefined })],
    confirmables: [escalations],
    agents: openwop.documents,
    inventory: hostedInventory(context, openwop),
    hostedProtocols: registry.all.length === 0 ? [] : [HOSTED_PROTOCOL],
    problems: [...openwop.problems, ...runs.problems],
    blockers: openwop.blockers,
    complete: async () => {
      await openwop.keep();
      return openwop.findLostTools();
    },
    start: () => {
      const keys = new ApiKeys(apiKeys);
      kept.audience.serve(keys);
      kept.authority.serve({
        ...{ keys, directory: context.deployment().directory },
        unknownAgents: policies.identity.unknownAgents,
        findInactive: (document) => findInactive(context.state, document),
        certificates: context.state.certificates,
        grantsOf: (agentId) => grantsOf(settings, agentId),
      });
      kept.toolRates.limit(runtime.toolCallsPerMinute);
      void escalations.start();
      host.start();
      forgetGone = kept.register.onGone(() => void escalations.lookAgain());
    },
    stop: async () => {
      forgetGone();
      host.close();
    },
    close: () => openwop.close(),
  };
}

/** The endpoints of runs and agents of the tenant that AGTP callers belong to. */
function endpointsOf(
  context: OpenwopContext,
  openwop: OpenwopAgents,
  { host, isServing }: HostedRuns,
  dispatching: AgentRoutesOptions,
): readonly ProtocolEndpoint[] {
  const { registry, catalog, agtpIdOf } = openwop;
  const agents = registry.list(context.config.openwop.tenant);
  const policy = context.config.policies.identity;
  return [
    ...runEndpoints({ ...dispatching, host, isListed: isServing, agtpIdOf, policy }),
    ...inventoryEndpoints({
      ...{ ...dispatching, catalog, isListed: agents.length > 0 },
      resolve: resolverOf(context, openwop),
      isDisclosedTo: (agentId) => isDisclosedTo(context, agentId),
    }),
  ];
}

const HOSTED_PROTOCOL = {
  ...{ protocol: "openwop", method: "EXECUTE", path: "/agents/{agent_id}" },
} as const;

/** Finds a tenant's agent by its OpenWOP name, or by any name that AGTP resolves. */
function resolverOf({ deployment, config }: OpenwopContext, openwop: OpenwopAgents) {
  const { tenant } = config.openwop;
  const byAgtpId = agentsByAgtpId(openwop, tenant);
  return (name: string) =>
    openwop.registry.find(name, tenant) ??
    byAgtpId.get(deployment().directory.resolve(name)?.agentId ?? "");
}

/** The agents of a tenant that have an Agent-ID, by it. */
function agentsByAgtpId(
  { registry, documentOf }: OpenwopAgents,
  tenant: string,
): ReadonlyMap<string, InstalledAgent> {
  return new Map(
    registry.list(tenant).flatMap((agent) => {
      const document = documentOf(agent);
      return document === undefined ? [] : [[document.agentId, agent] as const];
    }),
  );
}

const MOST = 100;

/**
 * The caller's own runs as QUERY finds them; none without an Agent-ID. A run does not record which person behind the
 * sidecar it belongs to, so none are shown if tokens identify persons.   AGTP "QUERY"
 */
function runSource(
  host: RunHost,
  tenant: string,
  { tellsApart }: { readonly tellsApart: boolean },
): QuerySource {
  return {
    name: "openwop-run",
    entries: async ({ caller: { agentId }, peer }) => {
      const isOneOfMany = tellsApart && peer.speaksAs !== undefined;
      if (agentId === undefined || isOneOfMany) return [];
      const owner = { tenant, principal: `agtp:${agentId}`, scopes: [] };
      return host
        .list(owner)
        .slice(0, MOST)
        .map((entry) => {
          const { runId, workflowId, status, createdAt } = entry;
          const at = { createdAt: new Date(createdAt).toISOString() };
          const texts = [`run of ${workflowId}`, status, runId];
          return { id: runId, texts, content: { runId, workflowId, status, ...at } };
        });
    },
  };
}

/** The form of OpenWOP names, which no other agents should have. */
const OPENWOP_NAME = /^(?:core|vendor|community|private|local)\.[^.]+\./;

/** The inventory of the tenant that AGTP callers belong to. */
function hostedInventory(context: OpenwopContext, openwop: OpenwopAgents): HostedInventory {
  const { catalog } = openwop;
  const { tenant } = context.config.openwop;
  const isEmpty = catalog.inventory(tenant).length === 0;
  const find = (name: string, callerId: string | undefined): object | Refusal | undefined => {
    // With an inventory, an unknown name is not an agent's.
    if (!OPENWOP_NAME.test(name) && (isEmpty || isAgentId(name))) return undefined;
    const isShown = isDisclosedTo(context, callerId);
    const entry = isShown ? catalog.find(name, tenant) : undefined;
    if (entry !== undefined) return entry;
    // An undisclosed agent is refused in the same words as one that does not exist.
    const hosted = context.deployment().directory.resolve(name)?.agentId;
    const isKnown = hosted !== undefined && (isShown || hosted === callerId);
    return isKnown ? undefined : agentNotInstalled();
  };
  const byAgtpId = agentsByAgtpId(openwop, tenant);
  const toolsOf = ({ agentId }: AgentDocument): readonly string[] => {
    const agent = byAgtpId.get(agentId);
    return (agent && catalog.find(agent.agentId, tenant)?.toolAllowlist) ?? [];
  };
  return { isEmpty, find, toolsOf };
}
