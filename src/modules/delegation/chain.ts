/**
 * The chain of tokens that a task arrives with: each link signed by a server that is known here and speaks for
 * the agent in it, each by the agent that the one before handed on to, each narrower, none twice. The first link that
 * does not hold is named.   AGTP "DELEGATE", AGTP "Status Codes" (551)
 */
import { hash } from "node:crypto";
import type { DelegationLink, PriorAction } from "../../dispatch/caller/delegation.ts";
import { chainBroken, type FailingLink } from "../../dispatch/refusals/delegation-refusals.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import { compileGrants } from "../../identity/authority-scope.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import type { PeerDirectory, PeerServer } from "./peers.ts";
import { beyond, isNarrower } from "./scopes.ts";
import { isTokenFault, type TokenClaims, verifyToken } from "./token.ts";

export interface ChainRules extends VouchingRules {
  readonly maxDepth: number;
  /** The key of this server. */
  readonly ownKey: Ed25519PublicKey | undefined;
  now(): number;
}

export interface VerifiedChain {
  readonly kind: "verified";
  /** The oldest first. */
  readonly links: readonly DelegationLink[];
  /** The claims of the newest token. */
  readonly last: TokenClaims;
  /** The governance zone of the first agent that handed on within one. */
  readonly zone: string | undefined;
}

/** Verifies the tokens, the oldest first; one at least. */
export async function verifyTokens(
  tokens: readonly string[],
  rules: ChainRules,
): Promise<VerifiedChain | Refusal> {
  if (tokens.length > rules.maxDepth) return tooDeep(tokens.length - 1, rules.maxDepth);
  const { serverId, peers, ownKey } = rules;
  const keyFor = (issuer: string): Ed25519PublicKey | undefined =>
    issuer === serverId ? ownKey : peers.findByServerId(issuer)?.publicKey;
  const claims: TokenClaims[] = [];
  for (const [index, token] of tokens.entries()) {
    const verdict = await verifyToken(token, keyFor, rules.now());
    if (isTokenFault(verdict)) {
      const { fault, message, issuer } = verdict;
      const link = { index, ...(issuer === undefined ? {} : { server_id: issuer.slice(0, 256) }) };
      return chainBroken(fault, `the delegation token is not accepted: ${message}`, link);
    }
    const fault =
      checkLink(index, verdict, claims.at(-1), tokens) ?? checkZone(index, verdict, claims);
    if (fault !== undefined) return fault;
    claims.push(verdict);
  }
  const last = claims.at(-1);
  if (last === undefined) throw new Error("a chain of no tokens");
  const index = claims.length - 1;
  if (last.audience !== serverId) {
    return chainBroken(
      "audience",
      "the delegation token is for another server",
      linkOf(index, last),
    );
  }
  const fault = findLoop(claims) ?? (await findForeign(claims, rules));
  if (fault !== undefined) return fault;
  const links = claims.map((one, at) => asLink(one, tokens[at]));
  return { kind: "verified", links, last, zone: zoneOf(claims) };
}

/** A server that knows nothing of zones says none: the first that is named holds. */
function zoneOf(claims: readonly TokenClaims[]): string | undefined {
  return claims.find(({ zone }) => zone !== undefined)?.zone;
}

function checkZone(
  index: number,
  claims: TokenClaims,
  before: readonly TokenClaims[],
): Refusal | undefined {
  const zone = zoneOf(before);
  const isLeft = zone !== undefined && claims.zone !== undefined && claims.zone !== zone;
  if (!isLeft) return undefined;
  const explanation = "the link is of another governance zone than the ones before it";
  return chainBroken("chain", explanation, linkOf(index, claims));
}

function checkLink(
  index: number,
  claims: TokenClaims,
  before: TokenClaims | undefined,
  tokens: readonly string[],
): Refusal | undefined {
  const link = linkOf(index, claims);
  const hashes = tokens.slice(0, index).map((token) => hash("sha256", token));
  if (claims.chain.length !== index || claims.chain.some((one, at) => one !== hashes[at])) {
    return chainBroken("chain", "the link does not name the links before it", link);
  }
  if (before === undefined) return undefined;
  if (before.audience !== claims.issuer) {
    return chainBroken(
      "audience",
      "the link is not from the server that the one before was for",
      link,
    );
  }
  // The server that the link before was for has signed this one, and resolves its own names.
  if (isAgentId(before.target) && before.target !== claims.subject) {
    return chainBroken(
      "subject",
      "the link is not from the agent that the one before was to",
      link,
    );
  }
  const { covers } = compileGrants(before.scopes);
  const held = { scopes: before.scopes, covers };
  if (beyond(claims.scopes, held).length > 0 || !isNarrower(claims.scopes, held)) {
    return chainBroken(
      "scope",
      "the link hands on no strict subset of what the one before does",
      link,
    );
  }
  if (claims.deadline > before.deadline) {
    return chainBroken("expired", "the link lasts longer than the one before", link);
  }
  return undefined;
}

