/**
 * Finds the target agent, hosted here or at a peer. 404 for an unknown agent · 403 for a server that is no peer, and
 * for an agent of a peer that tasks may not go to. AGTP "DELEGATE", AGTP "URI Scheme"
 */

import { type AgtpUri, parseUri, splitUri, type UriParts } from "../../client/uri.ts";
import { delegationForbidden } from "../../dispatch/refusals/delegation-refusals.ts";
import { notFound, type Refusal } from "../../dispatch/refusals/refusal.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import type { IsOwnAddress } from "../../identity/own-address.ts";
import type { PeerDirectory, PeerServer } from "./peers.ts";

export type DelegationTarget =
  | { readonly kind: "hosted"; readonly agent: AgentDocument }
  | { readonly kind: "remote"; readonly peer: PeerServer; readonly agent: string };

/** The sources that targets are looked up in. */
export interface TargetSources {
  readonly peers: PeerDirectory;
  readonly isOwnAddress: IsOwnAddress;
  /** Finds an agent of this server by its Agent-ID, or by name if the caller may see it. */
  findHosted(nameOrAgentId: string, callerId: string | undefined): AgentDocument | undefined;
}

const NAMED_PEER = /^([a-z0-9][a-z0-9._-]*):([^/:]+)$/i;

/** Resolves a target: an Agent-ID, a name, `PEER:AGENT`, or a URI. */
export function resolveTarget(
  sources: TargetSources,
  written: string,
  callerId: string | undefined,
): DelegationTarget | Refusal {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(written)) return resolveUri(sources, written, callerId);
  const hosted = sources.findHosted(written, callerId);
  if (hosted !== undefined) return { kind: "hosted", agent: hosted };
  const [, name = "", agent = ""] = NAMED_PEER.exec(written) ?? [];
  const named = sources.peers.findByName(name);
  if (named !== undefined) return remote(named, agent);
  const peer = sources.peers.findByAgent(written);
  return peer === undefined ? unknownAgent() : remote(peer, written);
}

function resolveUri(
  sources: TargetSources,
  written: string,
  callerId: string | undefined,
): DelegationTarget | Refusal {
  const parts = splitUri(written);
  const localId = parts && agentAlone(parts);
  if (localId !== undefined) return resolveTarget(sources, localId, callerId);
  const uri = readUri(written);
  const agent = uri?.agentId ?? uri?.agentName;
  if (uri === undefined || agent === undefined) return unknownAgent();
  // A peer may share its host with this server.
  const peer = sources.peers.findByAddress(uri);
  if (peer !== undefined) return remote(peer, agent);
  if (sources.isOwnAddress(uri.host, parts?.port)) {
    const hosted = sources.findHosted(agent, callerId);
    return hosted === undefined ? unknownAgent() : { kind: "hosted", agent: hosted };
  }
  const message = "that server is not configured as a peer, and is not asked";
  return delegationForbidden("peer-not-configured", message);
}

/** Form 1: a URI of an agent without a server. */
function agentAlone({ userinfo, host, port, path, query }: UriParts): string | undefined {
  const isAlone = userinfo === undefined && port === undefined && query === undefined;
  return isAlone && isAgentId(host) && ["", "/"].includes(path) ? host : undefined;
}

/** Returns undefined if it is not an agtp URI. */
function readUri(text: string): AgtpUri | undefined {
  try {
    return parseUri(text);
  } catch {
    return undefined;
  }
}

function remote(peer: PeerServer, agent: string): DelegationTarget | Refusal {
  if (peer.address === undefined) {
    const message = `tasks are taken from the peer "${peer.name}", and not handed on to it`;
    return delegationForbidden("peer-not-configured", message);
  }
  const isListed = peer.agents.length === 0 || peer.agents.includes(agent);
  if (isListed && (isAgentId(agent) || AGENT_NAME.test(agent))) {
    return { kind: "remote", peer, agent };
  }
  const message = `tasks are not handed on to that agent of the peer "${peer.name}"`;
  return delegationForbidden("agent-not-allowed", message);
}

const AGENT_NAME = /^[A-Za-z0-9._-]{1,256}$/;

function unknownAgent(): Refusal {
  return notFound("agent-not-found", "neither this server nor a peer has such an agent");
}
