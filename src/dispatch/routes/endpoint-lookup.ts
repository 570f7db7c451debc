/**
 * Looks up the endpoint of a request that was refused before the endpoint gate, by the same steps
 * but without judging it.   AGTP-API §9.2, §3.6
 */
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import { translateMethod } from "../gates/06-alias.ts";
import type { PathCheck } from "../gates/08-path.ts";
import { followRedirect } from "../gates/09-policy.ts";
import { resolveRoute } from "../gates/11-endpoint.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Route } from "./route.ts";

/** The tables of the lookup. */
interface LookupParts {
  readonly methodPolicy: MethodPolicy;
  readonly registry: EndpointRegistry<Route>;
  readonly pathCheck: PathCheck;
}

/**
 * Creates the lookup for refused requests: every response about a deprecated method or endpoint
 * carries its warning, even one to an unknown caller.   §13.1
 */
export function createEndpointLookup(parts: LookupParts): (exchange: Exchange) => void {
  const { methodPolicy, registry, pathCheck } = parts;
  return (exchange) => {
    translateMethod(exchange, methodPolicy);
    if (!methodPolicy.isKnown(exchange.method)) return;
    exchange.catalogWarning = methodPolicy.warningOf(exchange.method);
    if (pathCheck(exchange.method, exchange.path) !== undefined) return;
    if (!methodPolicy.isAllowed(exchange.method)) return;
    followRedirect(exchange, methodPolicy);
    if (methodPolicy.isAllowed(exchange.method)) resolveRoute(exchange, registry);
  };
}
