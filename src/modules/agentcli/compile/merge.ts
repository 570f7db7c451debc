/**
 * Merges profile, workflow and task by their field tables; the narrower scope wins. Lists and attributes are replaced
 * whole, provider settings are merged one level deep, and a requirement of a broader scope cannot be waived by a
 * narrower one.   agentcli spec "Inheritance", agentcli execution identity "Merge"
 */
import { type JsonRecord, recordIn } from "../../../base/json-value.ts";
import { BLOCKS, type Field, type Fields } from "../manifest/fields.ts";
import type {
  AuthorizationReference,
  Contract,
  EvidenceProfile,
  EvidenceReference,
  Governed,
  Identity,
  IdentityParts,
  IdentityProfile,
  Manifest,
  ProofProfile,
  ProofReference,
} from "../manifest/manifest.ts";
import { fieldsOf, isStructuredIdentity } from "../manifest/tables.ts";

/** A block with every leaf present; null for unset. */
type Filled<Block> = {
  readonly [Key in keyof Block]-?: FilledMember<NonNullable<Block[Key]>>;
};

type FilledMember<Member> = Member extends readonly unknown[]
  ? Member | null
  : Member extends object
    ? string extends keyof Member
      ? Member | null
      : Filled<Member>
    : Member | null;

/** A block that is replaced as a whole. */
type Whole<Block> = { readonly [Key in keyof Block]-?: NonNullable<Block[Key]> | null };

function mergeBlock<Merged>(fields: Fields, narrow: unknown, broad: unknown): Merged {
  const [inner, outer] = [recordIn(narrow), recordIn(broad)];
  const members = Object.entries(fields).map(([name, field]) => {
    return [name, mergeField(field, inner[name], outer[name])];
  });
  return Object.fromEntries(members) as Merged;
}

function mergeField(field: Field, narrow: unknown, broad: unknown): unknown {
  if (field === "merged map") return mergeMaps(narrow, broad);
  if (typeof field === "string") {
    const fields = fieldsOf(field);
    if (fields !== undefined) return mergeBlock<unknown>(fields, narrow, broad);
  } else if ("kept" in field && field.kept === broad) return broad;
  return narrow ?? broad ?? null;
}

/** Merges the members of both, the narrower taking precedence; null if empty. */
function mergeMaps(narrow: unknown, broad: unknown): JsonRecord | null {
  const merged = { ...recordIn(broad), ...recordIn(narrow) };
  return Object.keys(merged).length > 0 ? merged : null;
}

/** A merged identity in the form of 0.1. */
export type FlatIdentity = Filled<Pick<Identity, "principal" | "run_as" | "attestation">>;

type MergedParts = Filled<IdentityParts>;

/** A merged identity of workflow and task in the form of 0.2. */
export interface DeclaredIdentity extends MergedParts {
  readonly ref: string | null;
  readonly scope: string | null;
}

/** A merged identity including its profile, as providers need it. */
export interface EffectiveIdentity extends MergedParts {
  readonly ref: string | null;
  readonly provider: string | null;
}

/** Merges the identities of workflow and task. */
export function declareIdentity(
  workflow: Identity | null | undefined,
  task: Identity | null | undefined,
): FlatIdentity | DeclaredIdentity {
  const broad = workflow ?? {};
  const narrow = task ?? {};
  if (!isStructuredIdentity(broad) && !isStructuredIdentity(narrow)) {
    return mergeBlock<FlatIdentity>(BLOCKS.flat_identity, narrow, broad);
  }
  return mergeStructured(narrow, broad);
}

/** Tells whether an identity is in the structured form. */
export function isDeclared(
  identity: FlatIdentity | DeclaredIdentity,
): identity is DeclaredIdentity {
  return "subject" in identity;
}

/** Merges an identity of either form with the profile that it references. */
export function effectiveOf(
  { identity }: { readonly identity: FlatIdentity | DeclaredIdentity },
  manifest: Manifest,
): EffectiveIdentity {
  if (isDeclared(identity)) {
    const profile = manifest.identity_profiles?.find(({ id }) => id === identity.ref);
    return applyProfile(profile, identity);
  }
  const { principal, run_as } = identity;
  return applyProfile(undefined, mergeStructured({ subject: { principal, run_as } }, {}));
}

