/**
 * Which endpoint, or which contract, answers, and may this caller reach it?
 * Gate 10. The contract that it presents, whether or not the pair is registered. 404 one that this
 * server never issued · 400 one for another pair · 464 one that is over or somebody else's.
 *
 * Gate 11. Which endpoint answers, and may this caller reach it?
 * 401 `oauth-required` where the method needs a bearer token. A miss is left to negotiation. 262
 * `credentials-missing` on the operator's endpoints and on whatever changes state, and for HTTP clients
 * that nobody vouches for where an agent is to work; reading the protocol's own is up to
 * `anonymous_discovery`. 503 and 410 once more, where a redirect led a suspended or retired agent away
 * from what is exempt.   AGTP-API §5.4, §6.1, §8.7
 *
 * Gate 12. Nothing is registered here: is there a contract, or may one be negotiated? 404 unknown path ·
 * 405 known path, other methods · 464 the first and fourth lock · 262 the third.   AGTP-API §6.1, §10.1
 */

import { flatText } from "../../base/kept-text.ts";
import { isExemptFromLifecycle } from "../../catalog/catalog.ts";
import type { Contract } from "../../endpoint/contract.ts";
import { type EndpointRegistry, matchTemplate } from "../../endpoint/endpoint-registry.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { Attempts } from "../contracts/attempts.ts";
import type { ContractRoutes } from "../contracts/contract-routes.ts";
import { type Exchange, presentedContract } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { RcnsConfig } from "../policy/policies-config.ts";
import {
  agentUnauthenticated,
  authorizationRequired,
  badRequest,
  notFound,
  type Refusal,
  sameForAll,
} from "../refusals/refusal.ts";
import { type Locks, refuseContract } from "../refusals/refuse-contract.ts";
import { refuseMethod } from "../refusals/refuse-method.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** The rules that it decides by. */
export interface EndpointGateOptions {
  readonly registry: EndpointRegistry<Route>;
  readonly anonymousDiscovery: boolean;
  /** Methods that need a principal of `[policies.oauth]`. */
  readonly tokenMethods: ReadonlySet<string>;
}

/** Resolves the route; without one it passes. */
export function endpointGate({
  registry,
  anonymousDiscovery,
  tokenMethods,
}: EndpointGateOptions): Gate {
  return (exchange) => {
    const { method, caller } = exchange;
    // A contract that was presented stands in the place of what may be registered.
    const presented = exchange.route;
    // Even a refusal is about the endpoint that was asked for, and carries its warning.   §6.5
    if (presented === undefined) resolveRoute(exchange, registry);
    if (tokenMethods.has(method) && caller.principalId === undefined) {
      return agentUnauthenticated(`${method} needs a bearer token`, "oauth-required");
    }
    const { inactiveRefusal } = exchange;
    if (inactiveRefusal !== undefined && !isExemptFromLifecycle(method)) return inactiveRefusal;
    const { route } = exchange;
    if (presented !== undefined || route === undefined) return undefined;
    return caller.agentId === undefined
      ? refuseAnonymous(exchange, route, anonymousDiscovery)
      : refuseAnybody(exchange, route);
  };
}

/** Finds the route of the pair; without one, that of an earlier pair is none either. */
export function resolveRoute(exchange: Exchange, registry: EndpointRegistry<Route>): void {
  const match = registry.find(exchange.method, exchange.path);
  exchange.route = match?.entry;
  exchange.pathValues = match?.values;
}

/** An HTTP client that has shown nothing has no more to say over agents than one without Agent-ID. */
function refuseAnybody({ peer, caller }: Exchange, route: Route): Refusal | undefined {
  if (route.startsWork !== true || peer.isAnybody !== true) return undefined;
  if (caller.principalId !== undefined) return undefined;
  const message = "agents and tasks are not started for HTTP clients that nobody vouches for";
  return authorizationRequired("credentials-missing", message);
}

function refuseAnonymous(
  { peer }: Exchange,
  route: Route,
  anonymousDiscovery: boolean,
): Refusal | undefined {
  if (!route.isReading) {
    // An issuer or operator is known by its certificate, and need not be an agent.
    const isShown = peer.certificate !== undefined || peer.operator !== undefined;
    if (route.takesCertificate && isShown) return undefined;
    return NEEDS_AGENT;
  }
  return anonymousDiscovery ? undefined : NO_STRANGERS;
}

const NEEDS_AGENT = sameForAll(
  authorizationRequired("credentials-missing", "this endpoint needs an Agent-ID"),
);
const NO_STRANGERS = sameForAll(
  authorizationRequired(
    "anonymous-discovery-disabled",
    "this server answers discovery to identified agents only",
  ),
);

/** The contracts there are, and what remembers those that could not be had. */
export interface ContractGateOptions {
  readonly register: Pick<ContractRegister, "present">;
  readonly routes: Pick<ContractRoutes, "routeOf">;
  readonly attempts: Attempts;
}

