/**
 * Gate 12. Nothing is registered here: is there a contract, or may one be negotiated? 404 unknown
 * path · 405 known path, other methods · 464 first or fourth lock closed · 262 third lock closed.
 * AGTP-API §6.1, §10.1
 */
import { flatText } from "../../base/kept-text.ts";
import type { Contract } from "../../endpoint/contract.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { Attempts } from "../contracts/attempts.ts";
import type { ContractRoutes } from "../contracts/contract-routes.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { RcnsConfig } from "../policy/policies-section.ts";
import { authorizationRequired, notFound, type Refusal, sameForAll } from "../refusals/refusal.ts";
import { locksClosedAt, refuseContract } from "../refusals/refuse-contract.ts";
import { refuseMethod } from "../refusals/refuse-method.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** The contracts, and the rules for negotiating new ones. */
export interface NegotiationGateOptions {
  readonly register: Pick<ContractRegister, "activeFor">;
  readonly routes: Pick<ContractRoutes, "bind">;
  readonly attempts: Attempts;
  readonly policy: MethodPolicy;
  readonly registry: EndpointRegistry<Route>;
  readonly rcns: RcnsConfig;
  /** The route that negotiates once all locks are open; undefined if this server does not negotiate. */
  readonly negotiation: Route | undefined;
}

const NOTHING_THERE = sameForAll(
  notFound("endpoint-not-found", "nothing is registered at this path"),
);

/** The scope that the third lock requires. */
const NEGOTIATE = "rcns:negotiate";

/** Answers for unregistered pairs; an inner dispatch never negotiates, since it carries no opt-in. */
export function negotiationGate(options: NegotiationGateOptions): Gate {
  const { policy, registry, register, routes } = options;
  const needs = wordNeeds(options.rcns);
  return (exchange) => {
    if (exchange.route !== undefined) return undefined;
    if (exchange.isAskedFor) {
      const contract = resolveContract(register, exchange);
      if (contract !== undefined) return routes.bind(exchange, contract);
      if (exchange.header("allow-rcns") === "true") return tryLocks(exchange, options, needs);
    }
    if (registry.methodsFor(exchange.path).length > 0) {
      return refuseMethod(exchange, policy, registry);
    }
    return NOTHING_THERE;
  };
}

/** Returns the caller's newest contract for the pair.   §10.1.1 */
function resolveContract(
  register: NegotiationGateOptions["register"],
  { caller, method, path }: Exchange,
): Contract | undefined {
  // An agent that this server does not know has no contracts, since its Agent-ID is only a claim.
  if (caller.document === undefined) return undefined;
  return register.activeFor(caller.document.agentId, { method, path });
}

/**
 * Checks the locks. The second, the opt-in, is open here: without it the miss was an ordinary one.
 * The first closed lock determines the code, and the message names all closed ones.
 */
function tryLocks(
  exchange: Exchange,
  options: NegotiationGateOptions,
  needs: readonly string[],
): Refusal | undefined {
  const { rcns, negotiation, attempts } = options;
  const { caller } = exchange;
  const isEnabled = negotiation !== undefined;
  const holdsScope = caller.authority.covers(NEGOTIATE);
  // A contract is stored, and unknown agents must not cause writes.
  const isTrusted =
    caller.document !== undefined &&
    caller.trustTier !== undefined &&
    caller.trustTier <= rcns.minTrustTier;
  const open = (isEnabled ? ENABLED : 0) + (holdsScope ? SCOPED : 0) + (isTrusted ? TRUSTED : 0);
  const message = needs[open] ?? "";
  if (!isEnabled) return refuseContract(exchange, attempts, "rcns-disabled", message, DISABLED);
  if (!holdsScope) return authorizationRequired("scope-required", message, { scope: NEGOTIATE });
  if (!isTrusted) {
    return refuseContract(exchange, attempts, "trust-tier-insufficient", message, UNTRUSTED);
  }
  exchange.route = negotiation;
  return undefined;
}

/** Index bits of the open locks that a message may name. */
const ENABLED = 4;
const SCOPED = 2;
const TRUSTED = 1;

/**
 * Builds the message for each set of open locks; building one per request would cost more than the
 * rest of the refusal.
 */
function wordNeeds({ minTrustTier }: RcnsConfig): readonly string[] {
  return Array.from({ length: ENABLED + SCOPED + TRUSTED + 1 }, (_, open) => {
    const needs: string[] = [];
    if ((open & ENABLED) === 0) needs.push("a server that has it enabled");
    if ((open & SCOPED) === 0) needs.push(`the scope ${NEGOTIATE}`);
    if ((open & TRUSTED) === 0) {
      needs.push(`an agent that this server knows, of trust tier ${minTrustTier} or stronger`);
    }
    return flatText(`negotiation needs ${needs.join(", and ")}`);
  });
}

const DISABLED = locksClosedAt(0);

const UNTRUSTED = locksClosedAt(3);