/** A link in which a server speaks for an agent that is not its own. */
async function findForeign(
  claims: readonly TokenClaims[],
  rules: VouchingRules,
): Promise<Refusal | undefined> {
  for (const [index, one] of claims.entries()) {
    const fault = await findVouchingFault(rules, one.issuer, one.subject);
    if (fault !== undefined) return chainBroken("subject", fault, linkOf(index, one));
  }
  return undefined;
}

/** An agent that hands on has not been handed to, and the other way round. */
function findLoop(claims: readonly TokenClaims[]): Refusal | undefined {
  const seen = new Set<string>();
  for (const [index, one] of claims.entries()) {
    seen.add(one.subject);
    if (seen.has(one.target)) return looped(linkOf(index, one));
  }
  return undefined;
}

/** 551: the work would come back to an agent that has handed it on. */
export function looped(link: FailingLink): Refusal {
  return chainBroken("loop", "the task comes back to an agent that has handed it on", link);
}

/** 551: too many hops. */
export function tooDeep(index: number, most: number): Refusal {
  return chainBroken("depth", `a task is handed on ${most} times at most`, { index });
}

function linkOf(index: number, { issuer, subject, target }: TokenClaims): FailingLink {
  return { index, server_id: issuer, agent_id: subject, target_agent_id: target };
}

function asLink(
  { issuer, subject, target, scopes }: TokenClaims,
  token: string | undefined,
): DelegationLink {
  return { agentId: subject, target, serverId: issuer, scopes, token };
}

/**
 * Which agents a server may speak for: its own, and nobody else's. Its entry in the configuration lists
 * them, or else its manifest shows them; an agent of this server is never one of them, and neither is one
 * that another peer's entry lists.
 */
export interface VouchingRules {
  /** This server: the audience of the last link. */
  readonly serverId: string;
  readonly peers: PeerDirectory;
  /** Tells whether an agent is, or ever was, one of this server. */
  isOwn(agentId: string): boolean;
  /** The agents that a peer's manifest shows, name by Agent-ID; undefined where it cannot be had. */
  shownBy(peer: PeerServer): Promise<ReadonlyMap<string, string> | undefined>;
  /** Tells whether this server has kept that record of that agent. */
  hasRecord(agentId: string, auditId: string): Promise<boolean>;
}

/** Why a server does not speak for an agent; undefined: it does. */
async function findVouchingFault(
  rules: VouchingRules,
  issuer: string,
  agentId: string,
): Promise<string | undefined> {
  const { serverId, peers } = rules;
  // Its own signature is its own word, which it gives for its own agents alone.
  if (issuer === serverId) return undefined;
  const peer = peers.findByServerId(issuer);
  if (peer === undefined) return "its issuer is no peer of this server";
  if (rules.isOwn(agentId)) return "a peer does not speak for an agent of this server";
  if (peer.agents.includes(agentId)) return undefined;
  return peers.listsElsewhere(agentId, peer)
    ? "a peer does not speak for an agent of another one"
    : findUnlisted(rules, peer, agentId);
}

/** Tells whether an action that a peer's record names may have been that agent's. */
export async function isCredible(
  { isOwn, hasRecord }: VouchingRules,
  peer: PeerServer,
  { agent_id: agentId, audit_id: auditId }: PriorAction,
): Promise<boolean> {
  return !isOwn(agentId) || peer.agents.includes(agentId) || hasRecord(agentId, auditId);
}

/** A peer that has neither a list nor an address is held against what others have alone. */
async function findUnlisted(
  { shownBy }: VouchingRules,
  peer: PeerServer,
  agentId: string,
): Promise<string | undefined> {
  if (peer.agents.length === 0 && peer.address === undefined) return undefined;
  // An Agent-ID that is not in a list of Agent-IDs is answered without asking anybody.
  const named = peer.agents.filter((one) => !isAgentId(one));
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
