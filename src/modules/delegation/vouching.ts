/**
 * The agents that a server may speak for: its own, and nobody else's. Which these are, its entry in
 * the configuration lists, or else its manifest shows; an agent of this server is never one of
 * them, and neither is one that another peer's entry lists.   AGTP "DELEGATE", AGTP "Status Codes"
 * (551)
 */
import type { PriorAction } from "../../dispatch/caller/delegation.ts";
import type { PeerDirectory, PeerServer } from "./peers.ts";

/** The rules that vouching is judged by. */
interface VouchingRules {
  readonly serverId: string;
  readonly peers: PeerDirectory;
  /** Tells whether an agent is, or ever was, one of this server. */
  isOwn(agentId: string): boolean;
  /** The agents that a peer's manifest shows, name by Agent-ID; undefined where it cannot be had. */
  shownBy(peer: PeerServer): Promise<ReadonlyMap<string, string> | undefined>;
  /** Tells whether this server has kept that record of that agent. */
  hasRecord(agentId: string, auditId: string): Promise<boolean>;
}

/** Tells which servers speak for which agents. */
export interface Vouching {
  /** Why a server does not speak for an agent; undefined: it does. */
  findFault(issuer: string, agentId: string): Promise<string | undefined>;
  /** Tells whether an action that a peer's record names may have been that agent's. */
  isCredible(peer: PeerServer, action: PriorAction): Promise<boolean>;
}

/** Over the rules. */
export function createVouching(rules: VouchingRules): Vouching {
  const { serverId, peers, isOwn } = rules;
  return {
    findFault: async (issuer, agentId) => {
      // Its own signature is its own word, which it gives for its own agents alone.
      if (issuer === serverId) return undefined;
      const peer = peers.findByServerId(issuer);
      if (peer === undefined) return "its issuer is no peer of this server";
      if (isOwn(agentId)) return "a peer does not speak for an agent of this server";
      if (peer.agents.includes(agentId)) return undefined;
      return peers.listsElsewhere(agentId, peer)
        ? "a peer does not speak for an agent of another one"
        : findUnlisted(rules, peer, agentId);
    },
    isCredible: async (peer, { agent_id: agentId, audit_id: auditId }) =>
      !isOwn(agentId) || peer.agents.includes(agentId) || rules.hasRecord(agentId, auditId),
  };
}

/** A peer that has neither a list nor an address is held against what others have alone. */
async function findUnlisted(
  { shownBy }: VouchingRules,
  peer: PeerServer,
  agentId: string,
): Promise<string | undefined> {
  if (peer.agents.length === 0 && peer.address === undefined) return undefined;
  // An Agent-ID that is not in a list of Agent-IDs is answered without asking anybody.
  const named = peer.agents.filter((one) => !/^[0-9a-f]{64}$/.test(one));
  const isListed = peer.agents.length > 0;
  const unlisted = "the agent is none that the configuration lists for the peer";
  if ((isListed && named.length === 0) || peer.address === undefined) return unlisted;
  const shown = await shownBy(peer);
  if (shown === undefined) {
    return isListed ? unlisted : "the peer's manifest, which is to show the agent, cannot be had";
  }
  const name = shown.get(agentId);
  if (name === undefined) return "the agent is none that the peer's manifest shows";
  return isListed && !named.includes(name) ? unlisted : undefined;
}
