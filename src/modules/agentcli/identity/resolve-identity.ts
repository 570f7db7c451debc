/**
 * From what a task declares to the identity that it acts under: merged, provided, and within its own
 * limits. Nothing is run, and nothing is written.   agentcli execution identity "Resolution"
 */

import { quoteValue } from "../../../base/json-value.ts";
import {
  applyProfile,
  declareIdentity,
  type EffectiveIdentity,
  isDeclared,
} from "../compile/merge-identity.ts";
import type { TaskPlan } from "../compile/task-plan.ts";
import { type Failure, failure, isFailure } from "../failure.ts";
import { compareTrust, type DelegationPolicy } from "../manifest/identity-fields.ts";
import type { Manifest, Task, Workflow } from "../manifest/manifest.ts";
import type { World } from "../world.ts";
import { findUnable } from "./provider-limits.ts";
import { IDENTITY_PROVIDERS } from "./providers.ts";
import {
  type DelegationVerdict,
  describeSession,
  emptySession,
  type Hop,
  type Session,
} from "./session.ts";

/** A task that was found, with all that it inherits from. */
export interface FoundTask {
  readonly manifest: Manifest;
  /** Expanded. */
  readonly workflow: Workflow;
  readonly task: Task;
  readonly plan: TaskPlan;
}

/** The identity that a task acts under. */
export interface ResolvedIdentity {
  readonly effective: EffectiveIdentity;
  /** As declared, for the record. */
  readonly declared: Readonly<Record<string, unknown>>;
  /** Undefined in a 0.1 manifest, which has no providers. */
  readonly session: Session | undefined;
  /** Without secrets; null without a session. */
  readonly described: Readonly<Record<string, unknown>> | null;
  readonly principal: string;
}

/** The parts that identities are resolved with. */
export type IdentityWorld = Pick<World, "env" | "directory" | "operator" | "keySets">;

/** Resolves a task's own identity, or says why it has none; withheld, without its credentials. */
export async function resolveIdentity(
  { manifest, workflow, task, plan }: FoundTask,
  world: IdentityWorld,
  isWithheld = false,
): Promise<ResolvedIdentity | Failure> {
  const { identity } = plan;
  const effective = effectiveOf(plan, manifest);
  if (manifest.version === "0.1") {
    const principal = effective.subject.principal ?? world.operator;
    const declared = isDeclared(identity) ? describeDeclared(effective) : { ...identity };
    return {
      effective,
      declared,
      session: undefined,
      described: null,
      principal,
    };
  }
  const profile = manifest.identity_profiles?.find(({ id }) => id === effective.ref);
  const loosened = checkTightening(
    [profile, workflow.identity, task.identity].map((layer) => layer?.auth?.delegation_policy),
  );
  if (loosened !== undefined) return loosened;
  const excessive = checkAutonomy(effective);
  if (excessive !== undefined) return excessive;
  const name = effective.provider ?? "none";
  const provider = IDENTITY_PROVIDERS.get(name);
  if (provider === undefined) {
    return failure("unknown_identity_provider", `Unknown identity provider: ${name}`);
  }
  const [unable] = findUnable(effective, provider.capabilities);
  if (unable !== undefined) {
    const message = `identity provider "${name}" ${unable.message}`;
    return failure("identity_resolution_failed", message);
  }
  const provided = isWithheld
    ? emptySession(name, effective)
    : await provider.resolve(effective, world);
  if (isFailure(provided)) return provided;
  const session = { ...provided, delegation_validation: judgeDelegation(provided, effective) };
  const { principal } = session.subject;
  return {
    effective,
    declared: describeDeclared({ ...effective, provider: name }),
    session,
    described: describeSession(session),
    principal: principal ?? effective.subject.principal ?? world.operator,
  };
}

/** The declaration, in whichever form it was written. */
export function effectiveOf(
  { identity }: Pick<TaskPlan, "identity">,
  manifest: Manifest,
): EffectiveIdentity {
  if (isDeclared(identity)) {
    const profile = manifest.identity_profiles?.find(({ id }) => id === identity.ref);
    return applyProfile(profile, identity);
  }
  const { principal, run_as } = identity;
  const declared = declareIdentity(undefined, { subject: { principal, run_as } });
  if (!isDeclared(declared)) throw new Error("a structured identity is a declared one");
  return applyProfile(undefined, declared);
}

/** Nobody is trusted further than the scope that constrains it allows. */
function checkAutonomy({ trust }: EffectiveIdentity): Failure | undefined {
  const most = trust.constraints.max_autonomy;
  const { level } = trust;
  if (most === null || level === null || compareTrust(level, most) <= 0) return undefined;
  const message = `trust.level "${level}" exceeds max_autonomy "${most}"`;
  return failure("trust_level_insufficient", message);
}

function describeDeclared({
  provider,
  subject,
  trust,
}: EffectiveIdentity): Readonly<Record<string, unknown>> {
  const { principal, kind, issuer } = subject;
  return {
    provider: provider ?? "none",
    subject: { principal, kind, issuer },
    trust_level: trust.level,
  };
}

/** Depth without a policy: the subject itself, and nobody behind it. */
const USUAL_DEPTH = 1;

/**
 * Chains of delegation: a narrower scope may only tighten the policy of a broader one, and a chain
 * that was resolved has to keep within the policy. The fault of the policies of profile, workflow
 * and task, broadest first.   agentcli execution identity "Delegation"
 */
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
