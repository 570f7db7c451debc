/**
 * Judges a hop of a delegation before any work: whether this caller may delegate this task to that agent. A hop that a
 * peer has made is taken as its token states it.
 * 262 a scope that the caller lacks, or all of its scopes · 403 not permitted · 404 no such agent · 457 out of the
 * zone · 550 past its deadline · 551 too deep, in a circle, or with an unverified token.   AGTP "DELEGATE"
 */
import { given } from "../../base/json-value.ts";
import type { Delegation, DelegationLink } from "../../dispatch/caller/delegation.ts";
import {
  chainBroken,
  delegationFailed,
  delegationForbidden,
} from "../../dispatch/refusals/delegation-refusals.ts";
import {
  agentNotFound,
  authorizationRequired,
  type Refusal,
  zoneViolation,
} from "../../dispatch/refusals/refusal.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { looped, tooDeep } from "./chain.ts";
import type { DelegationRequest } from "./request.ts";
import { beyond, type Held, isNarrower, refuseScopes } from "./scopes.ts";
import { type DelegationTarget, resolveTarget, type TargetSources } from "./targets.ts";

export interface HopRules {
  readonly serverId: string;
  readonly maxDepth: number;
  /** The longest time for a task (`maxMs`), and for a caller to wait for one (`waitMs`). */
  readonly maxMs: number;
  readonly waitMs: number;
  readonly targets: TargetSources;
}

export interface Hop {
  readonly target: DelegationTarget;
  /** The delegation, whose last link is this hop. */
  readonly delegation: Delegation;
}

/** Returns the hop, or why it is refused. */
export function prepareHop(
  rules: HopRules,
  request: DelegationRequest,
  exchange: ExchangeView,
): Hop | Refusal {
  const { caller } = exchange;
  const before = caller.delegation;
  if (before?.isArriving) return takeArriving(rules, request, before, zoneOf(exchange));
  if (request.hasToken) {
    const index = before?.links.length ?? 0;
    const explanation = "the delegation token was not presented with the request itself";
    return chainBroken("not-first-hand", explanation, { index });
  }
  const agentId = caller.agentId ?? "";
  const target = resolveTarget(rules.targets, request.target, agentId);
  if (target.kind === "refusal") return target;
  const link: DelegationLink = {
    agentId,
    target: target.kind === "hosted" ? target.agent.agentId : target.agent,
    serverId: rules.serverId,
    scopes: request.scopes,
    token: undefined,
    principalId: caller.principalId,
    certificate: exchange.peer.certificate,
  };
  const links = [...(before?.links ?? []), link];
  const refusal =
    checkPermission(caller.document, target) ??
    checkScopes(request.scopes, caller.authority) ??
    checkOffer(request.scopes, target) ??
    checkChain(rules, links, caller.document) ??
    checkZone(exchange, target);
  if (refusal !== undefined) return refusal;
  const longestMs = request.callback === undefined ? rules.waitMs : rules.maxMs;
  const deadline = deadlineOf(request, before, longestMs);
  if (deadline <= Date.now()) return late();
  const zone = zoneOf(exchange);
  return { target, delegation: { links, deadline, isArriving: false, ...given({ zone }) } };
}

/** The earliest of the requested deadline, the previous hop's and the longest time allowed. */
function deadlineOf(
  request: DelegationRequest,
  before: Delegation | undefined,
  longestMs: number,
): number {
  const inherited = before?.deadline ?? Number.POSITIVE_INFINITY;
  return Math.min(Date.now() + longestMs, inherited, request.deadline ?? inherited);
}

/** Takes a hop that the caller made at its own server; the target must be hosted here. */
function takeArriving(
  { targets, waitMs }: HopRules,
  request: DelegationRequest,
  before: Delegation,
  zone: string | undefined,
): Hop | Refusal {
  const { links } = before;
  const link = links.at(-1);
  const agent = targets.findHosted(link?.target ?? "", undefined);
  if (link === undefined || agent === undefined) {
    return agentNotFound();
  }
  if (!isDelegationPermitted(agent))
    return delegationForbidden("delegation-not-permitted", "the agent takes no delegated tasks");
  const invalid = request.scopes.filter((scope) => !link.scopes.includes(scope));
  if (invalid.length > 0) return beyondAuthority(invalid);
  const index = links.length - 1;
  const hosted: DelegationLink = { ...link, target: agent.agentId, scopes: request.scopes };
  if (links.some(({ agentId }) => agentId === agent.agentId)) {
    return looped({ index, agent_id: link.agentId, target_agent_id: agent.agentId });
  }
  // The sender has checked this server's zone; the agent's document may name another.
  if (zone !== undefined && (agent.governanceZone ?? zone) !== zone) return outOf(zone);
  const deadline = deadlineOf(request, before, waitMs);
  if (deadline <= Date.now()) return late();
  const handed = [...links.slice(0, -1), hosted];
  const delegation = { links: handed, deadline, isArriving: false, ...given({ zone }) };
  return { target: { kind: "hosted", agent }, delegation };
}

