/**
 * Gate 07. Is the method in the catalog, opted-in legacy, or custom? A deprecated one passes with its
 * AGTP-Catalog-Warning. 459.   AGTP-API §3.2, §4.4
 */
import type { Catalog } from "../../catalog/catalog.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import { createViolations } from "../refusals/refuse-method.ts";
import type { Gate } from "./gate.ts";

/** The number of characters that a refusal quotes of an unknown method. */
const QUOTED_METHOD_LENGTH = 64;

/** Refuses a method that neither the catalog nor the policy knows. */
export function methodGate(catalog: Catalog, policy: MethodPolicy): Gate {
  const violation = createViolations(catalog.version, policy);
  return (exchange) => {
    const { method } = exchange;
    if (!policy.isKnown(method)) return violation(method.slice(0, QUOTED_METHOD_LENGTH));
    exchange.catalogWarning = policy.warningOf(method);
    return undefined;
  };
}