/** Gate 10: puts the contract in the place of what is registered; what a handler dispatches presents none. */
export function contractGate({ register, routes, attempts }: ContractGateOptions): Gate {
  return (exchange) => {
    if (exchange.inner !== undefined) return undefined;
    const presented = presentedContract(exchange);
    if (presented === undefined) return undefined;
    const found = register.present(presented, exchange.caller.document?.agentId);
    switch (found.kind) {
      case "usable":
        return bindContract(exchange, found.contract, routes);
      case "unknown":
        return notFound("contract-not-found", "no contract with this synthesis_id");
      case "foreign":
        return refuseContract(
          exchange,
          attempts,
          "contract-not-yours",
          "the contract is another agent's",
        );
      case "over":
        return refuseContract(exchange, attempts, "contract-revoked", howItEnded(found.contract));
    }
  };
}

function howItEnded({ state, reason }: Contract): string {
  const because = reason === undefined ? "" : `: ${reason}`;
  return `the contract is ${state}${because}`;
}

/** The contracts there are, and what decides about new ones. */
export interface NegotiationGateOptions {
  readonly register: Pick<ContractRegister, "activeFor">;
  readonly routes: Pick<ContractRoutes, "routeOf">;
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

/** Gate 12: answers for a pair that is not registered; what a handler dispatches negotiates nothing. */
export function negotiationGate(options: NegotiationGateOptions): Gate {
  const { policy, registry, register, routes } = options;
  return (exchange) => {
    if (exchange.route !== undefined) return undefined;
    if (exchange.inner === undefined) {
      const contract = resolveContract(register, exchange);
      if (contract !== undefined) return bindContract(exchange, contract, routes);
      if (exchange.header("allow-rcns") === "true") return tryLocks(exchange, options);
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

const LOCKS = ["rcns-enabled", "allow-rcns", "scope", "trust-tier"] as const;

/**
 * The opt-in, the second lock, is open: whoever did not opt in has seen an ordinary miss. The first lock
 * that is closed gives the code, and the message names all of them at once.
 */
function tryLocks(exchange: Exchange, options: NegotiationGateOptions): Refusal | undefined {
  const { rcns, negotiation, attempts } = options;
  const { caller } = exchange;
  const isEnabled = negotiation !== undefined;
  const holdsScope = caller.authority.covers(NEGOTIATE);
  // A contract is kept, and nobody whom this server does not know makes it write.
  const isTrusted =
    caller.document !== undefined &&
    caller.trustTier !== undefined &&
    caller.trustTier <= rcns.minTrustTier;
  const message = wordNeeds(isEnabled, holdsScope, isTrusted, rcns);
  if (!isEnabled) return refuseContract(exchange, attempts, "rcns-disabled", message, DISABLED);
  if (!holdsScope) return authorizationRequired("scope-required", message, { scope: NEGOTIATE });
  if (!isTrusted) {
    return refuseContract(exchange, attempts, "trust-tier-insufficient", message, UNTRUSTED);
  }
  exchange.route = negotiation;
  return undefined;
}

/** By what is missing: to put it together costs more than the rest of such a refusal. */
const worded = new Map<number, string>();

function wordNeeds(
  isEnabled: boolean,
  holdsScope: boolean,
  isTrusted: boolean,
  { minTrustTier }: RcnsConfig,
): string {
  const key = minTrustTier * 8 + (isEnabled ? 4 : 0) + (holdsScope ? 2 : 0) + (isTrusted ? 1 : 0);
  const known = worded.get(key);
  if (known !== undefined) return known;
  let needs = isEnabled ? "" : ", and a server that has it enabled";
  if (!holdsScope) needs += `, and the scope ${NEGOTIATE}`;
  if (!isTrusted) {
    needs += `, and an agent that this server knows, of trust tier ${minTrustTier} or stronger`;
  }
  const text = flatText(`negotiation needs ${needs.slice(", and ".length)}`);
  worded.set(key, text);
  return text;
}

/** The state of the locks when this one is the first that is closed. */
function locks(closed: number): Locks {
  const state = (index: number): string =>
    index === 1 || index < closed ? "open" : index === closed ? "closed" : "unseen";
  return Object.fromEntries(LOCKS.map((lock, index) => [lock, state(index)]));
}

const DISABLED = locks(0);
const UNTRUSTED = locks(3);

/** Sets the route, or refuses a contract that is for another pair. */
function bindContract(
  exchange: Exchange,
  contract: Contract,
  routes: Pick<ContractRoutes, "routeOf">,
): Refusal | undefined {
  const values = matchTemplate(contract.endpoint.path, exchange.path);
  if (contract.endpoint.method !== exchange.method || values === undefined) {
    const { method, path } = contract.endpoint;
    return badRequest("contract-mismatch", `the contract is for ${method} ${path}`, {
      reason: "contract-mismatch",
    });
  }
  exchange.route = routes.routeOf(contract);
  exchange.pathValues = values;
  return undefined;
}
