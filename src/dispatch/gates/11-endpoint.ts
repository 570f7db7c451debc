/**
 * Gate 11. Which endpoint answers, and may this caller reach it? A miss is left to negotiation. 401
 * `oauth-required` if the method needs a bearer token · 262 `credentials-missing` for anonymous
 * callers on the operator's endpoints and on state changes, and for unvouched HTTP clients that
 * would start an agent's work; reading the protocol's own is up to `anonymous_discovery` · 503 and
 * 410 once more, if a redirect led an inactive agent away from an exempt method.   AGTP-API §5.4,
 * §6.1, §8.7
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

/** Resolves the route; a request without one passes. */
export function endpointGate({
  registry,
  anonymousDiscovery,
  tokenMethods,
}: EndpointGateOptions): Gate {
  return (exchange) => {
    const { method, caller } = exchange;
    // A presented contract takes precedence over the registered endpoint.
    const presented = exchange.route;
    // The route is resolved first, so that a refusal carries the endpoint's warning.   §6.5
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

/** Tells whether a method needs a principal that the caller lacks. */
export function lacksToken(
  method: string,
  { principalId }: Caller,
  tokenMethods: ReadonlySet<string>,
): boolean {
  return principalId === undefined && tokenMethods.has(method);
}

/** Resolves the route of the pair; a miss clears the route of an earlier pair. */
export function resolveRoute(exchange: Exchange, registry: EndpointRegistry<Route>): void {
  const match = registry.find(exchange.method, exchange.path);
  exchange.route = match?.entry;
  exchange.pathValues = match?.values;
}

/** Tells whether a route is closed to an HTTP client without credentials, as it is without an Agent-ID. */
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
    // Issuers and operators are known by their certificates, and need not be agents.
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
