/**
 * Gate 11. Which endpoint answers, and may this caller reach it? A miss is left to negotiation.
 * 401 `oauth-required` where the method needs a bearer token · 262 `credentials-missing` on the operator's
 * endpoints and on whatever changes state, and for HTTP clients that nobody vouches for where an agent is to
 * work; reading the protocol's own is up to `anonymous_discovery` · 503 and 410 once more, where a redirect
 * led a suspended or retired agent away from what is exempt.   AGTP-API §5.4, §6.1, §8.7
 */
import { isExemptFromLifecycle } from "../../catalog/catalog.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Caller } from "../caller/caller.ts";
import type { Peer } from "../caller/peer.ts";
import type { Exchange } from "../exchange.ts";
import {
  agentUnauthenticated,
  authorizationRequired,
  type Refusal,
  sameForAll,
} from "../refusals/refusal.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

interface EndpointGateOptions {
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
    if (lacksToken(method, caller, tokenMethods)) {
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

/** Tells whether a method needs a principal, and the caller has none. */
export function lacksToken(
  method: string,
  { principalId }: Caller,
  tokenMethods: ReadonlySet<string>,
): boolean {
  return principalId === undefined && tokenMethods.has(method);
}

/** Finds the route of the pair; without one, that of an earlier pair is none either. */
export function resolveRoute(exchange: Exchange, registry: EndpointRegistry<Route>): void {
  const match = registry.find(exchange.method, exchange.path);
  exchange.route = match?.entry;
  exchange.pathValues = match?.values;
}

/** An HTTP client that has shown nothing has no more to say over agents than one without Agent-ID. */
export function isWithheld(
  { startsWork }: Pick<Route, "startsWork">,
  { principalId }: Caller,
  { isAnybody }: Pick<Peer, "isAnybody">,
): boolean {
  return startsWork === true && isAnybody === true && principalId === undefined;
}

function refuseAnybody({ peer, caller }: Exchange, route: Route): Refusal | undefined {
  if (!isWithheld(route, caller, peer)) return undefined;
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
