/**
 * The checks of a hop: permission, scopes, what the operator gives the peer, the chain, the zone.
 * 262 · 403 · 457 · 551, as `hop.ts` says.   AGTP "DELEGATE", AGTP "Zones"
 */
import type { DelegationLink } from "../../dispatch/caller/delegation.ts";
import { delegationForbidden } from "../../dispatch/refusals/delegation-refusals.ts";
import {
  authorizationRequired,
  type Refusal,
  zoneViolation,
} from "../../dispatch/refusals/refusal.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { looped, tooDeep } from "./chain.ts";
import { beyond, type Held, isNarrower } from "./scopes.ts";
import type { DelegationTarget } from "./targets.ts";

/** Neither hands on nor takes on what its document says it does not. */
export function checkPermission(
  document: AgentDocument | undefined,
  target: DelegationTarget,
): Refusal | undefined {
  if (document !== undefined && !isDelegationPermitted(document)) {
    return notPermitted("the agent's document does not permit it to delegate");
  }
  if (target.kind === "hosted" && !isDelegationPermitted(target.agent)) {
    return notPermitted("the agent takes no delegated tasks");
  }
  return undefined;
}

/** Tells whether its document lets an agent hand tasks on, and take them. */
export function isDelegationPermitted({ document }: AgentDocument): boolean {
  return document["delegation_permitted"] !== false;
}

/** 403: one of the two does not delegate. */
export function notPermitted(message: string): Refusal {
  return delegationForbidden("delegation-not-permitted", message);
}

/** A strict subset: each of them is held, and something that is held stays behind. */
export function checkScopes(scopes: readonly string[], held: Held): Refusal | undefined {
  const invalid = beyond(scopes, held);
  if (invalid.length > 0) return beyondAuthority(invalid);
  if (isNarrower(scopes, held)) return undefined;
  const message =
    "what is handed on must be a strict subset of what the caller holds, and is all of it";
  return authorizationRequired("scope-required", message, { details: { reason: "not-narrower" } });
}

/** 262: names what is beyond. */
export function beyondAuthority(invalid: readonly string[]): Refusal {
  const message = `what is handed on goes beyond the caller's authority: ${invalid.join(", ")}`;
  return authorizationRequired("scope-required", message, {
    scope: invalid.join(", "),
    details: { missing_scopes: invalid },
  });
}

/** No more goes to a peer than the operator lets go. */
export function checkOffer(
  scopes: readonly string[],
  target: DelegationTarget,
): Refusal | undefined {
  if (target.kind === "hosted") return undefined;
  const { name, offered } = target.peer;
  const invalid = scopes.filter((scope) => !offered.covers(scope));
  if (invalid.length === 0) return undefined;
  const message = `the peer "${name}" is not given ${invalid.join(", ")}`;
  return authorizationRequired("scope-required", message, {
    scope: invalid.join(", "),
    details: { missing_scopes: invalid },
  });
}

/** The task comes back to nobody, and is not handed on without end. */
export function checkChain(
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

/** A caller that says in which zone it is stays in it.   AGTP "Zones" */
export function checkZone(exchange: ExchangeView, target: DelegationTarget): Refusal | undefined {
  const zone = zoneOf(exchange);
  if (zone === undefined) return undefined;
  const there = target.kind === "hosted" ? target.agent.governanceZone : target.peer.zone;
  if (there === zone) return undefined;
  return zoneViolation(`the agent is not in the governance zone ${JSON.stringify(zone)}`);
}

/** A task that was handed on does not leave the zone of who handed it on first. */
export function zoneOf(exchange: ExchangeView): string | undefined {
  const own = exchange.peer.certificate?.agent?.governanceZone;
  return exchange.caller.delegation?.zone ?? exchange.header("agtp-zone-id") ?? own;
}