function late(): Refusal {
  return delegationFailed("deadline", "the deadline of the task has passed", "not-begun");
}

/** 403: the documents of both agents must permit delegation.   AGTP "DELEGATE" */
function checkPermission(
  document: AgentDocument | undefined,
  target: DelegationTarget,
): Refusal | undefined {
  if (document !== undefined && !isDelegationPermitted(document)) {
    const message = "the agent's document does not permit it to delegate";
    return delegationForbidden("delegation-not-permitted", message);
  }
  if (target.kind === "hosted" && !isDelegationPermitted(target.agent)) {
    return delegationForbidden("delegation-not-permitted", "the agent takes no delegated tasks");
  }
  return undefined;
}

/** True unless the agent's document forbids it to delegate and to take tasks. */
function isDelegationPermitted({ document }: AgentDocument): boolean {
  return document["delegation_permitted"] !== false;
}

/** 262: the scopes must be a strict subset of those that the caller holds. */
function checkScopes(scopes: readonly string[], held: Held): Refusal | undefined {
  const invalid = beyond(scopes, held);
  if (invalid.length > 0) return beyondAuthority(invalid);
  if (isNarrower(scopes, held)) return undefined;
  const message =
    "what is handed on must be a strict subset of what the caller holds, and is all of it";
  return authorizationRequired("scope-required", message, { details: { reason: "not-narrower" } });
}

/** 262: names the excess scopes. */
function beyondAuthority(invalid: readonly string[]): Refusal {
  return refuseScopes("what is handed on goes beyond the caller's authority:", invalid);
}

/** 262: the scopes must be among those that the operator offers the peer. */
function checkOffer(scopes: readonly string[], target: DelegationTarget): Refusal | undefined {
  if (target.kind === "hosted") return undefined;
  const { name, offered } = target.peer;
  const invalid = scopes.filter((scope) => !offered.covers(scope));
  return invalid.length === 0
    ? undefined
    : refuseScopes(`the peer "${name}" is not given`, invalid);
}

/** 551: the task must not return to an earlier agent, nor exceed the depth. */
function checkChain(
  { maxDepth }: { readonly maxDepth: number },
  links: readonly DelegationLink[],
  document: AgentDocument | undefined,
): Refusal | undefined {
  const index = links.length - 1;
  const { agentId = "", target = "" } = links[index] ?? {};
  const handed = new Set(links.map((link) => link.agentId));
  if (handed.has(target)) return looped({ index, agent_id: agentId, target_agent_id: target });
  const own = document?.document["max_delegation_depth"];
  const most = typeof own === "number" && own >= 0 ? Math.min(own, maxDepth) : maxDepth;
  return links.length > most ? tooDeep(index, most) : undefined;
}

/** 457: the work stays in the caller's zone, if it has one.   AGTP "Zones" */
function checkZone(exchange: ExchangeView, target: DelegationTarget): Refusal | undefined {
  const zone = zoneOf(exchange);
  if (zone === undefined) return undefined;
  const there = target.kind === "hosted" ? target.agent.governanceZone : target.peer.zone;
  if (there === zone) return undefined;
  return outOf(zone);
}

/** 457: names the zone. */
function outOf(zone: string): Refusal {
  return zoneViolation(`the agent is not in the governance zone ${JSON.stringify(zone)}`);
}

/** The zone of the first delegating agent, or else the request's, or else the certificate's. */
function zoneOf(exchange: ExchangeView): string | undefined {
  const own = exchange.peer.certificate?.agent?.governanceZone;
  return exchange.caller.delegation?.zone ?? exchange.header("agtp-zone-id") ?? own;
}
