/**
 * The pairs that a caller may call at all, as the gates would say it: plans hold nothing else. What
 * a request allows itself is looked at here too.   AGTP "PLAN", AGTP-API §9, §13.2
 */

import type { Pair } from "../../../catalog/pair.ts";
import type { Caller } from "../../../dispatch/caller/caller.ts";
import type { MethodPolicy } from "../../../dispatch/policy/method-policy.ts";
import type { PoliciesConfig } from "../../../dispatch/policy/policies-config.ts";
import type { PlanLimits } from "../../../endpoint/synthesis-plan.ts";
import type { PlanRequest } from "./plan-request.ts";

/** The rules that callers are held to. */
export interface PermitRules {
  readonly methodPolicy: Pick<MethodPolicy, "isAllowed">;
  readonly policies: Pick<PoliciesConfig, "scopeRequiredForInvocation" | "oauth">;
  /** The pair that aliases and redirects make of another. */
  canonical(pair: Pair): Pair;
}

/** Why a caller can call no endpoint whatever. */
export function findObstacle(
  { agentId, authority }: Caller,
  { policies }: PermitRules,
): string | undefined {
  if (agentId === undefined) return "plans are made for agents, and the caller has no Agent-ID";
  if (!policies.scopeRequiredForInvocation || authority.source !== "none") return undefined;
  return "the caller has neither a document nor an Authority-Scope header to call anything with";
}

/** The rules that the steps of a plan are held to. */
export function planLimits(
  { available, excluded, maxSteps }: PlanRequest,
  { principalId }: Caller,
  { methodPolicy, policies, canonical }: PermitRules,
): PlanLimits {
  const tokenMethods = policies.oauth?.requiredOnMethods ?? [];
  return {
    ...(maxSteps === undefined ? {} : { maxSteps }),
    allows(pair) {
      if (available !== undefined && !hasPair(available, pair)) return false;
      if (hasPair(excluded, pair)) return false;
      const { method } = canonical({ method: pair.method, path: pair.path });
      if (!methodPolicy.isAllowed(method)) return false;
      return principalId !== undefined || !tokenMethods.includes(method);
    },
  };
}

function hasPair(list: ReadonlySet<string>, { method, path }: Pair): boolean {
  return list.has(method) || list.has(`${method} ${path}`);
}
