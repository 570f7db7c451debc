/**
 * Workflow and task together on contract, proof, authorization and evidence, and the same
 * with its profile. What a broader scope demands, a narrower one cannot waive.
 * agentcli spec "Inheritance"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import {
  type AuthorizationProfile,
  type AuthorizationReference,
  CONTRACT_FIELDS,
  type Contract,
  type DecisionMap,
  type EvidencePayload,
  type EvidenceProfile,
  PAYLOAD_FIELDS,
  type ProofProfile,
} from "../manifest/governance-fields.ts";
import type { Governed, Manifest } from "../manifest/manifest.ts";
import { type Filled, mergeBlock, mergeMaps, pick, pickOnError, pickRequired } from "./pick.ts";

/** A contract with every key. */
export type MergedContract = Filled<Contract>;

/** Key by key. */
export function mergeContract(workflow: Governed, task: Governed): MergedContract {
  return mergeBlock(CONTRACT_FIELDS, task.contract, workflow.contract);
}

/** A reference to a proof profile, merged. */
export interface MergedProof {
  readonly ref: string;
  readonly claims: JsonRecord | null;
  readonly verify: { readonly required: boolean | null };
}

/** Null where neither refers to a profile. */
export function mergeProof(workflow: Governed, task: Governed): MergedProof | null {
  const broad = workflow.authorization_proof;
  const narrow = task.authorization_proof;
  const ref = narrow?.ref ?? broad?.ref;
  if (ref === undefined) return null;
  return {
    ref,
    claims: mergeMaps(narrow?.claims, broad?.claims),
    verify: { required: pickRequired(narrow?.verify?.required, broad?.verify?.required) },
  };
}

/** A reference to an authorization profile, merged. */
export interface MergedAuthorization {
  readonly ref: string;
  readonly provider_config: JsonRecord | null;
  readonly on_error: "deny" | "warn" | null;
  readonly request: { readonly include?: readonly string[] | null } | null;
  readonly decision: DecisionMap | null;
}

/** Null where neither refers to a profile. */
export function mergeAuthorization(workflow: Governed, task: Governed): MergedAuthorization | null {
  const broad = workflow.authorization;
  const narrow = task.authorization;
  const ref = narrow?.ref ?? broad?.ref;
  if (ref === undefined) return null;
  return { ref, ...mergeAuthorizationParts(broad, narrow) };
}

/** A reference to an evidence profile, merged. */
export interface MergedEvidence {
  readonly ref: string;
  readonly payload: MergedPayload;
  readonly verify: { readonly required: boolean | null };
}

/** The subject of evidence. */
type MergedPayload = Filled<EvidencePayload>;

/** Null where neither refers to a profile. */
export function mergeEvidence(workflow: Governed, task: Governed): MergedEvidence | null {
  const broad = workflow.evidence;
  const narrow = task.evidence;
  const ref = narrow?.ref ?? broad?.ref ?? null;
  if (ref === null) return null;
  return {
    ref,
    payload: mergePayload(broad?.payload, narrow?.payload),
    verify: { required: pickRequired(narrow?.verify?.required, broad?.verify?.required) },
  };
}

/** A proof with its profile; what is verified, and against what, is the profile's alone to say. */
export type EffectiveProof = ReturnType<typeof applyProofProfile>;

/** Lays a reference over its profile. */
export function applyProofProfile(
  manifest: Manifest,
  proof: MergedProof,
): {
  readonly ref: string;
  readonly method: string | null;
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly jwks_uri: string | null;
  readonly public_key: string | null;
  readonly allowed_signers: string | null;
  readonly principal: string | null;
  readonly namespace: string | null;
  readonly proof: ProofProfile["proof"] | null;
  readonly claims: JsonRecord | null;
  readonly verify: { readonly required: boolean | null };
} {
  const profile = manifest.authorization_proof_profiles?.find(({ id }) => id === proof.ref);
  return {
    ref: proof.ref,
    method: profile?.method ?? null,
    issuer: profile?.issuer ?? null,
    audience: profile?.audience ?? null,
    jwks_uri: profile?.jwks_uri ?? null,
    public_key: profile?.public_key ?? null,
    allowed_signers: profile?.allowed_signers ?? null,
    principal: profile?.principal ?? null,
    namespace: profile?.namespace ?? null,
    proof: profile?.proof ?? null,
    claims: mergeMaps(proof.claims, profile?.claims),
    verify: { required: pickRequired(proof.verify.required, profile?.verify?.required) },
  };
}

/** An authorization with its profile. */
export interface EffectiveAuthorization extends MergedAuthorization {
  readonly provider: string | null;
}

/** Lays a reference over its profile. */
export function applyAuthorizationProfile(
  manifest: Manifest,
  authorization: MergedAuthorization,
): EffectiveAuthorization {
  const profile = manifest.authorization_profiles?.find(({ id }) => id === authorization.ref);
  return {
    ref: authorization.ref,
    provider: profile?.provider ?? null,
    ...mergeAuthorizationParts(profile, authorization),
  };
}

/** Evidence with its profile. */
export interface EffectiveEvidence extends MergedEvidence {
  readonly provider: string | null;
  readonly methods: readonly unknown[] | null;
  readonly provider_config: JsonRecord | null;
}

/** Lays a reference over its profile. */
export function applyEvidenceProfile(
  manifest: Manifest,
  evidence: MergedEvidence,
): EffectiveEvidence {
  const profile: EvidenceProfile | undefined = manifest.evidence_profiles?.find(
    ({ id }) => id === evidence.ref,
  );
  return {
    ref: evidence.ref,
    provider: profile?.provider ?? null,
    methods: profile?.methods ?? null,
    provider_config: profile?.provider_config ?? null,
    payload: mergePayload(profile?.payload, evidence.payload),
    verify: { required: pickRequired(evidence.verify.required, profile?.verify?.required) },
  };
}

type AuthorizationParts = Omit<AuthorizationReference, "ref"> | Omit<AuthorizationProfile, "id">;

function mergeAuthorizationParts(
  broad: AuthorizationParts | null | undefined,
  narrow: AuthorizationParts | null | undefined,
): Omit<MergedAuthorization, "ref"> {
  return {
    provider_config: mergeMaps(narrow?.provider_config, broad?.provider_config),
    on_error: pickOnError(narrow?.on_error, broad?.on_error),
    request: pick(narrow?.request, broad?.request),
    decision: pick(narrow?.decision, broad?.decision),
  };
}

function mergePayload(
  broad: EvidencePayload | null | undefined,
  narrow: EvidencePayload | null | undefined,
): MergedPayload {
  return mergeBlock(PAYLOAD_FIELDS, narrow, broad);
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
