/** DELEGATE: tasks that agents hand on to one another, here and at peers. */

import type { Config } from "../base/config.ts";
import { parseUri } from "../client/uri.ts";
import { type ActAs, createActAs } from "../dispatch/acting.ts";
import { buildRegistry } from "../endpoint/endpoint-registry.ts";
import { type Ed25519PublicKey, publicKeyOf } from "../identity/ed25519.ts";
import { decodeJws } from "../identity/jws.ts";
import { createArrivals } from "../modules/delegation/arriving.ts";
import { Background } from "../modules/delegation/background.ts";
import type { CallbackPlaces } from "../modules/delegation/callback.ts";
import { delegateHandler } from "../modules/delegation/delegate.ts";
import type { Performance } from "../modules/delegation/delegate-options.ts";
import { forward } from "../modules/delegation/forward.ts";
import { PeerDirectory } from "../modules/delegation/peers.ts";
import { DELEGATE_SCHEMA } from "../modules/delegation/request.ts";
import type { AgentUri, TargetSources } from "../modules/delegation/targets.ts";
import { loadJose } from "../modules/delegation/token.ts";
import { createVouching } from "../modules/delegation/vouching.ts";
import { work } from "../modules/delegation/work.ts";
import { disclosedAgents } from "../modules/discovery/inventory.ts";
import { canonicalPair } from "../server/pairs.ts";
import { actionResolver, isFloorPair } from "./floor-execution.ts";
import { createPeerClients } from "./peer-clients.ts";
import { createPeerManifests } from "./peer-manifests.ts";
import { readPeers } from "./peer-settings.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";

/** The part. */
export async function delegationPart(parts: FloorParts): Promise<FloorPart> {
  const { config, floor, log, signingKey, state } = parts;
  const { serverId } = config.server;
  const settings = readPeers(config);
  const peers = new PeerDirectory(settings.facts);
  const caller = createPeerClients(settings.connections);
  const manifests = createPeerManifests(settings.connections);
  const vouching = createVouching({
    ...{ serverId, peers },
    isOwn: ownAgents(parts),
    shownBy: (peer) => manifests.agentsOf(peer),
    hasRecord: async (agentId, auditId) => agentOf(await state.ledger.find(auditId)) === agentId,
  });
  const acting = lateActing();
  const { actAs } = acting;
  const resolver = actionResolver(parts);
  const background = new Background({
    ...{ register: floor.delegations, runs: floor.runs, log, actAs },
    findAgent: (agentId) => parts.directory.find(agentId),
  });
  const perform = ({ hop, request, taskId, time }: Performance) => {
    const { target, delegation } = hop;
    if (target.kind === "remote") {
      const sent = { peer: target.peer, delegation, written: request.written, taskId, time };
      return forward({ serverId, key: signingKey, caller, vouching }, sent);
    }
    const task = { agent: target.agent, task: request.task, delegation, taskId, time };
    return work({ actAs, resolver, isFloor: isFloorPair }, task);
  };
  const handler = delegateHandler({
    rules: { ...hopLimits(config), targets: targetSources(parts, peers) },
    ...{ runs: floor.runs, register: floor.delegations, background, perform },
    callbacks: await callbackPlaces(parts),
  });
  const method = { inputSchema: DELEGATE_SCHEMA, handler, endsInTime: true };
  return {
    methods: new Map([["DELEGATE", method]]),
    problems: settings.problems,
    delegations: createArrivals({
      ...{
        serverId,
        maxDepth: config.delegation.maxDepth,
        peers,
        vouching,
        seen: floor.seenTokens,
      },
      keyFor: keysOf(serverId, signingKey && publicKeyOf(signingKey), peers),
      now: () => Date.now(),
    }),
    join: (entrance) => {
      acting.use(createActAs(entrance, () => state.ledger.settled()));
    },
    start: () => {
      if (settings.facts.length > 0) loadJose.prepare();
      background.start();
    },
    close: async () => {
      await Promise.all([background.close(), caller.close(), manifests.close()]);
    },
  };
}

/** An agent whose document is gone has its chain all the same. */
function ownAgents({ directory, state }: FloorParts): (agentId: string) => boolean {
  return (agentId) =>
    directory.find(agentId) !== undefined || state.ledger.headOf(agentId) !== undefined;
}

/** Whom a record of this server is about. */
function agentOf(record: string | undefined): unknown {
  return record === undefined ? undefined : decodeJws(record)?.payload["agent_id"];
}

/** What acts is known only once the pipeline is there that it is a part of. */
function lateActing(): { readonly actAs: ActAs; use(made: ActAs): void } {
  let made: ActAs = () => Promise.reject(new Error("the pipeline is not there yet"));
  return {
    actAs: (acting) => made(acting),
    use: (given) => {
      made = given;
    },
  };
}

function hopLimits({ server, delegation, limits }: Config) {
  return {
    serverId: server.serverId,
    maxDepth: delegation.maxDepth,
    maxMs: delegation.maxSeconds * 1000,
    waitMs: limits.handlerTimeoutMs,
  };
}

function targetSources(parts: FloorParts, peers: PeerDirectory): TargetSources {
  const { directory, inventory, config } = parts;
  const { serverId, domain } = config.server;
  return {
    peers,
    ownHosts: domain === undefined ? [serverId] : [serverId, domain],
    // A peer's token names an agent that the operator lets tasks come to.
    findHosted: (name, callerId) => {
      const agent = directory.resolve(name);
      if (agent === undefined || callerId === undefined) return agent;
      return disclosedAgents(inventory, callerId).includes(agent) ? agent : undefined;
    },
    readUri,
  };
}

function readUri(text: string): AgentUri | undefined {
  try {
    return parseUri(text);
  } catch {
    return undefined;
  }
}

/** Where outcomes can go: the operator's endpoints, and inboxes as long as NOTIFY is the protocol's. */
async function callbackPlaces(parts: FloorParts): Promise<CallbackPlaces> {
  const { operatorRoutes, methodPolicy, drive } = parts;
  const { registry } = await drive(buildRegistry(operatorRoutes));
  const isEndpoint = (method: string, path: string): boolean =>
    registry.find(method, path.split("?", 1)[0] ?? "") !== undefined;
  const { method, path } = canonicalPair(methodPolicy, { method: "NOTIFY", path: "/" });
  const isOurs = method === "NOTIFY" && path === "/" && !isEndpoint(method, path);
  return { hasInboxes: isOurs, isEndpoint };
}

function keysOf(
  ownId: string,
  own: Ed25519PublicKey | undefined,
  peers: PeerDirectory,
): (serverId: string) => Ed25519PublicKey | undefined {
  return (serverId) => (serverId === ownId ? own : peers.findByServerId(serverId)?.publicKey);
}
