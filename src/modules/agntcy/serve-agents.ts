/**
 * Serves a deployment's AGNTCY agents: declared by manifests, verified at their servers, given an AGTP identity, and
 * exposed as endpoints of the operator's tier.   AGTP-API §6.1, "Validation Timing"
 */
import type { Problem } from "../../base/problem.ts";
import {
  findInactive,
  identifyAgents,
  longestWaitMs,
} from "../../dispatch/module/hosted-agents.ts";
import type { Contribution } from "../../dispatch/module/module.ts";
import type { Route } from "../../dispatch/routes/route.ts";
import { createStreamRecorder } from "../../dispatch/stream-events.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { Collection } from "../../state/collection.ts";
import type { HostedAgent } from "../../state/registers/hosted-identity.ts";
import type { ServerState } from "../../state/state.ts";
import type { Store } from "../../state/store.ts";
import { exceptStoreFaults } from "../../state/store-fault.ts";
import type { AgntcyContext } from "./config.ts";
import { type ConnectedAgent, connectAgents } from "./connect-agents.ts";
import { type DeclaredAgent, declareAgents } from "./declare-agents.ts";
import { agentRoutes, describeRoute } from "./endpoints/agent-routes.ts";
import type { HostedRuns } from "./endpoints/hosted-runs.ts";
import { confirmableInterrupts } from "./interrupts/confirmable-interrupts.ts";
import { type ApprovalsUnderWay, InterruptDesk } from "./interrupts/interrupt-desk.ts";
import type { AgentUnavailable } from "./remote-agent.ts";
import { type AgentRuns, type AgentThread, openAgentRuns, openThreads } from "./runs/agent-runs.ts";
import { RunFollower } from "./runs/run-follower.ts";
import { agentRunSource, markDocuments, upstreamView } from "./shown-agents.ts";
import { lookAgain, type SearchOptions } from "./verification/readiness.ts";

/** Enough to await and stream as many runs as one agent may have. */
const LONG_CONNECTIONS = 128;

/** Loads the agents and returns their contribution, without writing to the store. */
export async function serveAgents(context: AgntcyContext): Promise<Contribution> {
  const { config, env, log, state, attributor } = context;
  const { escalations } = state;
  const kept = await context.once(openAgntcy);
  const declared = declareAgents(context);
  const isCalling = declared.agents.some(({ upstream }) => upstream !== undefined);
  const pools = isCalling ? await openPools() : undefined;
  const closing = new AbortController();
  // Aborted on close: the next deployment looks for agents itself.
  const looking = new AbortController();
  const follower = new RunFollower({ register: kept.runs, log });
  const connected = await connectAgents(declared.agents, { pools, env, closing: closing.signal });
  const identities = await identifyAgents(hostedAgents(connected.agents), context);
  const desk = new InterruptDesk({
    ...{ register: kept.runs, approvals: kept.approvals, escalations },
    policy: config.policies.identity,
    onFault: exceptStoreFaults((error) =>
      log.warn({ error }, "a run that asks could not be told to people"),
    ),
  });
  const runs: Omit<HostedRuns, "agent" | "findInactive"> = {
    ...{ register: kept.runs, threads: kept.threads, follower, desk },
    maxWaitMs: longestWaitMs(config.limits),
    ...{ closing: closing.signal, stopping: context.stopping.signal },
  };
  const identified = connected.agents.flatMap((agent): readonly ServedAgent[] => {
    const document = identities.documents.get(keyOf(agent.declared));
    if (document === undefined) return [];
    const inactive = () => unavailable(context, document);
    const hosted = agent.remote && { ...runs, findInactive: inactive, agent: agent.remote };
    return [{ agent, document, hosted, routes: routesOf(agent, document, hosted, context) }];
  });
  const { served, problems } = withoutTaken(identified, context);
  const hosted = served.flatMap((one) => one.hosted ?? []);
  return {
    routes: served.flatMap(({ routes }) => routes),
    agents: markDocuments([...context.directory.list(), ...identities.issued], served),
    problems: [
      ...[...declared.problems, ...connected.problems, ...identities.problems],
      ...problems,
    ],
    sources: declared.agents.length === 0 ? [] : [agentRunSource(kept.runs)],
    upstreamAgents: () => served.map(({ agent }) => upstreamView(agent)),
    confirmables: [confirmableInterrupts({ escalations, attributor, hosted })],
    complete: async () => {
      await identities.keep();
      return [];
    },
    start: () => {
      const agents = served.flatMap(({ agent }) => agent.remote ?? []);
      desk.start({ agents, record: createStreamRecorder(context) });
      follower.start(agents);
      for (const { agent } of served) lookFor(agent, { log, signal: looking.signal });
    },
    stop: async () => {
      looking.abort();
      await follower.close();
      await desk.close();
    },
    close: async () => {
      closing.abort(new Error("the server is closing"));
      await pools?.close();
    },
  };
}

