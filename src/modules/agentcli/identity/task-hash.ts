/** The hash of a task, which approvals and audit records refer to. */
import { given, type JsonRecord } from "../../../base/json-value.ts";
import { canonicalDigest } from "../../../identity/canonical-form.ts";
import type { FoundTask } from "./find-task.ts";
import { credentialsFrom } from "./resolve-identity.ts";

/**
 * Returns the `sha256:…` of a task's effective definition: everything that determines its program, identity and
 * conditions, including referenced profiles and the source of its credentials. An approval is valid for this hash only.
 */
export function taskHash(found: FoundTask): string {
  const { plan, manifest } = found;
  const { id, source, execution, contract, verify, runtime, output, approval } = plan;
  const { identity, authorization, evidence, authorization_proof: proof } = plan;
  const identityRef = "ref" in identity ? identity.ref : null;
  const effective: JsonRecord = {
    ...{ id, source, execution, contract, verify, runtime, output, approval },
    ...{ identity, authorization, evidence, authorization_proof: proof },
    ...given({ credentials: credentialsFrom(found) }),
    profiles: {
      identity: findProfile(manifest.identity_profiles, identityRef),
      authorization: findProfile(manifest.authorization_profiles, authorization?.ref),
      evidence: findProfile(manifest.evidence_profiles, evidence?.ref),
      authorization_proof: findProfile(manifest.authorization_proof_profiles, proof?.ref),
    },
  };
  return canonicalDigest(effective);
}

function findProfile(
  profiles: readonly { readonly id: string }[] | null | undefined,
  ref: string | null | undefined,
): object | null {
  return profiles?.find(({ id }) => id === ref) ?? null;
}
