/**
 * Chains of delegation: a narrower scope may only tighten the policy of a broader one, and a chain
 * that was resolved has to keep within the policy.   agentcli execution identity "Delegation"
 */
import { quoteValue } from "../../../base/json-value.ts";
import type { EffectiveIdentity } from "../compile/merge-identity.ts";
import { type Failure, failure } from "../failure.ts";
import type { DelegationPolicy } from "../manifest/identity-blocks.ts";
import type { DelegationVerdict, Hop, Session } from "./session.ts";

/** Depth without a policy: the subject itself, and nobody behind it. */
const USUAL_DEPTH = 1;

/** The fault of the policies of profile, workflow and task, broadest first. */
export function checkTightening(
  layers: readonly (DelegationPolicy | null | undefined)[],
): Failure | undefined {
  let broad: DelegationPolicy = {};
  for (const layer of layers) {
    if (layer === undefined || layer === null) continue;
    const loosened = findLoosened(broad, layer);
    if (loosened !== undefined) {
      const message = `delegation_policy.${loosened} must not be looser than in the broader scope`;
      return failure("identity_delegation_invalid", message);
    }
    const said = Object.entries(layer).filter(([, value]) => value !== null);
    broad = { ...broad, ...Object.fromEntries(said) };
  }
  return undefined;
}

function findLoosened(broad: DelegationPolicy, narrow: DelegationPolicy): string | undefined {
  const most = broad.max_depth ?? undefined;
  if (most !== undefined && (narrow.max_depth ?? most) > most) return "max_depth";
  if (broad.require_grant_per_hop === true && narrow.require_grant_per_hop === false) {
    return "require_grant_per_hop";
  }
  const allowed = broad.allowed_delegators ?? [];
  const wanted = narrow.allowed_delegators;
  if (allowed.length === 0 || wanted === undefined || wanted === null) return undefined;
  const isSubset = wanted.length > 0 && wanted.every((one) => allowed.includes(one));
  return isSubset ? undefined : "allowed_delegators";
}

/** The verdict on a session's chain under the policy of its identity, at a time. */
export function judgeDelegation(
  { delegation_chain: chain }: Pick<Session, "delegation_chain">,
  { auth: { delegation_policy: policy } }: Pick<EffectiveIdentity, "auth">,
  now: number = Date.now(),
): DelegationVerdict {
  const principals = chain.flatMap(({ principal }) => principal ?? []);
  const acyclic = new Set(principals).size === principals.length;
  const hasGrants = chain.every(({ grant }) => grant !== null);
  const most = policy.max_depth ?? USUAL_DEPTH;
  const isUngranted = !hasGrants && policy.require_grant_per_hop !== false;
  const reasons = [
    ...(acyclic ? [] : ["a principal stands in the chain twice"]),
    ...(chain.length <= most ? [] : [`the chain has ${chain.length} hops, at most ${most} may be`]),
    ...(isUngranted ? ["a hop has no grant"] : []),
    ...chain.slice(1).flatMap((hop) => refuseDelegator(hop, policy)),
    ...chain.flatMap((hop, index) => refuseExpired(hop, index, now)),
  ];
  return {
    ...{ valid: reasons.length === 0, depth: chain.length, acyclic },
    ...{ all_grants_present: hasGrants, reasons },
  };
}

/** Of those behind the subject; an empty list allows everybody. */
function refuseDelegator(
  { principal }: Hop,
  { allowed_delegators }: EffectiveIdentity["auth"]["delegation_policy"],
): readonly string[] {
  const allowed = allowed_delegators ?? [];
  if (allowed.length === 0 || allowed.includes(principal)) return [];
  return [`${quoteValue(principal)} is not among the allowed delegators`];
}

function refuseExpired({ expires_at: end }: Hop, index: number, now: number): readonly string[] {
  if (end === null || Date.parse(end) > now) return [];
  return [`the grant of hop ${index} has expired`];
}
