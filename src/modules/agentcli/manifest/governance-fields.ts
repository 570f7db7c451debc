/**
 * The fields of contracts, proofs, authorization and evidence, and of their profiles; and the same as
 * types, of a manifest that was found valid. Null is the same as absent.
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import {
  among,
  block,
  type Field,
  type Fields,
  integer,
  type Loose,
  type LooseTexts,
  list,
  MAP,
  MERGED_MAP,
  REQUIRED_IDENTIFIER,
  REQUIRED_STRING,
  STRING,
} from "./field.ts";
import { IDENTITY_PROFILE, TRUST_LEVEL, type TrustLevel } from "./identity-fields.ts";

const VERIFY_REQUIRED = block({ required: { kind: "boolean", kept: true } });
const ON_ERROR: Field = { kind: "enum", values: ["deny", "warn"], kept: "deny" };

/** The fields of a contract, in the order in which they are merged, too. */
export const CONTRACT_FIELDS: Fields = {
  sandbox: among("none", "permissive", "strict"),
  allowed_paths: list(REQUIRED_STRING),
  network: among("unrestricted", "restricted", "none"),
  max_cost_usd: { kind: "number", min: 0 },
  audit: among("none", "on-failure", "always"),
  required_trust_level: TRUST_LEVEL,
  trust_enforcement: among("none", "advisory", "strict"),
};
/** A check that runs when the task is done. */
export const VERIFY: Field = block(
  {
    shell: { kind: "command-line" },
    timeout_seconds: integer(1),
    on_failure: among("error", "warn"),
  },
  ["shell"],
);

/** The policy for credentials in tasks that a task triggers. */
export const CHILD_CREDENTIAL_POLICY: Field = among("none", "inherit", "downscope", "independent");

/** The fields of a reference to a proof profile. */
export const PROOF_REFERENCE: Fields = {
  ref: REQUIRED_STRING,
  claims: MERGED_MAP,
  verify: VERIFY_REQUIRED,
};

const REQUEST: Field = {
  kind: "block",
  fields: { include: list(REQUIRED_STRING) },
  isWhole: true,
};
const DECISION: Field = {
  kind: "block",
  fields: {
    allow_values: list(REQUIRED_STRING),
    deny_values: list(REQUIRED_STRING),
    escalate_values: list(REQUIRED_STRING),
  },
  isWhole: true,
};

/** The fields of a reference to an authorization profile. */
export const AUTHORIZATION_REFERENCE: Fields = {
  ref: REQUIRED_STRING,
  on_error: ON_ERROR,
  provider_config: MERGED_MAP,
  request: REQUEST,
  decision: DECISION,
};

const PAYLOAD = block({
  bind: list(),
  context: MAP,
  format: among("canonical-json", "json"),
});

/** The fields of a reference to an evidence profile. */
export const EVIDENCE_REFERENCE: Fields = {
  ref: STRING,
  payload: PAYLOAD,
  verify: VERIFY_REQUIRED,
};

/** An entry of authorization_proof_profiles. */
export const PROOF_PROFILE: Fields = {
  id: REQUIRED_IDENTIFIER,
  method: among("jwt", "detached-signature", "certificate", "none"),
  issuer: STRING,
  audience: STRING,
  jwks_uri: STRING,
  public_key: STRING,
  allowed_signers: STRING,
  principal: STRING,
  namespace: STRING,
  ca_certificate: STRING,
  ca_certificate_from: { kind: "source", literal: true },
  proof: {
    kind: "block",
    fields: { value_from: { kind: "source", literal: false } },
    isWhole: true,
  },
  claims: MERGED_MAP,
  verify: VERIFY_REQUIRED,
};

/** An entry of authorization_profiles. */
export const AUTHORIZATION_PROFILE: Fields = {
  id: REQUIRED_IDENTIFIER,
  provider: REQUIRED_STRING,
  provider_config: MERGED_MAP,
  on_error: ON_ERROR,
  request: REQUEST,
  decision: DECISION,
};

/** An entry of evidence_profiles. */
export const EVIDENCE_PROFILE: Fields = {
  id: REQUIRED_IDENTIFIER,
  provider: REQUIRED_STRING,
  methods: list(),
  provider_config: MERGED_MAP,
  payload: PAYLOAD,
  verify: VERIFY_REQUIRED,
};

/** The rules that an execution is bound by. */
export type Contract = Loose<{
  sandbox: "none" | "permissive" | "strict";
  allowed_paths: readonly string[];
  network: "unrestricted" | "restricted" | "none";
  max_cost_usd: number;
  audit: "none" | "on-failure" | "always";
  required_trust_level: TrustLevel;
  trust_enforcement: "none" | "advisory" | "strict";
}>;

/** A check when the task is done. */
export interface Verify extends Loose<{ timeout_seconds: number; on_failure: "error" | "warn" }> {
  readonly shell: string;
}

/** True if something that may be checked must be. */
type Required = Loose<{ required: boolean }>;

/** A reference to a proof profile. */
export interface ProofReference extends Loose<{ claims: JsonRecord; verify: Required }> {
  readonly ref: string;
}

/** The source of a value. */
export type ValueSource = LooseTexts<"env" | "file" | "command">;

/** An entry of authorization_proof_profiles. */
export interface ProofProfile
  extends LooseTexts<"method" | "issuer" | "audience" | "jwks_uri" | "public_key">,
    LooseTexts<"allowed_signers" | "principal" | "namespace">,
    Loose<{ proof: Loose<{ value_from: ValueSource }>; claims: JsonRecord; verify: Required }> {
  readonly id: string;
}

/** The demands of a task on an authorization. */
type AuthorizationParts = Loose<{
  provider_config: JsonRecord;
  on_error: "deny" | "warn";
  request: Loose<{ include: readonly string[] }>;
  /** Words of a provider, by what they mean. */
  decision: Loose<Record<"allow_values" | "deny_values" | "escalate_values", readonly string[]>>;
}>;

/** A reference to an authorization profile. */
export interface AuthorizationReference extends AuthorizationParts {
  readonly ref: string;
}

/** An entry of authorization_profiles. */
export interface AuthorizationProfile extends AuthorizationParts {
  readonly id: string;
  readonly provider: string;
}

/** The subject of evidence. */
type EvidencePayload = Loose<{
  bind: readonly unknown[];
  context: JsonRecord;
  format: "canonical-json" | "json";
}>;

/** A reference to an evidence profile. */
export type EvidenceReference = Loose<{ ref: string; payload: EvidencePayload; verify: Required }>;

/** An entry of evidence_profiles. */
export interface EvidenceProfile
  extends Loose<{ payload: EvidencePayload; verify: Required }>,
    Loose<{ methods: readonly unknown[]; provider_config: JsonRecord }> {
  readonly id: string;
  readonly provider: string;
}

/** Fields of an entry of each list of profiles, in the order in which they are checked. */
export const PROFILE_LISTS: Readonly<Record<string, Fields>> = {
  identity_profiles: IDENTITY_PROFILE,
  authorization_proof_profiles: PROOF_PROFILE,
  authorization_profiles: AUTHORIZATION_PROFILE,
  evidence_profiles: EVIDENCE_PROFILE,
};
