/**
 * From what a task declares to the identity that it acts under: merged, provided, and within its own
 * limits. Nothing is run, and nothing is written.   agentcli execution identity "Resolution"
 */
import {
  applyProfile,
  declareIdentity,
  type EffectiveIdentity,
  isDeclared,
} from "../compile/merge-identity.ts";
import type { TaskPlan } from "../compile/task-plan.ts";
import { type Failure, failure, isFailure } from "../failure.ts";
import { compareTrust } from "../manifest/identity-fields.ts";
import type { Manifest, Task, Workflow } from "../manifest/manifest.ts";
import type { World } from "../world.ts";
import { checkTightening, judgeDelegation } from "./delegation.ts";
import { findUnable } from "./provider-limits.ts";
import { IDENTITY_PROVIDERS } from "./providers.ts";
import { describeSession, emptySession, type Session } from "./session.ts";

/** A task that was found, with all that it inherits from. */
export interface FoundTask {
  readonly kind: "task";
  readonly manifest: Manifest;
  /** Expanded. */
  readonly workflow: Workflow;
  readonly task: Task;
  readonly plan: TaskPlan;
}

/** The identity that a task acts under. */
export interface ResolvedIdentity {
  readonly kind: "identity";
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
      kind: "identity",
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
    kind: "identity",
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
