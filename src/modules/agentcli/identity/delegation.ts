/**
 * Delegation chains. A token's `act` is its holder, each nested `act` the holder before, and `sub` the subject that all
 * act for; only a verified signature makes this trustworthy. A narrower scope may only tighten a broader one's policy,
 * and a chain must satisfy the policy.   RFC 8693 §4.1, RFC 7519, agentcli execution identity "Delegation"
 */
import { isRecord, type JsonRecord, quoteValue } from "../../../base/json-value.ts";
import { reasonOf } from "../../../base/thrown.ts";
import type { EffectiveIdentity } from "../compile/merge.ts";
import { type Failure, failure } from "../failure.ts";
import { findKey, loadJose, SIGNATURE_ALGORITHMS } from "../governance/keys.ts";
import type { DelegationPolicy } from "../manifest/manifest.ts";
import type { World } from "../world.ts";
import type { DelegationVerdict, Hop, Session } from "./session.ts";

/** The maximum number of hops; a token with more is hostile. */
const MAX_HOPS = 32;

/**
 * Returns the hops, holder first; or the fault if the token has none or is for another audience than its identity
 * declares.
 */
export async function readChain(
  token: string,
  {
    provider_config: settings,
    audience,
  }: Pick<EffectiveIdentity["auth"], "provider_config" | "audience">,
  keySets: World["keySets"],
): Promise<readonly Hop[] | string> {
  const found = await findKey(settings ?? {}, keySets);
  if (typeof found === "string") return `cannot be verified: ${found}`;
  const { compactVerify } = await loadJose();
  let claims: unknown;
  try {
    const options = { algorithms: [...SIGNATURE_ALGORITHMS] };
    const { payload } = await compactVerify(token, found.key, options);
    claims = JSON.parse(Buffer.from(payload).toString("utf8"));
  } catch (error) {
    return `does not verify: ${reasonOf(error)}`;
  }
  if (!isRecord(claims)) return "has no claims";
  return findTimeFault(claims) ?? findAudienceFault(claims, audience) ?? hopsOf(claims);
}

/** Times must be numbers; a token is invalid before its own `nbf` or an actor's.   RFC 7519 §4.1.4, §4.1.5 */
function findTimeFault({ nbf, exp }: JsonRecord): string | undefined {
  const wrong = Object.entries({ nbf, exp }).find(
    ([, value]) => value !== undefined && !isTime(value),
  );
  if (wrong !== undefined) return `has an ${wrong[0]} that is no time`;
  return isTime(nbf) && nbf * 1000 > Date.now() + CLOCKS_DIFFER_MS ? "is not good yet" : undefined;
}

/** The tolerated clock difference between servers. */
const CLOCKS_DIFFER_MS = 5_000;

function isTime(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) < 8_640_000_000_000;
}

/** RFC 7519 §4.1.3 */
function findAudienceFault({ aud }: JsonRecord, audience: string | null): string | undefined {
  if (audience === null) return undefined;
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return named.includes(audience) ? undefined : `is not for ${quoteValue(audience)}`;
}

function hopsOf(claims: JsonRecord): readonly Hop[] | string {
  const { sub, exp, act } = claims;
  const hops: Hop[] = [];
  for (let actor = act; actor !== undefined; actor = isRecord(actor) ? actor["act"] : undefined) {
    if (!isRecord(actor) || typeof actor["sub"] !== "string")
      return "has an actor without a subject";
    if (hops.length >= MAX_HOPS) return `has more than ${MAX_HOPS} actors`;
    const fault = findTimeFault(actor);
    if (fault !== undefined) return `has an actor that ${fault}`;
    // An actor's own claim is narrower than the token's.
    hops.push(hopOf(actor["sub"], actor, "delegated", actor["exp"] ?? exp));
  }
  if (typeof sub !== "string") return "has no subject";
  return [...hops, hopOf(sub, claims, hops.length === 0 ? "holder" : "origin", exp)];
}

function hopOf(principal: string, { jti }: JsonRecord, kind: string, exp: unknown): Hop {
  return {
    kind,
    principal,
    grant: typeof jti === "string" && jti !== "" ? jti : "bearer-token",
    validated: true,
    expires_at: isTime(exp) ? new Date(exp * 1000).toISOString() : null,
  };
}

/** The maximum depth without a policy: the subject alone. */
const USUAL_DEPTH = 1;

/** Checks that the policies of profile, workflow and task only tighten, broadest first. */
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

/** Judges a session's chain by its identity's policy at this moment. */
export function judgeDelegation(
  { delegation_chain: chain }: Pick<Session, "delegation_chain">,
  { auth: { delegation_policy: policy } }: Pick<EffectiveIdentity, "auth">,
): DelegationVerdict {
  const now = Date.now();
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

/** Checks a hop behind the subject; an empty list allows any delegator. */
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
