/**
 * Finds the endpoint of a request that was refused before the gates that find it: it is looked up by
 * the same steps, and not judged.   AGTP-API §9.2, §3.6
 */
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import { translateMethod } from "../gates/06-alias.ts";
import type { PathCheck } from "../gates/08-path.ts";
import { followRedirect } from "../gates/09-policy.ts";
import { resolveRoute } from "../gates/11-endpoint.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Route } from "./route.ts";

/** The places that an endpoint is looked up in. */
interface LookupParts {
  readonly methodPolicy: MethodPolicy;
  readonly registry: EndpointRegistry<Route>;
  readonly pathCheck: PathCheck;
}

/**
 * Looks up what a refused request asked for: every response about a deprecated method or endpoint
 * says so, even one to a stranger.   §13.1
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
