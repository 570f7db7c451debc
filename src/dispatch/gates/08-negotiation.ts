/**
 * Gate 08. Nothing is registered here: may a contract be negotiated?
 * 404 unknown path · 405 known path, other methods · 464 to a caller who opted in while runtime
 * negotiation is off · 404 a contract this server never issued.   AGTP-API §6.1, §10.1.2
 */
import type { EndpointRegistry } from "../../contract/endpoint-registry.ts";
import type { MethodPolicy } from "../method-policy.ts";
import { noContract, notFound } from "../refusal.ts";
import type { Route } from "../route.ts";
import { refuseMethod } from "./04-policy.ts";
import type { Gate } from "./gate.ts";

/** Gate 08. The opt-in is looked at before the master switch, so that nobody is surprised. */
export function negotiationGate(policy: MethodPolicy, registry: EndpointRegistry<Route>): Gate {
  return (exchange) => {
    if (exchange.inner === undefined && exchange.header("allow-rcns") === "true") {
      return noContract("rcns-disabled", "this server does not negotiate contracts at run time");
    }
    if (registry.methodsFor(exchange.path).length > 0) {
      return refuseMethod(exchange, policy, registry);
    }
    return notFound("endpoint-not-found", "nothing is registered at this path");
  };
}

/** A presented contract is checked on every request, whether or not the pair is registered. */
export function presentationGate(): Gate {
  return (exchange) => {
    if (exchange.inner !== undefined) return undefined;
    const presented = exchange.header("contract-synthesized") ?? exchange.header("synthesis-id");
    if (presented === undefined) return undefined;
    return notFound("contract-not-found", "no contract with this synthesis_id");
  };
}
