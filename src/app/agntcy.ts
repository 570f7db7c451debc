/**
 * The AGNTCY agents of a deployment: declared by manifests, asked for at their servers, given an AGTP
 * identity, and served as endpoints of the operator's tier.   AGTP-API §6.1, "Validation Timing"
 */

import type { KeyObject } from "node:crypto";
import type { Config } from "../base/config.ts";
import type { Environment } from "../base/environment.ts";
import type { Problem } from "../base/problem.ts";
import type { MethodNames } from "../catalog/path-grammar.ts";
import type { MethodPolicy } from "../dispatch/method-policy.ts";
import type { QuerySource } from "../dispatch/query-source.ts";
import type { Route } from "../dispatch/route.ts";
import type { RecordStreamEvents } from "../dispatch/stream-events.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import type { CallLog } from "../handlers/handler.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import { type ConnectedAgent, connectAgents } from "../modules/agntcy/connect-agents.ts";
import { type DeclaredAgent, declareAgents } from "../modules/agntcy/declare-agents.ts";
import { agentRoutes, describeRoute } from "../modules/agntcy/endpoints/agent-routes.ts";
import type { HostedRuns } from "../modules/agntcy/endpoints/hosted-runs.ts";
import { InterruptDesk } from "../modules/agntcy/interrupts/interrupt-desk.ts";
import type { AgentUnavailable } from "../modules/agntcy/remote-agent.ts";
import { PATIENCE } from "../modules/agntcy/runs/await-verdict.ts";
import { RunFollower } from "../modules/agntcy/runs/run-follower.ts";
import { agentRunSource } from "../modules/agntcy/runs/run-source.ts";
import type { AgntcyState } from "../modules/agntcy/state.ts";
import { lookAgain, type SearchOptions } from "../modules/agntcy/verification/look-again.ts";
import type { EscalationRegister } from "../state/escalation-register.ts";
import { type HostedAgent, identifyHosted } from "../state/hosted-identity.ts";
import type { LifecycleRegister } from "../state/lifecycle-register.ts";
import type { Store } from "../state/store.ts";
import { exceptStoreFaults } from "../state/store-fault.ts";
import { markDocuments } from "./agntcy-documents.ts";

/** What the agents are loaded from. */
export interface AgntcySources {
  readonly config: Config;
  readonly names: MethodNames;
  readonly methodPolicy: Pick<MethodPolicy, "isKnown">;
  readonly env: Environment;
  readonly store: Store;
  readonly kept: AgntcyState;
  readonly escalations: EscalationRegister;
  /** Aborted when the daemon begins to stop. */
  readonly stopping: AbortSignal;
  readonly lifecycle: Pick<LifecycleRegister, "statusOf">;
  readonly signingKey: KeyObject | undefined;
  readonly log: Pick<CallLog, "info" | "warn">;
  /** Identities that are there already. */
  readonly operators: readonly AgentDocument[];
  /** Endpoints that are there already. */
  readonly endpoints: readonly EndpointDefinition[];
}