/** Merges an identity with the profile that it references. */
export function applyProfile(
  profile: IdentityProfile | undefined,
  declared: DeclaredIdentity,
): EffectiveIdentity {
  const settings = mergeMaps(profile?.auth?.provider_config, profile?.provider_config);
  const base: IdentityParts = {
    ...profile,
    auth: { ...profile?.auth, provider_config: settings },
  };
  const { ref: _, scope: __, ...parts } = mergeStructured(declared, base);
  return {
    ref: declared.ref ?? profile?.id ?? null,
    provider: profile?.provider ?? null,
    ...parts,
  };
}

/** Moves bindings to the front of a merged presentation; the field table has them last. */
function mergeStructured(narrow: Identity, broad: Identity): DeclaredIdentity {
  const merged = mergeBlock<DeclaredIdentity>(BLOCKS.structured_identity, narrow, broad);
  const { bindings, ...presentation } = merged.presentation;
  return { ...merged, presentation: { bindings, ...presentation } };
}

/** A contract with every field present. */
export type MergedContract = Filled<Contract>;

/** Merges the contracts of workflow and task. */
export function mergeContract(workflow: Governed, task: Governed): MergedContract {
  return mergeBlock(BLOCKS.contract, task.contract, workflow.contract);
}

/** The first rule of a contract that this server cannot enforce. */
export function findUnenforceable({
  sandbox,
  network,
  allowed_paths,
}: Pick<MergedContract, "sandbox" | "network" | "allowed_paths">): string | undefined {
  if (sandbox === "strict") return 'sandbox "strict"';
  if (network !== null && network !== "unrestricted") return `network "${network}"`;
  return allowed_paths === null ? undefined : "allowed_paths";
}

interface Referring {
  readonly ref: string;
}

type ParsedWhole = "request" | "decision";

/** A merged reference to a proof profile. */
export type MergedProof = Filled<ProofReference> & Referring;
/** A merged reference to an authorization profile. */
export type MergedAuthorization = Filled<Omit<AuthorizationReference, ParsedWhole>> &
  Whole<Pick<AuthorizationReference, ParsedWhole>> &
  Referring;
/** A merged reference to an evidence profile. */
export type MergedEvidence = Filled<EvidenceReference> & Referring;

/** Merges a task's references with its workflow's; null if neither has one. */
export function mergeReferences(
  workflow: Governed,
  task: Governed,
): {
  readonly authorization_proof: MergedProof | null;
  readonly authorization: MergedAuthorization | null;
  readonly evidence: MergedEvidence | null;
} {
  const merge = <Merged>(
    block: "authorization_proof" | "authorization" | "evidence",
  ): Merged | null => {
    const isNamed = (task[block]?.ref ?? workflow[block]?.ref ?? null) !== null;
    const merged = mergeField(BLOCKS.governance[block], task[block], workflow[block]);
    return isNamed ? (merged as Merged) : null;
  };
  return {
    authorization_proof: merge<MergedProof>("authorization_proof"),
    authorization: merge<MergedAuthorization>("authorization"),
    evidence: merge<MergedEvidence>("evidence"),
  };
}

/** A proof reference with its profile; only the profile decides what is verified, and against what. */
export type EffectiveProof = Filled<
  Omit<ProofProfile, "id" | "proof" | "ca_certificate" | "ca_certificate_from">
> &
  Whole<Pick<ProofProfile, "proof">> &
  Referring;

/** Merges a proof reference with its profile. */
export function applyProofProfile(manifest: Manifest, proof: MergedProof): EffectiveProof {
  const { ca_certificate: _, ca_certificate_from: __, ...fields } = BLOCKS.proof_profile;
  return layOver(manifest.authorization_proof_profiles, fields, proof);
}

export type EffectiveAuthorization = MergedAuthorization & { readonly provider: string | null };

/** Merges an authorization reference with its profile. */
export function applyAuthorizationProfile(
  manifest: Manifest,
  authorization: MergedAuthorization,
): EffectiveAuthorization {
  return layOver(manifest.authorization_profiles, BLOCKS.authorization_profile, authorization);
}

export type EffectiveEvidence = Filled<Omit<EvidenceProfile, "id">> & Referring;

/** Merges an evidence reference with its profile. */
export function applyEvidenceProfile(
  manifest: Manifest,
  evidence: MergedEvidence,
): EffectiveEvidence {
  return layOver(manifest.evidence_profiles, BLOCKS.evidence_profile, evidence);
}

function layOver<Effective>(
  profiles: readonly { readonly id: string }[] | null | undefined,
  { id: _, ...fields }: Fields,
  reference: Referring,
): Effective {
  const profile = profiles?.find(({ id }) => id === reference.ref);
  return mergeBlock<Effective>({ ref: "string", ...fields }, reference, profile);
}
