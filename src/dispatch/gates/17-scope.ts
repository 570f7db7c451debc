/**
 * Gate 17. Does the caller hold and claim the scopes that the endpoint requires? 262
 * `scope-required` with neither a claim nor a document · 455 the missing scopes · 403 for an
 * agent's own matter, which cannot be delegated.   AGTP-API §6.4 "required_scopes", §8.7
 */
import type { Caller } from "../caller/caller.ts";
import { delegationForbidden } from "../refusals/delegation-refusals.ts";
import {
  authorizationRequired,
  type Refusal,
  sameForAll,
  scopeViolation,
} from "../refusals/refusal.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** Checks required scopes; most of the protocol's own routes check in their handlers. */
export function scopeGate(scopeRequiredForInvocation: boolean): Gate {
  const refuse = createScopeRefusals();
  return ({ route, caller }) => {
    if (route === undefined) return undefined;
    if (caller.delegation !== undefined && !isDelegable(route)) {
      const message = `${route.method} ${route.path} is the agent's own affair, and is not delegated`;
      return delegationForbidden("not-delegable", message);
    }
    const { requiredScopes } = route;
    const { authority } = caller;
    if (scopeRequiredForInvocation && lacksClaim(route, caller)) {
      const message = "this endpoint needs an Authority-Scope header";
      return authorizationRequired("scope-required", message, {
        details: { required_scopes: requiredScopes },
      });
    }
    if (requiredScopes.length === 0) return undefined;
    const missing = requiredScopes.filter((scope) => !authority.covers(scope));
    return missing.length === 0 ? undefined : refuse(requiredScopes, missing);
  };
}

/** Tells whether a route needs a claim, and the caller has neither a claim nor a document. */
export function lacksClaim(
  { tier, requiredScopes }: Pick<Route, "tier" | "requiredScopes">,
  { authority }: Caller,
): boolean {
  return authority.source === "none" && (tier !== "A" || requiredScopes.length > 0);
}

interface LastMissing {
  readonly missing: readonly string[];
  readonly refusal: Refusal;
}

/** Creates the refusals; one that equals the endpoint's last is reused. */
function createScopeRefusals(): (
  required: readonly string[],
  missing: readonly string[],
) => Refusal {
  const last = new WeakMap<readonly string[], LastMissing>();
  return (required, missing) => {
    const before = last.get(required);
    if (before !== undefined && isSameList(before.missing, missing)) return before.refusal;
    const refusal = sameForAll(scopeViolation(missing));
    last.set(required, { missing, refusal });
    return refusal;
  };
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, at) => text === other[at]);
}

/** Methods that an agent may delegate: none shows or changes the agent's own state. */
const DELEGABLE: ReadonlySet<string> = new Set([
  ...["QUERY", "DISCOVER", "DESCRIBE", "SUMMARIZE", "PLAN", "EXECUTE", "DELEGATE"],
]);

/**
 * Tells whether a route may be called by delegation: the operator's, which check scopes, and routes
 * that are the same for everybody.
 */
function isDelegable({ tier, method, path }: Route): boolean {
  if (tier === "B") return true;
  if (tier === "C" || path === "/contracts") return false;
  return DELEGABLE.has(method) && (path === "/" || method === "DISCOVER");
}
