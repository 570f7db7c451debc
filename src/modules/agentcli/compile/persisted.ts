/**
 * The parts of identity, proof, authorization and evidence that may be stored in a scheduler's database: no provider
 * settings, inputs, attributes or proof commands.   agentcli spec "Persisted declarations"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { canonicalDigest } from "../../../identity/canonical-form.ts";
import type { Auth, Manifest, Subject } from "../manifest/manifest.ts";
import type { EffectiveIdentity, EffectiveProof } from "./merge.ts";

/**
 * An identity without its provider's settings, and with a digest in place of attributes. The scheduler presents
 * credentials to programs, and refuses a prompt with any.
 */
export function persistIdentity(
  { subject, auth, trust, presentation, ref, provider }: EffectiveIdentity,
  scope: string | null,
  isProgram: boolean,
): JsonRecord {
  const isPresented = isProgram && Object.values(presentation).some((value) => value !== null);
  return {
    ref,
    provider,
    ...(scope === null ? {} : { scope }),
    subject: persistSubject(subject),
    auth: persistAuth(auth),
    trust,
    ...(isPresented ? { presentation } : {}),
  };
}

function persistSubject({ attributes, ...rest }: Subject): JsonRecord {
  const isNone = attributes === undefined || attributes === null;
  return isNone ? rest : { ...rest, attributes_hash: canonicalDigest(attributes) };
}

function persistAuth(auth: Auth): JsonRecord {
  return { ...auth, provider_config: null, inputs: null };
}

/** A proof with its file or variable, never with a command. */
export function persistProof(proof: EffectiveProof): JsonRecord {
  const { allowed_signers, principal, namespace, ...rest } = proof;
  const signers = Object.entries({ allowed_signers, principal, namespace });
  return {
    ...rest,
    ...Object.fromEntries(signers.filter(([, value]) => value !== null)),
    proof: persistSource(proof.proof),
  };
}

/** A declaration without its provider's settings. */
export function persistDeclaration<T extends object>(declaration: T): JsonRecord {
  return { ...declaration, provider_config: null };
}

/** The manifest's profiles without the parts that must not be stored. */
export function persistProfiles(manifest: Manifest): JsonRecord {
  const {
    identity_profiles: identities,
    authorization_proof_profiles: proofs,
    authorization_profiles: authorizations,
    evidence_profiles: evidence,
  } = manifest;
  return {
    ...listOf("identity_profiles", identities, ({ auth, subject, ...profile }) => ({
      ...profile,
      subject: subject ? persistSubject(subject) : null,
      provider_config: null,
      auth: auth ? persistAuth(auth) : null,
    })),
    ...listOf("authorization_proof_profiles", proofs, (profile) => ({
      ...profile,
      proof: persistSource(profile.proof),
    })),
    ...listOf("authorization_profiles", authorizations, persistDeclaration),
    ...listOf("evidence_profiles", evidence, persistDeclaration),
  };
}

function listOf<T>(
  key: string,
  profiles: readonly T[] | null | undefined,
  persist: (profile: T) => JsonRecord,
): JsonRecord {
  const isEmpty = profiles === undefined || profiles === null || profiles.length === 0;
  return isEmpty ? {} : { [key]: profiles.map(persist) };
}

function persistSource(proof: EffectiveProof["proof"] | undefined): JsonRecord | null {
  if (proof === undefined || proof === null) return null;
  const env = proof.value_from?.env ?? null;
  const file = proof.value_from?.file ?? null;
  return { value_from: env === null && file === null ? null : { env, file } };
}
