/**
 * The OpenWOP agents of a deployment: their packs loaded, their identities issued, their endpoints
 * made, and who takes their turns. Runs come in from elsewhere, through `starter`.
 * OpenWOP RFC 0070, RFC 0072
 */
import type { KeyObject } from "node:crypto";
import { basename } from "node:path";
import type { Config } from "../base/config.ts";
import type { Environment } from "../base/environment.ts";
import type { Problem } from "../base/problem.ts";
import { createActAs } from "../dispatch/acting.ts";
import type { InnerEntrance } from "../dispatch/dispatcher.ts";
import type { Route } from "../dispatch/route.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import type { EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { CallLog } from "../handlers/handler.ts";
import type { ModuleLoader } from "../handlers/module-loader.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import type { AgentExecutor } from "../modules/openwop/agent-executor.ts";
import { type AgentRegistry, createAgentRegistry } from "../modules/openwop/agent-registry.ts";
import { agentRoutes } from "../modules/openwop/agent-routes.ts";
import { findTableMistakes, findToolMistakes } from "../modules/openwop/find-mistakes.ts";
import type { InstalledAgent } from "../modules/openwop/installed-agent.ts";
import { type AgentInventory, createInventory } from "../modules/openwop/inventory.ts";
import { createRedactor, type Redactor } from "../modules/openwop/redaction.ts";
import { createRunStarterSlot, type RunStarterSlot } from "../modules/openwop/run-starter-slot.ts";
import { collectSecrets } from "../modules/openwop/secrets.ts";
import { type OpenwopSettings, readOpenwopSettings } from "../modules/openwop/settings.ts";
import { createExecutor } from "../modules/openwop/turn/executor.ts";
import { type HostedAgent, identifyHosted } from "../state/hosted-identity.ts";
import type { ServerState } from "../state/state.ts";
import type { Store } from "../state/store.ts";
import { readPacks } from "./openwop-packs.ts";
import { loadAgentRuntime } from "./openwop-runtime.ts";
import type { OpenwopState } from "./openwop-state.ts";
import { createLateToolHost } from "./openwop-tools.ts";

/** What they are loaded from. */
export interface OpenwopSources {
  readonly config: Config;
  readonly env: Environment;
  readonly store: Store;
  readonly state: ServerState;
  readonly signingKey: KeyObject | undefined;
  /** The operator's own agents. */
  readonly operators: readonly AgentDocument[];
  readonly endpoints: readonly EndpointDefinition[];
  readonly loader: ModuleLoader;
  /** What the server keeps through every reload. */
  readonly floor: { readonly openwop: Pick<OpenwopState, "face"> };
  readonly log: Pick<CallLog, "info" | "warn">;
}

/** The agents, and all that others need of them. */
export interface OpenwopAgents {
  readonly settings: OpenwopSettings;
  readonly registry: AgentRegistry;
  readonly inventory: AgentInventory;
  readonly executor: AgentExecutor;
  readonly redactor: Redactor;
  /** To be given whoever starts runs. */
  readonly starter: RunStarterSlot;
  /** How long an AGTP caller can wait for a run. */
  readonly maxWaitMs: number;
  /** Of the tenant that AGTP callers belong to. */
  readonly routes: readonly Route[];
  /** The identities that this server issued, those of other tenants left out. */
  readonly documents: readonly AgentDocument[];
  /** The AGTP identity of an agent. */
  documentOf(agent: InstalledAgent): AgentDocument | undefined;
  readonly problems: readonly Problem[];
  /** False: the configuration itself names what cannot be had, which stops the start. */
  readonly isSound: boolean;
  /** Keeps the identities that are new; to be awaited before anything is served. */
  keep(): Promise<void>;
  /** The pipeline that tool calls go through, and what it serves. */
  join(entrance: InnerEntrance, registry: EndpointRegistry<Route>): void;
  /** Tools that name no endpoint of those. */
  findLostTools(registry: EndpointRegistry<Route>): readonly Problem[];
  close(): Promise<void>;
}

/** A handler ends a little before its deadline, so that it says itself what there is to say. */
const HANDLER_MARGIN_MS = 500;

