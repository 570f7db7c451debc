/**
 * The methods of 0.2: about one task, who it acts as, who stands behind that, if its proof holds and
 * whether it may run; and about the providers and verifiers that there are, and what each can do. They
 * read and ask; they write nothing, and run nothing but a proof's command, by leave of the caller.
 * agentcli protocol "v0.2"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { canonicalDigest } from "../../../identity/canonical-form.ts";
import { type Failure, failure, invalidArgument, isFailure } from "../failure.ts";
import { authorize, type Decision, judgeTrust } from "../governance/authorization.ts";
import { verifyProof } from "../governance/proof.ts";
import { type FoundTask, findTask } from "../identity/find-task.ts";
import { IDENTITY_PROVIDERS } from "../identity/providers.ts";
import { type ResolvedIdentity, resolveTaskIdentity } from "../identity/resolve-identity.ts";
import { taskHash } from "../identity/task-hash.ts";
import { readManifest } from "../manifest/validate.ts";
import type { World } from "../world.ts";
import { hasManifest, type Method, type NamedMethod, readParameters } from "./method.ts";

/** The identity that a task acts under. */
export const resolveMethod: Method = async (params, { world }) => {
  const resolved = await resolveTask(params, world);
  if (isFailure(resolved)) return resolved;
  const { declared, described, principal } = resolved.identity;
  return {
    ok: true,
    declared_identity: declared,
    resolved_identity: described,
    principal_used: principal,
  };
};

/** The verdict on its chain of delegation. */
export const validateDelegationMethod: Method = async (params, { world }) => {
  const resolved = await resolveTask(params, world);
  if (isFailure(resolved)) return resolved;
  const { session, declared } = resolved.identity;
  if (session === undefined) return { ok: true, delegation: null };
  const provider = IDENTITY_PROVIDERS.get(String(declared["provider"]));
  const delegates = provider?.capabilities.delegation === true;
  const hops = session.delegation_chain.map((hop, index) => ({
    index,
    ...hop,
    grant_present: hop.grant !== null,
  }));
  const delegation = {
    ...session.delegation_validation,
    ...(delegates ? { hop_status: hops } : {}),
  };
  return { ok: true, delegation };
};

/** Tells whether it may run; a denial is a decision like any other. */
export const evaluateMethod: Method = async (params, { world }) => {
  const resolved = await resolveTask(params, world);
  if (isFailure(resolved)) return resolved;
  const { found, identity } = resolved;
  if (found.manifest.version === "0.1") {
    return invalidArgument("Authorization evaluation requires a version 0.2 manifest");
  }
  const { delegation_validation: delegation, trust: trusted } = identity.session ?? {};
  if (delegation?.valid === false) {
    const message = `the chain of delegation is not valid: ${delegation.reasons.join("; ")}`;
    return failure("identity_delegation_invalid", message);
  }
  const trust = judgeTrust(found.plan.contract, trusted?.effective_level ?? "supervised");
  if (trust.kind === "insufficient") {
    return failure("trust_level_insufficient", trust.message);
  }
  const decided = await authorize(found, identity, world);
  if (isFailure(decided)) return decided;
  if (decided === undefined) {
    return invalidArgument("--require-authorization specified but no authorization block resolved");
  }
  const warnings = trust.kind === "warning" ? { warnings: [trust.message] } : {};
  return { ok: true, decision: decisionOf(decided), authorization: decided, ...warnings };
};

/** The verdict on the proof that stands behind a task; null where none does. */
export const verifyProofMethod: Method = async (params, { world }) => {
  const found = readTask(params);
  if (isFailure(found)) return found;
  const flags = readParameters(params, { allowProofCommand: "flag" });
  if (isFailure(flags)) return flags;
  if (found.manifest.version === "0.1") {
    return invalidArgument("Authorization proof verification requires a version 0.2 manifest");
  }
  const verified = await verifyProof(found, world, flags.allowProofCommand);
  if (isFailure(verified)) return verified;
  const { kind: _, ...proof } = verified ?? {};
  return {
    ok: true,
    authorization_proof: verified === undefined ? null : proof,
    effective_task_hash: taskHash(found),
    manifest_digest: canonicalDigest(found.manifest as unknown as JsonRecord),
  };
};

/** The form of the protocol document; the other one is what older clients read. */
function decisionOf({ decision, reason }: Decision): JsonRecord {
  return { allowed: decision === "permit", reason, kind: decision };
}

interface ResolvedTask {
  readonly found: FoundTask;
  readonly identity: ResolvedIdentity;
}

function readTask(params: JsonRecord): FoundTask | Failure {
  if (!hasManifest(params)) return invalidArgument("manifest is required");
  const ids = readParameters(params, { taskId: "required-text", workflowId: "text" });
  if (isFailure(ids)) return ids;
  const read = readManifest(params["manifest"]);
  return isFailure(read) ? read : findTask(read.manifest, ids.taskId, ids.workflowId);
}

/** Proof first: what was never authorized resolves no credentials. */
async function resolveTask(params: JsonRecord, world: World): Promise<ResolvedTask | Failure> {
  const found = readTask(params);
  if (isFailure(found)) return found;
  if (found.manifest.version === "0.2") {
    const proof = await verifyProof(found, world);
    if (isFailure(proof)) return proof;
  }
  const identity = await resolveTaskIdentity(found, world);
  return isFailure(identity) ? identity : { found, identity };
}

interface Capable {
  readonly capabilities: object;
}

/** The members of a kind, in one place. */
interface Registry<One extends Capable> {
  readonly prefix: string;
  readonly kind: "provider" | "method";
  readonly noun: string;
  readonly registered: ReadonlyMap<string, One>;
  tell?(one: One, name: string): JsonRecord;
}

/** The methods that list all of a kind, and that tell of one. */
export function registryMethods<One extends Capable>({
  prefix,
  kind,
  noun,
  registered,
  tell = ({ capabilities }) => ({ capabilities }),
}: Registry<One>): Readonly<Record<string, NamedMethod>> {
  const all = [...registered].map(([name, { capabilities }]) => ({ name, capabilities }));
  const tellOne: Method = (params) => {
    const read = readParameters<Record<string, "required-text">>(params, {
      [kind]: "required-text",
    });
    if (isFailure(read)) return read;
    const name = read[kind] ?? "";
    const one = registered.get(name);
    if (one === undefined) return invalidArgument(`Unknown ${noun}: ${name}`);
    return { ok: true, [kind]: name, ...tell(one, name) };
  };
  return {
    [`${prefix}.${kind}s`]: {
      summary: `Each ${noun}, and what it can do.`,
      method: () => ({ ok: true, [`${kind}s`]: all }),
    },
    [`${prefix}.schema`]: { summary: `What one ${noun} can do.`, method: tellOne },
  };
}
