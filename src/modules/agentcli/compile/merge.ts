/**
 * The merge of profile, workflow and task, field by field as their tables have it, the narrower one
 * winning: lists and attributes are replaced whole, provider settings are merged one level deep, and
 * what a broader scope demands, a narrower one cannot waive.
 * agentcli spec "Inheritance", agentcli execution identity "Merge"
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

/** A block of which every leaf is there; null is what nobody said. */
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

/** Blocks that are replaced whole. */
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

/** The members of both, the narrower first; null where there are none. */
function mergeMaps(narrow: unknown, broad: unknown): JsonRecord | null {
  const merged = { ...recordIn(broad), ...recordIn(narrow) };
  return Object.keys(merged).length > 0 ? merged : null;
}

/** Identity as 0.1 has it, merged. */
export type FlatIdentity = Filled<Pick<Identity, "principal" | "run_as" | "attestation">>;

type MergedParts = Filled<IdentityParts>;

/** Identity as 0.2 has it, of workflow and task. */
export interface DeclaredIdentity extends MergedParts {
  readonly ref: string | null;
  readonly scope: string | null;
}

/** A merged identity with its profile: what a provider works with. */
export interface EffectiveIdentity extends MergedParts {
  readonly ref: string | null;
  readonly provider: string | null;
}

/** The identity that workflow and task declare together. */
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

/** Tells whether a declaration is of the structured form. */
export function isDeclared(
  identity: FlatIdentity | DeclaredIdentity,
): identity is DeclaredIdentity {
  return "subject" in identity;
}

/** The declaration, in whichever form it was written, over the profile that it names. */
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

/** Lays a declaration over the profile that it names. */
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

/** Bindings stand first in a merged presentation, and are checked last. */
function mergeStructured(narrow: Identity, broad: Identity): DeclaredIdentity {
  const merged = mergeBlock<DeclaredIdentity>(BLOCKS.structured_identity, narrow, broad);
  const { bindings, ...presentation } = merged.presentation;
  return { ...merged, presentation: { bindings, ...presentation } };
}

/** A contract with every key. */
export type MergedContract = Filled<Contract>;

/** The contract of workflow and task. */
export function mergeContract(workflow: Governed, task: Governed): MergedContract {
  return mergeBlock(BLOCKS.contract, task.contract, workflow.contract);
}

/** The first of its rules that no run here would be held to. */
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

/** A reference to a proof profile, of workflow and task. */
export type MergedProof = Filled<ProofReference> & Referring;
/** A reference to an authorization profile, of workflow and task. */
export type MergedAuthorization = Filled<Omit<AuthorizationReference, ParsedWhole>> &
  Whole<Pick<AuthorizationReference, ParsedWhole>> &
  Referring;
/** A reference to an evidence profile, of workflow and task. */
export type MergedEvidence = Filled<EvidenceReference> & Referring;

/** The references of a task, its workflow's where it has none; null where neither has one. */
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

/** A proof with its profile; what is verified, and against what, is the profile's alone to say. */
export type EffectiveProof = Filled<
  Omit<ProofProfile, "id" | "proof" | "ca_certificate" | "ca_certificate_from">
> &
  Whole<Pick<ProofProfile, "proof">> &
  Referring;

/** Lays a reference over its profile. */
export function applyProofProfile(manifest: Manifest, proof: MergedProof): EffectiveProof {
  const { ca_certificate: _, ca_certificate_from: __, ...fields } = BLOCKS.proof_profile;
  return layOver(manifest.authorization_proof_profiles, fields, proof);
}

export type EffectiveAuthorization = MergedAuthorization & { readonly provider: string | null };

/** Lays a reference over its profile. */
export function applyAuthorizationProfile(
  manifest: Manifest,
  authorization: MergedAuthorization,
): EffectiveAuthorization {
  return layOver(manifest.authorization_profiles, BLOCKS.authorization_profile, authorization);
}

export type EffectiveEvidence = Filled<Omit<EvidenceProfile, "id">> & Referring;

/** Lays a reference over its profile. */
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
