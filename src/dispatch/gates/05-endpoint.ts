/**
 * Gate 05. Which endpoint answers, and may a caller without an Agent-ID reach it?
 * A miss goes on to gate 08. 262 `credentials-missing` on the operator's endpoints and on whatever
 * changes state; reading the protocol's own is up to `anonymous_discovery`.
 * AGTP-API §5.4, §6.1, §8.7
 */
import type { EndpointRegistry } from "../../contract/endpoint-registry.ts";
import { authorizationRequired } from "../refusal.ts";
import type { Route } from "../route.ts";
import type { Gate } from "./gate.ts";

/** Gate 05: resolves the route, or lets the negotiation gate answer the miss. */
export function endpointGate(
  registry: EndpointRegistry<Route>,
  anonymousDiscovery: boolean,
  onMiss: Gate,
): Gate {
  return (exchange) => {
    const match = registry.find(exchange.method, exchange.path);
    if (match === undefined) return onMiss(exchange);
    exchange.route = match.entry;
    exchange.pathValues = match.values;
    if (exchange.caller.agentId !== undefined) return undefined;
    if (!match.entry.isReading) {
      return authorizationRequired("credentials-missing", "this endpoint needs an Agent-ID");
    }
    if (anonymousDiscovery) return undefined;
    const message = "this server answers discovery to identified agents only";
    return authorizationRequired("anonymous-discovery-disabled", message);
  };
}
