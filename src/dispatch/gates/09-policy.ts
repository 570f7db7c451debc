/**
 * Does the method policy admit the method here?   405 · AGTP-API §9, §11
 * The (aliased) method is judged first; then a redirect applies, and its target is judged too.
 */
import type { Catalog } from "../../catalog/catalog.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import { compileCatalogWarnings } from "../policy/catalog-warnings.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import { refuseMethod } from "../refusals/refuse-method.ts";
import { followRedirect } from "../routes/endpoint-lookup.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** Looks into the compiled policy; the registry only serves the 405 body. */
export function policyGate(
  policy: MethodPolicy,
  registry: EndpointRegistry<Route>,
  catalog: Catalog,
): Gate {
  const warnings = compileCatalogWarnings(catalog);
  return (exchange) => {
    if (!policy.isAllowed(exchange.method)) return refuseMethod(exchange, policy, registry);
    if (!followRedirect(exchange, policy, warnings)) return undefined;
    return policy.isAllowed(exchange.method) ? undefined : refuseMethod(exchange, policy, registry);
  };
}
