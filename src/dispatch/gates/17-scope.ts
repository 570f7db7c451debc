/**
 * Gate 17. Does the caller hold, and claim, what the endpoint requires?
 * 262 `scope-required` with neither a claim nor a document · 455 the missing scopes · 403 for what is an
 * agent's own affair, and is not delegated.   AGTP-API §6.4 "required_scopes", §8.7
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

/** Looks at whatever requires scopes; most of the protocol's own decide for themselves. */
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

/** Tells whether a route is for claimed scopes, and the caller has neither a claim nor a document. */
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

/** Makes refusals; one like the last of the same endpoint is not put together anew. */
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

/**
 * Work that an agent can be asked to do for another: none of it shows or changes what is its own.
 */
const DELEGABLE: ReadonlySet<string> = new Set([
  ...["QUERY", "DISCOVER", "DESCRIBE", "SUMMARIZE", "PLAN", "EXECUTE", "DELEGATE"],
]);

/** Beside the operator's endpoints, which ask for scopes, only what is the same for everybody. */
function isDelegable({ tier, method, path }: Route): boolean {
  if (tier === "B") return true;
  if (tier === "C" || path === "/contracts") return false;
  return DELEGABLE.has(method) && (path === "/" || method === "DISCOVER");
}
