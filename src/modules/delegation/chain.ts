/**
 * Verifies the chain of tokens of an arriving task: each link is signed by a known server that speaks for its agent,
 * comes from the agent that the previous link delegated to, and is narrower; no agent recurs. The first failing link
 * is named.   AGTP "DELEGATE", AGTP "Status Codes" (551)
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
  /** The public key of this server. */
  readonly ownKey: Ed25519PublicKey | undefined;
  now(): number;
}

export interface VerifiedChain {
  readonly kind: "verified";
  /** Oldest first. */
  readonly links: readonly DelegationLink[];
  /** The claims of the newest token. */
  readonly last: TokenClaims;
  /** The first governance zone that a link names. */
  readonly zone: string | undefined;
}

/** Verifies the tokens: oldest first, at least one. */
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

/** The first zone that is named; a server without zones names none. */
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
  // A target given by name is resolved by the signer of this link, so only Agent-IDs are compared.
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

/** Finds a link in which a server speaks for an agent that is not its own. */
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

/** Finds a link to an agent that has already delegated the task. */
function findLoop(claims: readonly TokenClaims[]): Refusal | undefined {
  const seen = new Set<string>();
  for (const [index, one] of claims.entries()) {
    seen.add(one.subject);
    if (seen.has(one.target)) return looped(linkOf(index, one));
  }
  return undefined;
}

/** 551: the task would return to an agent that has delegated it. */
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
 * Rules for the agents that a server may speak for: only its own. Its `[[peers]]` entry lists them, or else its
 * manifest; agents of this server and agents in another peer's entry are never among them.
 */
export interface VouchingRules {
  /** This server's id, the audience of the last link. */
  readonly serverId: string;
  readonly peers: PeerDirectory;
  /** True if an agent is, or ever was, one of this server. */
  isOwn(agentId: string): boolean;
  /** Returns the names of the agents in a peer's manifest, by Agent-ID; undefined if the manifest is unavailable. */
  shownBy(peer: PeerServer): Promise<ReadonlyMap<string, string> | undefined>;
  /** True if this server's ledger has that record of that agent. */
  hasRecord(agentId: string, auditId: string): Promise<boolean>;
}

/** Returns why a server may not speak for an agent, or undefined if it may. */
async function findVouchingFault(
  rules: VouchingRules,
  issuer: string,
  agentId: string,
): Promise<string | undefined> {
  const { serverId, peers } = rules;
  // This server signs for its own agents only.
  if (issuer === serverId) return undefined;
  const peer = peers.findByServerId(issuer);
  if (peer === undefined) return "its issuer is no peer of this server";
  if (rules.isOwn(agentId)) return "a peer does not speak for an agent of this server";
  if (peer.agents.includes(agentId)) return undefined;
  return peers.listsElsewhere(agentId, peer)
    ? "a peer does not speak for an agent of another one"
    : findUnlisted(rules, peer, agentId);
}

/** Tells whether a peer's record may name this action; an action of this server's own agent needs a record here. */
export async function isCredible(
  { isOwn, hasRecord }: VouchingRules,
  peer: PeerServer,
  { agent_id: agentId, audit_id: auditId }: PriorAction,
): Promise<boolean> {
  return !isOwn(agentId) || peer.agents.includes(agentId) || hasRecord(agentId, auditId);
}

/** Checks an agent that no entry lists; a peer with neither a list nor an address may speak for it. */
async function findUnlisted(
  { shownBy }: VouchingRules,
  peer: PeerServer,
  agentId: string,
): Promise<string | undefined> {
  if (peer.agents.length === 0 && peer.address === undefined) return undefined;
  // A list of Agent-IDs alone is decisive, so no manifest is fetched.
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
