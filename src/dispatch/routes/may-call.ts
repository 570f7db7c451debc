/**
 * Tells whether a caller may call a route, as the gates of endpoint and scope will. Lists of tools ask
 * here, so that nobody is shown a tool that it would be refused.   AGTP-API §6.4 "required_scopes"
 */
import type { Caller } from "../caller/caller.ts";
import type { Peer } from "../caller/peer.ts";
import { isWithheld, lacksToken } from "../gates/11-endpoint.ts";
import { lacksClaim } from "../gates/17-scope.ts";
import type { Route } from "./route.ts";

/** The caller of a list, and its connection. */
export interface Candidate {
  readonly caller: Caller;
  readonly peer: Pick<Peer, "isAnybody">;
}

/** The part of the policies that decides. */
export interface CallRules {
  readonly scopeRequiredForInvocation: boolean;
  /** Methods that need a principal of `[policies.oauth]`. */
  readonly tokenMethods: ReadonlySet<string>;
}

/** As much of a route as is looked at. */
type Callable = Pick<Route, "method" | "tier" | "startsWork" | "requiredScopes">;

/** Looks at what is known of a caller before it asks; its input and its standing are not. */
export function mayCall(route: Callable, { caller, peer }: Candidate, rules: CallRules): boolean {
  const { tokenMethods, scopeRequiredForInvocation } = rules;
  if (lacksToken(route.method, caller, tokenMethods) || isWithheld(route, caller, peer))
    return false;
  if (scopeRequiredForInvocation && lacksClaim(route, caller)) return false;
  return route.requiredScopes.every((scope) => caller.authority.covers(scope));
}