interface ServedAgent {
  readonly agent: ConnectedAgent;
  readonly document: AgentDocument;
  readonly routes: readonly Route[];
  readonly hosted: HostedRuns | undefined;
}

/** Leaves out agents with a path that is already taken: an agent is served whole or not at all. */
function withoutTaken(
  agents: readonly ServedAgent[],
  { taken }: AgntcyContext,
): { readonly served: readonly ServedAgent[]; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const served = agents.filter(({ routes }) => {
    const conflict = routes.find((route) => taken.fileOf(route) !== undefined);
    if (conflict !== undefined) problems.push(pairTaken(conflict, taken.fileOf(conflict)));
    return conflict === undefined;
  });
  return { served, problems };
}

/** Starts looking for an agent that was not found; with deferred verification, its callers do. */
function lookFor(
  { declared: { settings }, readiness }: ConnectedAgent,
  rest: Pick<SearchOptions, "log" | "signal">,
): void {
  if (readiness === undefined || readiness.isReady || settings.deferred) return;
  void lookAgain({ readiness, base: settings.base, ...rest });
}

/** Loaded late: the HTTP client takes long to load, and not every deployment calls a server. */
async function openPools() {
  const { createUpstreamPools } = await import("../../handlers/upstream-pools.ts");
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
  agent: ConnectedAgent,
  document: AgentDocument,
  hosted: HostedRuns | undefined,
  { methodPolicy, state: { view }, work }: AgntcyContext,
): readonly Route[] {
  const { manifest, settings } = agent.declared;
  const context = { manifest, settings, view, work };
  const own =
    hosted === undefined
      ? []
      : agentRoutes(context, hosted).filter(({ method }) => methodPolicy.isKnown(method));
  const endpoints = [
    ...own.map(({ method, path }) => ({ method, path })),
    { method: "DESCRIBE", path: settings.base },
  ];
  const describe = describeRoute(context, agent, document.agentId, endpoints);
  return [...own, describe];
}

function pairTaken({ method, path, definition }: Route, file: string | undefined): Problem {
  const message = `is not served, ${method} ${path} is already an endpoint of ${file}`;
  return { file: definition.file, key: "", message };
}

/** The identities of agents, one each even if served on several paths. */
function hostedAgents(agents: readonly ConnectedAgent[]): readonly HostedAgent[] {
  const byKey = new Map(
    agents.map(({ declared }): [string, HostedAgent] => {
      const { name, description, file } = declared.manifest;
      return [keyOf(declared), { key: keyOf(declared), name, description, scopes: [], file }];
    }),
  );
  return [...byKey.values()];
}

function keyOf({ manifest }: DeclaredAgent): string {
  return `agntcy/${manifest.name}`;
}

function unavailable(
  { state }: AgntcyContext,
  document: AgentDocument,
): AgentUnavailable | undefined {
  const message = findInactive(state, document);
  return message === undefined ? undefined : { kind: "unavailable", message };
}

interface AgntcyState {
  readonly runs: AgentRuns;
  readonly threads: Collection<AgentThread>;
  /** Approvals in flight. */
  readonly approvals: ApprovalsUnderWay;
}

/** Opens the state of AGNTCY agents that is kept across reloads. */
async function openAgntcy(
  store: Store,
  _: unknown,
  { holders }: Pick<ServerState, "holders">,
): Promise<AgntcyState> {
  const runs = await openAgentRuns(store, holders);
  return { runs, threads: await openThreads(store), approvals: new Map() };
}
