/**
 * The methods of 0.2 about one task (its identity, delegation, proof and authorization) and about the available
 * providers and verifiers. They only read, except that a proof's command is run if the caller allows it.   agentcli
 * protocol "v0.2"
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

/** Resolves the identity that a task acts under. */
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

/** Judges a task's delegation chain. */
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

/** Decides if a task may run; a denial is a result, not a failure. */
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

/** Judges the proof of a task; null without a proof. */
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

/** The decision as in the protocol document; older clients read the other form. */
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

/** Verifies the proof first, so that an unauthorized task resolves no credentials. */
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

/** The registered providers of a kind. */
interface Registry<One extends Capable> {
  readonly prefix: string;
  readonly kind: "provider" | "method";
  readonly noun: string;
  readonly registered: ReadonlyMap<string, One>;
  tell?(one: One, name: string): JsonRecord;
}

/** Creates the methods that list a kind and describe one of it. */
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
