/**
 * Gate 09. Does the policy admit the method here? The (aliased) method is judged first; then a redirect
 * applies, and its target is judged too. 405.   AGTP-API §9, §11
 */
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import { refuseMethod } from "../refusals/refuse-method.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** Applies the compiled policy; the registry only fills the 405 body. */
export function policyGate(policy: MethodPolicy, registry: EndpointRegistry<Route>): Gate {
  return (exchange) => {
    if (!policy.isAllowed(exchange.method)) return refuseMethod(exchange, policy, registry);
    if (!followRedirect(exchange, policy)) return undefined;
    return policy.isAllowed(exchange.method) ? undefined : refuseMethod(exchange, policy, registry);
  };
}

/** Replaces method and path by the target of a redirect; false if none applies. */
export function followRedirect(
  exchange: Exchange,
  policy: Pick<MethodPolicy, "redirect" | "warningOf">,
): boolean {
  const target = policy.redirect(exchange.method, exchange.path);
  if (target === undefined) return false;
  exchange.method = target.method;
  exchange.path = target.path;
  // §9.2: treated as if the target had been requested, so a deprecated target warns too.
  exchange.catalogWarning ??= policy.warningOf(target.method);
  return true;
}
