/** EXECUTE, and DELEGATE: tasks that agents delegate to one another, here and at peers. */
import { THE_SERVER } from "../../base/task-queue.ts";
import type { Pair } from "../../catalog/pair.ts";
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import type { ActAs } from "../../dispatch/handling/acting.ts";
import type { Contribution, Module } from "../../dispatch/module/module.ts";
import { canonicalPair } from "../../dispatch/policy/method-policy.ts";
import {
  describeBy,
  type FloorMethod,
  floorEndpoints,
  isProtocolPair,
} from "../../dispatch/routes/floor.ts";
import { protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import { publicKeyOf } from "../../identity/ed25519.ts";
import { decodeJws } from "../../identity/jws.ts";
import { ownAddress } from "../../identity/own-address.ts";
import { splitTarget } from "../../wire/message.ts";
import { createArrivals } from "./arriving.ts";
import { Background } from "./background.ts";
import type { VouchingRules } from "./chain.ts";
import type { DelegationContext, DelegationSections } from "./config.ts";
import { delegateHandler, type Performance } from "./delegate.ts";
import { EXECUTE_SCHEMA, executeHandler, executionTarget } from "./execute.ts";
import { forward } from "./forward.ts";
import type { Outcome } from "./outcome.ts";
import { createPeerClients, createPeerManifests } from "./peer-clients.ts";
import { PeerDirectory, readPeers } from "./peers.ts";
import { runSource } from "./recent-runs.ts";
import { delegationEndpoint, openDelegationState } from "./register.ts";
import { callbackPlaces, DELEGATE_SCHEMA } from "./request.ts";
import { ActionResolver } from "./resolver.ts";
import type { TargetSources } from "./targets.ts";
import { loadJose } from "./token.ts";
import { work } from "./work.ts";

export const delegationModule: Module<DelegationSections> = {
  name: "delegation",
  takes: { agents: true, delegation: true, limits: true, peers: true, server: true },
  async provision(context) {
    const { runs, register } = await context.once(openDelegationState);
    const resolver = actionResolver(context);
    const { method, ...delegation } = await provisionDelegate(context, resolver);
    const execute = executeHandler({ resolver, runs, isFloor: isFloorPair });
    const methods = new Map<string, FloorMethod>([
      [
        "EXECUTE",
        {
          ...{ inputSchema: EXECUTE_SCHEMA, handler: execute },
          idempotencyMember: "idempotency_key",
          leadsTo: executionTarget(resolver),
        },
      ],
      ["DELEGATE", method],
    ]);
    const floor = floorEndpoints(methods, describeBy(context.catalog));
    return {
      ...delegation,
      routes: protocolRoutes([...floor, delegationEndpoint(register)], context),
      sources: [runSource(runs)],
      warmUp: () => {
        delegation.warmUp();
        const { signal } = context.stopping;
        // A stopping server abandons this; a lookup reports any other fault.
        void context.work.pace(resolver.prepare(), THE_SERVER, signal).catch(() => undefined);
      },
    };
  },
};

/** Resolves actions among the served endpoints and agents. */
function actionResolver(context: DelegationContext): ActionResolver {
  const { deployment, methodPolicy } = context;
  return new ActionResolver({
    endpoints: () => deployment().listed,
    agents: (callerId) => (isDisclosedTo(context, callerId) ? deployment().directory : undefined),
    agentById: (agentId) => deployment().directory.find(agentId),
    canonical: (pair) => canonicalPair(methodPolicy, pair),
  });
}

/** Tells whether the protocol itself answers a pair, whatever its query string. */
function isFloorPair({ method, path }: Pair): boolean {
  return isProtocolPair(method, splitTarget(path).path);
}

type Delegate = Pick<Contribution, "blockers" | "close" | "delegations" | "start" | "stop"> & {
  readonly method: FloorMethod;
  warmUp(): void;
};

async function provisionDelegate(
  context: DelegationContext,
  resolver: ActionResolver,
): Promise<Delegate> {
  const { config, log, signingKey, state } = context;
  const { runs, register, tasks, outcomes, seen } = await context.once(openDelegationState);
  const { serverId } = config.server;
  const settings = readPeers(config);
  const peers = new PeerDirectory(settings.peers);
  const caller = createPeerClients();
  const manifests = createPeerManifests();
  const vouching: VouchingRules = {
    ...{ serverId, peers },
    isOwn: ownAgents(context),
    shownBy: (peer) => manifests.agentsOf(peer),
    hasRecord: async (agentId, auditId) => agentOf(await state.ledger.find(auditId)) === agentId,
  };
  const actAs: ActAs = (acting) => context.deployment().actAs(acting);
  const background = new Background({
    ...{ register, runs, tasks, outcomes, log, actAs, certificates: state.certificates },
    findAgent: (agentId) => context.directory.find(agentId),
  });
  const perform = (performance: Performance): Promise<Outcome> => {
    const { target } = performance.hop;
    return target.kind === "remote"
      ? forward({ key: signingKey, caller, vouching }, target.peer, performance)
      : work({ actAs, resolver, isFloor: isFloorPair }, target.agent, performance);
  };
  const handler = delegateHandler({
    rules: { ...hopLimits(config), targets: targetSources(context, peers) },
    ...{ runs, register, background, perform, callbacks: await callbackPlaces(context) },
  });
  return {
    method: { inputSchema: DELEGATE_SCHEMA, handler, endsInTime: true },
    blockers: settings.problems,
    delegations: createArrivals({
      ...{ ...vouching, seen, maxDepth: config.delegation.maxDepth },
      ownKey: signingKey && publicKeyOf(signingKey),
      now: state.clock.now,
    }),
    start: () => background.start(),
    warmUp: () => {
      if (settings.peers.length > 0) loadJose.prepare();
    },
    stop: () => background.close(),
    close: async () => {
      await Promise.all([caller.close(), manifests.close()]);
    },
  };
}

/** Matches hosted agents, and removed ones whose chains remain. */
function ownAgents({ directory, state }: DelegationContext): (agentId: string) => boolean {
  return (agentId) =>
    directory.find(agentId) !== undefined || state.ledger.headOf(agentId) !== undefined;
}

/** The agent that a record of this server names. */
function agentOf(record: string | undefined): unknown {
  return record === undefined ? undefined : decodeJws(record)?.payload["agent_id"];
}

function hopLimits({ server, delegation, limits }: DelegationSections) {
  return {
    serverId: server.serverId,
    maxDepth: delegation.maxDepth,
    maxMs: delegation.maxSeconds * 1000,
    waitMs: limits.handlerTimeoutMs,
  };
}

function targetSources(context: DelegationContext, peers: PeerDirectory): TargetSources {
  return {
    peers,
    isOwnAddress: ownAddress(context.config.server),
    // A peer's token may name any agent, since the operator admits the peer's tasks.
    findHosted: (name, callerId) => {
      const { directory } = context;
      const isShown = callerId === undefined || isDisclosedTo(context, callerId);
      return isShown ? directory.resolve(name) : directory.find(name);
    },
  };
}
