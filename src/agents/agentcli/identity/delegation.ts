/**
 * Chains of delegation: a narrower scope may only tighten the policy of a broader one, and a chain
 * that was resolved has to keep within the policy.   agentcli execution identity "Delegation"
 */
import type { EffectiveIdentity } from "../compile/merge-identity.ts";
import { type Failure, failure } from "../failure.ts";
import type { DelegationPolicy } from "../manifest/identity-blocks.ts";
import type { DelegationVerdict, Hop, Session } from "./session.ts";

/** Depth without a policy: the subject itself, and nobody behind it. */
const USUAL_DEPTH = 1;

/** What is wrong with the policies of profile, workflow and task, broadest first. */
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

/** The verdict on a session's chain under the policy of its identity. */
export function judgeDelegation(
  { delegation_chain: chain }: Pick<Session, "delegation_chain">,
  { auth: { delegation_policy: policy } }: Pick<EffectiveIdentity, "auth">,
): DelegationVerdict {
  const principals = chain.flatMap(({ principal }) => principal ?? []);
  const acyclic = new Set(principals).size === principals.length;
  const hasGrants = chain.every(({ grant }) => grant !== null);
  const depth = chain.length;
  const isShort = depth <= (policy.max_depth ?? USUAL_DEPTH);
  const isGranted = hasGrants || policy.require_grant_per_hop === false;
  return {
    valid: acyclic && isShort && isGranted && areAllowed(chain.slice(1), policy),
    depth,
    acyclic,
    all_grants_present: hasGrants,
  };
}

/** Behind the subject; an empty list allows everybody. */
function areAllowed(
  delegators: readonly Hop[],
  { allowed_delegators }: EffectiveIdentity["auth"]["delegation_policy"],
): boolean {
  const allowed = allowed_delegators ?? [];
  if (allowed.length === 0) return true;
  return delegators.every(({ principal }) => allowed.includes(principal));
}
