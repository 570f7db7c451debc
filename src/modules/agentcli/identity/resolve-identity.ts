/**
 * Resolves a task's declaration to the identity that it acts under: merged, provided and within its limits. A triggered
 * task has, by its own or else its parent's `child_credential_policy`, no credentials, its parent's, its own within its
 * parent's, or just its own. Nothing is run or written.   agentcli execution identity "Resolution", "Child credentials"
 */
import { given, type JsonRecord } from "../../../base/json-value.ts";
import { type EffectiveIdentity, effectiveOf, isDeclared } from "../compile/merge.ts";
import { type Failure, failure, isFailure } from "../failure.ts";
import { compareTrust } from "../manifest/fields.ts";
import type { World } from "../world.ts";
import { checkTightening, judgeDelegation } from "./delegation.ts";
import { type FoundTask, foundTask } from "./find-task.ts";
import { findUnable, IDENTITY_PROVIDERS } from "./providers.ts";
import { describeSession, emptySession, type Session } from "./session.ts";

/** The identity that a task acts under. */
export interface ResolvedIdentity {
  readonly effective: EffectiveIdentity;
  /** The declaration, for the audit record. */
  readonly declared: Readonly<Record<string, unknown>>;
  /** Undefined in a 0.1 manifest, which has no providers. */
  readonly session: Session | undefined;
  /** The session without secrets; null without a session. */
  readonly described: Readonly<Record<string, unknown>> | null;
  readonly principal: string;
}

type IdentityWorld = Pick<World, "env" | "directory" | "operator" | "keySets">;

/** Resolves a task's own identity; `isWithheld` leaves out its credentials. */
async function resolveIdentity(
  { manifest, workflow, task, plan }: FoundTask,
  world: IdentityWorld,
  isWithheld = false,
): Promise<ResolvedIdentity | Failure> {
  const { identity } = plan;
  const effective = effectiveOf(plan, manifest);
  if (manifest.version === "0.1") {
    const principal = effective.subject.principal ?? world.operator;
    const declared = isDeclared(identity) ? describeDeclared(effective) : { ...identity };
    return { effective, declared, session: undefined, described: null, principal };
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

/** Checks the trust level against `max_autonomy`. */
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

/** The maximum number of parents that credentials are inherited through. */
const MAX_PARENTS = 16;

/** Resolves the identity that a task acts under, including inheritance from its parents. */
export async function resolveTaskIdentity(
  found: FoundTask,
  world: IdentityWorld,
  depth = 0,
): Promise<ResolvedIdentity | Failure> {
  const handover = handoverOf(found);
  switch (handover?.policy) {
    case "none":
      return resolveIdentity(found, world, true);
    case "inherit":
      return inherit(found, handover.parent, world, depth);
    case "downscope":
      return downscope(found, handover.parent, world);
    default:
      return resolveIdentity(found, world);
  }
}

/** The child credential policy of a triggered task. */
interface Handover {
  readonly policy: string;
  readonly parent: FoundTask;
}

/** Undefined if the task has no trigger or no policy applies. */
function handoverOf({
  manifest,
  workflow,
  plan,
  task: { trigger },
}: FoundTask): Handover | undefined {
  const task = workflow.tasks.find(({ id }) => id === trigger?.parent);
  if (task === undefined || manifest.version === "0.1") return undefined;
  const parent = foundTask(manifest, workflow, task);
  const policy = plan.child_credential_policy ?? parent.plan.child_credential_policy;
  return policy === null ? undefined : { policy, parent };
}

/** The other tasks' data that determine a task's credentials; undefined if none do. */
export function credentialsFrom(found: FoundTask, depth = 0): JsonRecord | undefined {
  const { policy, parent } = handoverOf(found) ?? {};
  if (parent === undefined || depth >= MAX_PARENTS) return undefined;
  const hasParents = policy === "inherit" || policy === "downscope";
  return {
    policy,
    ...(hasParents ? { identity: effectiveOf(parent.plan, parent.manifest) } : {}),
    ...given({ from: policy === "inherit" ? credentialsFrom(parent, depth + 1) : undefined }),
  };
}

/** Resolves the parent's credentials, presented as the child declares if it declares bindings. */
async function inherit(
  found: FoundTask,
  parent: FoundTask,
  world: IdentityWorld,
  depth: number,
): Promise<ResolvedIdentity | Failure> {
  if (depth >= MAX_PARENTS) {
    const message = "the chain of parents that credentials are inherited from is too long";
    return failure("identity_delegation_invalid", message);
  }
  const inherited = await resolveTaskIdentity(parent, world, depth + 1);
  if (isFailure(inherited)) return inherited;
  const { presentation } = effectiveOf(found.plan, found.manifest);
  if (presentation.bindings === null) return inherited;
  return { ...inherited, effective: { ...inherited.effective, presentation } };
}

/** No provider here can narrow a credential, so the child's own must be narrower. */
async function downscope(
  found: FoundTask,
  parent: FoundTask,
  world: IdentityWorld,
): Promise<ResolvedIdentity | Failure> {
  const { manifest } = found;
  const broad = effectiveOf(parent.plan, manifest);
  const narrow = effectiveOf(found.plan, manifest);
  const most = broad.auth.scopes;
  const wanted = narrow.auth.scopes;
  if (wanted === null || wanted.length === 0 || narrow.ref === broad.ref) {
    return refuse("needs an identity and auth.scopes of its own");
  }
  const excess = most === null ? undefined : wanted.find((scope) => !most.includes(scope));
  if (excess !== undefined)
    return refuse(`asks for ${JSON.stringify(excess)}, which its parent lacks`);
  const level = narrow.trust.level ?? "supervised";
  if (compareTrust(level, broad.trust.level ?? "supervised") > 0) {
    return refuse(`is trusted further, "${level}", than its parent`);
  }
  return resolveIdentity(found, world);
}

function refuse(what: string): Failure {
  const message = `child_credential_policy is "downscope", but the task ${what}`;
  return failure("identity_delegation_invalid", message);
}
