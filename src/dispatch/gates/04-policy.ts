/**
 * Gate 04. Does the method policy admit the method here?   405 · AGTP-API §9, §11
 * The (aliased) method is judged first; then a redirect applies, and its target is judged too.
 */
import type { Catalog } from "../../catalog/catalog.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../method-policy.ts";
import { methodNotAllowed, type Refusal } from "../refusal.ts";
import type { Route } from "../route.ts";
import { compileWarnings } from "./02-method.ts";
import type { Gate } from "./gate.ts";

/** Gate 04 over the compiled policy; the registry only serves the 405 body. */
export function policyGate(
  policy: MethodPolicy,
  registry: EndpointRegistry<Route>,
  catalog: Catalog,
): Gate {
  const warnings = compileWarnings(catalog);
  return (exchange) => {
    if (!policy.isAllowed(exchange.method)) return refuseMethod(exchange, policy, registry);
    const target = policy.redirect(exchange.method, exchange.path);
    if (target === undefined) return undefined;
    exchange.method = target.method;
    exchange.path = target.path;
    // §9.2: as if the target had been requested, so a deprecated target warns too.
    exchange.catalogWarning ??= warnings.get(target.method);
    return policy.isAllowed(target.method) ? undefined : refuseMethod(exchange, policy, registry);
  };
}

/** The 405 of a method that is not exposed on a path, with what is.   AGTP-API §11 */
export function refuseMethod(
  { method, path }: Exchange,
  policy: MethodPolicy,
  registry: EndpointRegistry<Route>,
): Refusal {
  const allowed = registry.methodsFor(path).filter((name) => policy.isAllowed(name));
  return methodNotAllowed(
    `method "${method}" is not exposed on this path`,
    allowed,
    policy.redirectsFor(path),
  );
}
