/**
 * Gate 07. Does the caller hold, and claim, what the endpoint requires?
 * 262 `scope-required` with neither a claim nor a document · 455 the missing scopes.
 * AGTP-API §6.4 "required_scopes", §8.7
 */
import { authorizationRequired, scopeViolation } from "../refusal.ts";
import type { Gate } from "./gate.ts";

/** Gate 07 for the operator's endpoints; the protocol's own decide for themselves. */
export function scopeGate(scopeRequiredForInvocation: boolean): Gate {
  return ({ route, caller }) => {
    if (route === undefined || route.tier === "A") return undefined;
    const { authority } = caller;
    if (scopeRequiredForInvocation && authority.source === "none") {
      const message = "this endpoint needs an Authority-Scope header";
      return authorizationRequired("scope-required", message, {
        details: { required_scopes: route.definition.requiredScopes },
      });
    }
    const { requiredScopes } = route.definition;
    if (requiredScopes.length === 0) return undefined;
    const missing = requiredScopes.filter((scope) => !authority.covers(scope));
    return missing.length === 0 ? undefined : scopeViolation(missing);
  };
}
