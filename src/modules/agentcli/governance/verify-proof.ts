/**
 * Verifies the authorization proof that a task needs. A proof that is not required
 * is judged and reported; one that is required and does not hold stops everything.
 * agentcli execution identity "Authorization proof"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { canonicalDigest } from "../../../identity/canonical-form.ts";
import { applyProofProfile } from "../compile/merge-governance.ts";
import { type Failure, failure } from "../failure.ts";
import type { FoundTask } from "../identity/resolve-identity.ts";
import type { World } from "../world.ts";
import { PROOF_VERIFIERS, type ProofVerdict } from "./proof-verifiers.ts";
import { readSource } from "./value-source.ts";

/** A verdict with the profile that it was made by. */
export interface ProofReport extends ProofVerdict {
  readonly kind: "proof";
  readonly ref: string;
  readonly required: boolean;
}

/** Undefined where the task refers to no proof. */
export async function verifyProof(
  { manifest, plan }: Pick<FoundTask, "manifest" | "plan">,
  world: World,
  mayRunCommands = false,
): Promise<ProofReport | Failure | undefined> {
  if (plan.authorization_proof === null) return undefined;
  const proof = applyProofProfile(manifest, plan.authorization_proof);
  const method = proof.method ?? "none";
  const verifier = PROOF_VERIFIERS.get(method);
  if (verifier === undefined) {
    return failure("unknown_verifier", `Unknown verifier method: ${method}`);
  }
  const required = proof.verify.required === true;
  const source = proof.proof?.value_from;
  const value = await readSource(source ?? {}, world, mayRunCommands);
  if (required && value.kind === "absent") {
    const message = `Authorization proof not available for profile "${proof.ref}": ${value.message}`;
    return failure("authorization_proof_failed", message);
  }
  const given = value.kind === "value" ? value.value : undefined;
  const manifestDigest = canonicalDigest(manifest as unknown as JsonRecord);
  const verdict = await verifier.verify(given, proof, { world, manifestDigest });
  if (required && !verdict.verified) {
    const why = verdict.reason ?? "verification failed";
    const message = `Authorization proof verification failed for profile "${proof.ref}": ${why}`;
    return failure("authorization_proof_failed", message);
  }
  return { kind: "proof", ref: proof.ref, required, ...verdict };
}
