/**
 * Gate 12. Nothing is registered here: is there a contract, or may one be negotiated?
 * 404 unknown path · 405 known path, other methods · 464 the first and fourth lock · 262 the third.   AGTP-API §6.1, §10.1
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

/** The contracts there are, and what decides about new ones. */
export interface NegotiationGateOptions {
  readonly register: Pick<ContractRegister, "activeFor">;
  readonly routes: Pick<ContractRoutes, "bind">;
  readonly attempts: Attempts;
  readonly policy: MethodPolicy;
  readonly registry: EndpointRegistry<Route>;
  readonly rcns: RcnsConfig;
  /** Answers where all locks are open; undefined: this server does not negotiate. */
  readonly negotiation: Route | undefined;
}

const NOTHING_THERE = sameForAll(
  notFound("endpoint-not-found", "nothing is registered at this path"),
);

/** The scope that the third lock asks for. */
const NEGOTIATE = "rcns:negotiate";

/** Answers for a pair that is not registered; what a handler dispatches negotiates nothing, and has no opt-in. */
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

/** The owner's newest contract for the pair; for anybody else there is none.   §10.1.1 */
function resolveContract(
  register: NegotiationGateOptions["register"],
  { caller, method, path }: Exchange,
): Contract | undefined {
  // An agent that this server does not know has none, whatever it calls itself.
  if (caller.document === undefined) return undefined;
  return register.activeFor(caller.document.agentId, { method, path });
}

/**
 * The opt-in, the second lock, is open: a caller that did not opt in had an ordinary miss. The first lock
 * that is closed gives the code, and the message names all of them at once.
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
  // A contract is kept, and nobody whom this server does not know makes it write.
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

/** Bits of an index: the locks that are open, of those that a message may name. */
const ENABLED = 4;
const SCOPED = 2;
const TRUSTED = 1;

/** The messages by what is open: to put one together costs more than the rest of such a refusal. */
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