/** Loads them; writes nothing. */
export async function loadOpenwopAgents(sources: OpenwopSources): Promise<OpenwopAgents> {
  const { config, env, state, floor, endpoints } = sources;
  const settings = readOpenwopSettings(config);
  const packs = readPacks(config, settings);
  const registry = createAgentRegistry(packs.packs);
  const redactor = createRedactor(collectSecrets(config, env, endpoints));
  const identities = await identify(registry, settings, sources);
  const documentOf = (agent: InstalledAgent): AgentDocument | undefined =>
    identities.documents.get(keyOf(agent));
  const starter = createRunStarterSlot();
  const runtime = await loadAgentRuntime(settings, { ...sources, redactor });
  const host = createLateToolHost();
  const { tenant, grants } = settings;
  const executor = createExecutor({
    ...{ registry, runtime: runtime.runtime, redactor, host, reasoning: settings.reasoning },
    ...{ turnTimeoutMs: settings.turnTimeoutMs, maxToolCalls: settings.maxToolCalls },
    takeRate: (principal, toolName) =>
      floor.openwop.face.toolRates.take(principal, toolName, {
        perMinute: settings.toolCallsPerMinute,
      }),
    grantsOf: (agentId) => grants.get(agentId) ?? [],
    documentOf,
    findLapse: (document) => findLapse(state, document),
    onOddConfidence: (agentId, stated) => {
      const fields = { event: "agent-confidence-out-of-range", agent_id: agentId, stated };
      sources.log.warn(fields, "an agent's confidence is no number from 0 to 1, and counts as 0");
    },
  });
  const agents = registry.list(tenant);
  const maxWaitMs = Math.max(0, config.limits.handlerTimeoutMs - HANDLER_MARGIN_MS);
  const endpointsOf = withoutOperators(
    agentRoutes(agents, { starter, tenant, maxWaitMs, redactor }),
    endpoints,
  );
  const own = new Set(agents.map(documentOf));
  return {
    ...{ settings, registry, executor, redactor, starter, maxWaitMs, documentOf },
    inventory: createInventory(registry, redactor),
    routes: endpointsOf.routes,
    documents: identities.issued.filter((document) => own.has(document)),
    problems: [
      ...[...packs.problems, ...identities.problems, ...runtime.problems],
      ...endpointsOf.problems,
      ...findTableMistakes(settings, registry.all, basename(config.file)),
    ],
    isSound: packs.isSound && runtime.problems.length === 0,
    keep: () => identities.keep(),
    join: (entrance, routes) => {
      const actAs = createActAs(entrance, () => state.ledger.settled());
      host.use(actAs, (method, path) => routes.find(method, path)?.entry.definition);
    },
    findLostTools: (routes) =>
      findToolMistakes(packs.packs, (method, path) => routes.find(method, path) !== undefined),
    close: () => runtime.runtime.close(),
  };
}

/** What the operator serves there already stays. */
function withoutOperators(
  routes: readonly Route[],
  operators: readonly EndpointDefinition[],
): { readonly routes: readonly Route[]; readonly problems: readonly Problem[] } {
  const taken = new Map(operators.map((one) => [`${one.method} ${one.path}`, one.file]));
  const problems: Problem[] = [];
  const kept = routes.filter(({ method, path, definition }) => {
    const file = taken.get(`${method} ${path}`);
    if (file === undefined) return true;
    const message = `${method} ${path} is already an endpoint of ${file}`;
    problems.push({ file: definition.file, key: "agents", message });
    return false;
  });
  return { routes: kept, problems };
}

function identify(
  registry: AgentRegistry,
  { grants }: OpenwopSettings,
  { config: { server }, store, signingKey, operators }: OpenwopSources,
) {
  const wanted = registry.all.map((agent): HostedAgent => {
    const { agentId, pack, persona, description } = agent;
    return {
      key: keyOf(agent),
      name: pack.tenant === undefined ? agentId : `${pack.tenant}/${agentId}`,
      description: description || persona,
      scopes: grants.get(agentId) ?? [],
      file: pack.file,
    };
  });
  const { serverId, operator } = server;
  return identifyHosted(wanted, store, { serverId, operator, signingKey }, operators);
}

/** What an agent's identity belongs to. */
function keyOf({ agentId, pack: { tenant } }: InstalledAgent): string {
  return tenant === undefined ? `openwop/${agentId}` : `openwop/${agentId}@${tenant}`;
}

function findLapse({ lifecycle }: ServerState, document: AgentDocument): string | undefined {
  const status = lifecycle.statusOf(document);
  return status === "suspended" || status === "retired" ? `the agent is ${status}` : undefined;
}
