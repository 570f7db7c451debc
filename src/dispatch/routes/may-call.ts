/**
 * Tells whether the endpoint and scope gates would let a caller call a route. Lists of tools use
 * it, so that nobody is shown a tool that would be refused.   AGTP-API §6.4 "required_scopes"
 */
import type { Caller } from "../caller/caller.ts";
import type { Peer } from "../caller/peer.ts";
import { isWithheld, lacksToken } from "../gates/11-endpoint.ts";
import { lacksClaim } from "../gates/17-scope.ts";
import type { Route } from "./route.ts";

/** The caller and its connection. */
export interface Candidate {
  readonly caller: Caller;
  readonly peer: Pick<Peer, "isAnybody">;
}

/** The policies that the gates apply. */
export interface CallRules {
  readonly scopeRequiredForInvocation: boolean;
  /** Methods that need a principal of `[policies.oauth]`. */
  readonly tokenMethods: ReadonlySet<string>;
}

/** The parts of a route that are checked. */
type Callable = Pick<Route, "method" | "tier" | "startsWork" | "requiredScopes">;

/** Checks the caller's credentials and scopes; input and lifecycle are not checked. */
export function mayCall(route: Callable, { caller, peer }: Candidate, rules: CallRules): boolean {
  const { tokenMethods, scopeRequiredForInvocation } = rules;
  if (lacksToken(route.method, caller, tokenMethods) || isWithheld(route, caller, peer))
    return false;
  if (scopeRequiredForInvocation && lacksClaim(route, caller)) return false;
  return route.requiredScopes.every((scope) => caller.authority.covers(scope));
}
