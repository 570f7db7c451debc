/**
 * Is the method in the catalog, opted-in legacy, or custom?   459 · AGTP-API §3.2, §4.4
 * A deprecated method passes with its AGTP-Catalog-Warning.
 */

import type { Catalog } from "../../catalog/catalog.ts";
import { compileCatalogWarnings } from "../policy/catalog-warnings.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import { methodViolation, type Refusal } from "../refusals/refusal.ts";
import type { Gate } from "./gate.ts";

/** The most characters of an unknown method that a refusal repeats. */
const QUOTED_METHOD_LENGTH = 64;

/** Looks into the catalog and at the policy's own names. */
export function methodGate(catalog: Catalog, policy: MethodPolicy): Gate {
  const warnings = compileCatalogWarnings(catalog);
  const violation = createViolations(catalog.version, policy);
  return (exchange) => {
    const { method } = exchange;
    if (!policy.isKnown(method)) return violation(method.slice(0, QUOTED_METHOD_LENGTH));
    if (warnings.size > 0) exchange.catalogWarning = warnings.get(method);
    return undefined;
  };
}

/** A client that keeps making one mistake must not cost more than one that makes none. */
const REMEMBERED_METHODS = 256;

function createViolations(
  catalogVersion: string,
  { closeMatches }: Pick<MethodPolicy, "closeMatches">,
): (method: string) => Refusal {
  const remembered = new Map<string, Refusal>();
  return (method) => {
    const known = remembered.get(method);
    if (known !== undefined) return known;
    const refusal = methodViolation(method, catalogVersion, closeMatches(method));
    if (remembered.size >= REMEMBERED_METHODS) remembered.clear();
    remembered.set(method, refusal);
    return refusal;
  };
}
