/**
 * The gates' verdict on a call of an endpoint by this caller now: the rules of the gates of callers,
 * tokens and scopes, over the same policy, without calling it. What a method asks beyond that is its own.
 * AGTP-API §6.4 "required_scopes", §8.7
 */

import { FLOOR_GROUPS } from "../../catalog/catalog.ts";
import type { PoliciesConfig } from "../../dispatch/policy/policies-section.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { Access, Asker } from "./entry.ts";

/** The answer of an endpoint that is kept for agents of this server to another one. */
const FOR_KNOWN_AGENTS: ReadonlyMap<string, string> = new Map([
  ...["PROPOSE /", "ESCALATE /", "SUSPEND /", "RESUME /"].map(
    (pair) => [pair, "credentials-missing"] as const,
  ),
  ...["NOTIFY /", "QUERY /inbox"].map((pair) => [pair, "agent-unauthenticated"] as const),
]);

/** Methods that tell agents of their own, and nothing to nobody. */
const FOR_NAMED_AGENTS: ReadonlySet<string> = new Set([
  "QUERY /runs/{run_id}",
  "QUERY /runs/{run_id}/events",
]);

/** The policy that the gates go by. */
type AccessPolicy = Pick<
  PoliciesConfig,
  "anonymousDiscovery" | "scopeRequiredForInvocation" | "oauth" | "identity"
>;

/** Judges access to an endpoint of the protocol (tier A) or of the operator (tier B). */
export function accessOf(
  policy: AccessPolicy,
  tier: "A" | "B",
  definition: EndpointDefinition,
  asker: Asker,
): Access {
  const { authority } = asker.caller;
  const { requiredScopes } = definition;
  const obstacles =
    tier === "A" ? obstaclesOfProtocol(policy, definition, asker) : obstaclesOfOperator(asker);
  const needsClaim = tier === "B" || requiredScopes.length > 0;
  const isUnclaimed = asker.caller.agentId !== undefined && authority.source === "none";
  if (needsClaim && isUnclaimed && policy.scopeRequiredForInvocation)
    obstacles.push("scope-required");
  if (lacksToken(policy, definition, asker)) obstacles.unshift("oauth-required");
  const missingScopes = requiredScopes.filter((scope) => !authority.covers(scope));
  if (missingScopes.length > 0) obstacles.push("scope-violation");
  return { callable: obstacles.length === 0, missingScopes, obstacles };
}

/** The parts that `accessOf` looks at: equal texts, equal access. */
export function accessClassOf(
  tier: "A" | "B",
  { method, path, semantic, requiredScopes }: EndpointDefinition,
): string {
  if (tier === "A") return `A ${method} ${path} ${semantic.impact}`;
  return `B ${method} ${requiredScopes.join(" ")}`;
}

function lacksToken(
  { oauth }: AccessPolicy,
  { method }: EndpointDefinition,
  { caller }: Asker,
): boolean {
  return (oauth?.requiredOnMethods.includes(method) ?? false) && caller.principalId === undefined;
}

function obstaclesOfProtocol(
  { anonymousDiscovery, identity }: AccessPolicy,
  { method, path, semantic }: EndpointDefinition,
  { caller, peer }: Asker,
): string[] {
  const toStrangers = FOR_KNOWN_AGENTS.get(`${method} ${path}`);
  if (FLOOR_GROUPS.lifecycle.some((name) => name === method)) {
    const isCertified = peer.certificate !== undefined || identity.lifecycleAuth === "open";
    if (!isCertified) return ["genesis-issuer-cert-required"];
    if (peer.certificate !== undefined) return [];
  }
  if (caller.agentId !== undefined) {
    return caller.document === undefined && toStrangers !== undefined ? [toStrangers] : [];
  }
  const isOwn = toStrangers !== undefined || FOR_NAMED_AGENTS.has(`${method} ${path}`);
  const isOpen = semantic.impact === "informational" && !isOwn;
  if (!isOpen) return ["credentials-missing"];
  return anonymousDiscovery ? [] : ["anonymous-discovery-disabled"];
}

function obstaclesOfOperator({ caller }: Asker): string[] {
  return caller.agentId === undefined ? ["credentials-missing"] : [];
}