/** The agents, ready to be served. */
export interface AgntcyAgents {
  readonly routes: readonly Route[];
  /** Every identity there is, with those of the agents that nobody else gave one. */
  readonly documents: readonly AgentDocument[];
  readonly problems: readonly Problem[];
  readonly sources: readonly QuerySource[];
  /** Those that can be called, with their runs. */
  readonly hosted: readonly HostedRuns[];
  /** Keeps the identities that are new; to be awaited before anything is served. */
  keep(): Promise<void>;
  /** Takes up the runs that an earlier process, or an earlier configuration, left under way. */
  start(record: RecordStreamEvents): void;
  /** Leaves what is under way to whoever is started next. */
  handOver(): Promise<void>;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** A handler ends a little before its deadline, so that it says itself what there is to say. */
const HANDLER_MARGIN_MS = 500;
/** A run is waited for and listened to: enough for as many as may be under way with one agent. */
const LONG_CONNECTIONS = 128;

/** Loads them; writes nothing. */
export async function loadAgntcyAgents(sources: AgntcySources): Promise<AgntcyAgents> {
  const { config, env, kept, log } = sources;
  const declared = declareAgents(sources);
  const isCalling = declared.agents.some(({ upstream }) => upstream !== undefined);
  const pools = isCalling ? await openPools() : undefined;
  const closing = new AbortController();
  // Who is served next looks for agents by himself.
  const looking = new AbortController();
  const close = async (): Promise<void> => {
    closing.abort(new Error("the server is closing"));
    looking.abort();
    await Promise.all([follower.close(), pools?.close()]);
  };
  const follower = new RunFollower({ register: kept.runs, log });
  const context = { pools, env, closing: closing.signal };
  const connected = await connectAgents(declared.agents, context);
  const identities = await identify(connected.agents, sources);
  const maxWaitMs = Math.max(0, config.limits.handlerTimeoutMs - HANDLER_MARGIN_MS);
  const problems = [...declared.problems, ...connected.problems, ...identities.problems];
  const taken = new Map(sources.endpoints.map((one) => [`${one.method} ${one.path}`, one.file]));
  const desk = new InterruptDesk({
    ...{ register: kept.runs, words: kept.words, escalations: sources.escalations },
    policy: config.policies.identity,
    onFault: exceptStoreFaults((error) =>
      log.warn({ error }, "a run that asks could not be told to people"),
    ),
  });
  const served = connected.agents.flatMap((agent) => {
    const document = identities.documents.get(keyOf(agent.declared));
    if (document === undefined) return [];
    const runs: Omit<HostedRuns, "agent"> = {
      ...{ register: kept.runs, threads: kept.threads, follower, patience: PATIENCE, desk },
      ...{ maxWaitMs, closing: closing.signal, stopping: sources.stopping },
      findLapse: () => findLapse(sources, document),
    };
    const hosted = agent.remote && { ...runs, agent: agent.remote };
    const routes = routesOf(agent, document, hosted, sources);
    const conflict = routes.find(({ method, path }) => taken.has(`${method} ${path}`));
    if (conflict === undefined) return [{ agent, routes, hosted }];
    problems.push(pairTaken(conflict, taken.get(`${conflict.method} ${conflict.path}`)));
    return [];
  });
  return {
    routes: served.flatMap(({ routes }) => routes),
    documents: markDocuments(
      [...sources.operators, ...identities.issued],
      served.flatMap(({ agent }) => {
        const document = identities.documents.get(keyOf(agent.declared));
        return document === undefined ? [] : [{ agent, document }];
      }),
    ),
    problems,
    sources: declared.agents.length === 0 ? [] : [agentRunSource(kept.runs)],
    keep: () => identities.keep(),
    hosted: served.flatMap(({ hosted }) => hosted ?? []),
    start: (record) => {
      const agents = served.flatMap(({ agent }) => agent.remote ?? []);
      desk.start({ agents, record });
      follower.start(agents);
      for (const { agent } of served) lookFor(agent, { log, signal: looking.signal });
    },
    handOver: async () => {
      looking.abort();
      await follower.close();
      await desk.close();
    },
    close,
  };
}

/** An agent whose verification is put off is looked for by its callers. */
function lookFor(
  { declared: { settings }, readiness }: ConnectedAgent,
  rest: Pick<SearchOptions, "log" | "signal">,
): void {
  if (readiness === undefined || readiness.isReady || settings.isDeferred) return;
  void lookAgain({ readiness, base: settings.base, ...rest });
}

/** The HTTP client takes long to load: only a deployment that calls somebody waits for it. */
async function openPools() {
  const { createUpstreamPools } = await import("../handlers/upstream-pools.ts");
  const short = createUpstreamPools();
  const opened = [short];
  return {
    short,
    openLong: () => {
      const long = createUpstreamPools(LONG_CONNECTIONS);
      opened.push(long);
      return long;
    },
    close: () => Promise.all(opened.map((pools) => pools.close())),
  };
}

function routesOf(
  { declared, remote, dependencies, readiness }: ConnectedAgent,
  document: AgentDocument,
  hosted: HostedRuns | undefined,
  { methodPolicy }: AgntcySources,
): readonly Route[] {
  const { manifest, settings, choice, access } = declared;
  const context = { manifest, settings };
  const own =
    hosted === undefined
      ? []
      : agentRoutes(context, hosted).filter(({ method }) => methodPolicy.isKnown(method));
  const describe = describeRoute(context, {
    ...{ manifest, dependencies, readiness },
    base: settings.base,
    agentId: document.agentId,
    option: choice.option,
    endpoint: access.endpoint,
    reason: choice.kind === "declared" ? choice.reason : undefined,
    canCancel: remote?.canCancel ?? false,
    endpoints: [
      ...own.map(({ method, path }) => ({ method, path })),
      { method: "DESCRIBE", path: settings.base },
    ],
    requiredScopes: settings.requiredScopes,
  });
  return [...own, describe];
}

function pairTaken({ method, path, definition }: Route, file: string | undefined): Problem {
  const message = `is not served, ${method} ${path} is already an endpoint of ${file}`;
  return { file: definition.file, key: "", message };
}

/** One identity an agent, on however many paths it is served. */
function identify(
  agents: readonly ConnectedAgent[],
  { config: { server }, store, signingKey, operators }: AgntcySources,
) {
  const byKey = new Map(
    agents.map(({ declared }): [string, HostedAgent] => {
      const { name, description, file } = declared.manifest;
      return [keyOf(declared), { key: keyOf(declared), name, description, scopes: [], file }];
    }),
  );
  const { serverId, operator } = server;
  return identifyHosted([...byKey.values()], store, { serverId, operator, signingKey }, operators);
}

function keyOf({ manifest }: DeclaredAgent): string {
  return `agntcy/${manifest.name}`;
}

function findLapse(
  { lifecycle }: AgntcySources,
  document: AgentDocument,
): AgentUnavailable | undefined {
  const status = lifecycle.statusOf(document);
  if (status !== "suspended" && status !== "retired") return undefined;
  return { kind: "unavailable", message: `the agent is ${status}` };
}
