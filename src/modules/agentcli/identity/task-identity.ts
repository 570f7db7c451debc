/**
 * The identity of a task that may follow on another: by its `child_credential_policy`, else its
 * parent's, it has no credentials, its parent's, its own within its parent's, or just its own.
 * agentcli execution identity "Child credentials"
 */
import { planTask } from "../compile/task-plan.ts";
import { type Failure, failure, isFailure } from "../failure.ts";
import { compareTrust } from "../manifest/identity-fields.ts";
import {
  effectiveOf,
  type FoundTask,
  type IdentityWorld,
  type ResolvedIdentity,
  resolveIdentity,
} from "./resolve-identity.ts";

/** Longer chains of parents inherit nothing any more. */
const MAX_PARENTS = 16;

/** Resolves the identity that a task acts under, whatever follows on what. */
export async function resolveTaskIdentity(
  found: FoundTask,
  world: IdentityWorld,
  depth = 0,
): Promise<ResolvedIdentity | Failure> {
  const parent = parentOf(found);
  if (parent === undefined || found.manifest.version === "0.1")
    return resolveIdentity(found, world);
  const own = found.plan.child_credential_policy;
  switch (own ?? parent.plan.child_credential_policy) {
    case "none":
      return resolveIdentity(found, world, true);
    case "inherit":
      return inherit(found, parent, world, depth);
    case "downscope":
      return downscope(found, parent, world);
    default:
      return resolveIdentity(found, world);
  }
}

function parentOf({ manifest, workflow, task: { trigger } }: FoundTask): FoundTask | undefined {
  const task = workflow.tasks.find(({ id }) => id === trigger?.parent);
  if (task === undefined) return undefined;
  return { manifest, workflow, task, plan: planTask(workflow, task) };
}

/** The parent's credentials, handed over as the child says, where it says so itself. */
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

/** No provider here narrows a credential: the child's own has to be the narrower one. */
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
