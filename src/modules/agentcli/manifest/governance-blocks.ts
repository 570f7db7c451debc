/** Contracts, proofs, authorization and evidence in a manifest that was found valid. */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { TrustLevel } from "./identity-fields.ts";

type Maybe<T> = T | null;

/** The rules that an execution is bound by. */
export interface Contract {
  readonly sandbox?: Maybe<"none" | "permissive" | "strict">;
  readonly allowed_paths?: Maybe<readonly string[]>;
  readonly network?: Maybe<"unrestricted" | "restricted" | "none">;
  readonly max_cost_usd?: Maybe<number>;
  readonly audit?: Maybe<"none" | "on-failure" | "always">;
  readonly required_trust_level?: Maybe<TrustLevel>;
  readonly trust_enforcement?: Maybe<"none" | "advisory" | "strict">;
}

/** A check when the task is done. */
export interface Verify {
  readonly shell: string;
  readonly timeout_seconds?: Maybe<number>;
  readonly on_failure?: Maybe<"error" | "warn">;
}

/** True if something that may be checked must be. */
type Required = Maybe<{ readonly required?: Maybe<boolean> }>;

/** A reference to a proof profile. */
export interface ProofReference {
  readonly ref: string;
  readonly claims?: Maybe<JsonRecord>;
  readonly verify?: Required;
}

/** The source of a value. */
export interface ValueSource {
  readonly env?: Maybe<string>;
  readonly file?: Maybe<string>;
  readonly command?: Maybe<string>;
}

/** An entry of authorization_proof_profiles. */
export interface ProofProfile {
  readonly id: string;
  readonly method?: Maybe<string>;
  readonly issuer?: Maybe<string>;
  readonly audience?: Maybe<string>;
  readonly jwks_uri?: Maybe<string>;
  readonly public_key?: Maybe<string>;
  readonly allowed_signers?: Maybe<string>;
  readonly principal?: Maybe<string>;
  readonly namespace?: Maybe<string>;
  readonly proof?: Maybe<{ readonly value_from?: Maybe<ValueSource> }>;
  readonly claims?: Maybe<JsonRecord>;
  readonly verify?: Required;
}

/** A reference to an authorization profile. */
export interface AuthorizationReference {
  readonly ref: string;
  readonly provider_config?: Maybe<JsonRecord>;
  readonly on_error?: Maybe<"deny" | "warn">;
  readonly request?: Maybe<{ readonly include?: Maybe<readonly string[]> }>;
  readonly decision?: Maybe<DecisionMap>;
}

/** Words of a provider, by what they mean. */
export interface DecisionMap {
  readonly allow_values?: Maybe<readonly string[]>;
  readonly deny_values?: Maybe<readonly string[]>;
  readonly escalate_values?: Maybe<readonly string[]>;
}

/** An entry of authorization_profiles. */
export interface AuthorizationProfile extends Omit<AuthorizationReference, "ref"> {
  readonly id: string;
  readonly provider: string;
}

/** The subject of evidence. */
export interface EvidencePayload {
  readonly bind?: Maybe<readonly unknown[]>;
  readonly context?: Maybe<JsonRecord>;
  readonly format?: Maybe<"canonical-json" | "json">;
}

/** A reference to an evidence profile. */
export interface EvidenceReference {
  readonly ref?: Maybe<string>;
  readonly payload?: Maybe<EvidencePayload>;
  readonly verify?: Required;
}

/** An entry of evidence_profiles. */
export interface EvidenceProfile {
  readonly id: string;
  readonly provider: string;
  readonly methods?: Maybe<readonly unknown[]>;
  readonly provider_config?: Maybe<JsonRecord>;
  readonly payload?: Maybe<EvidencePayload>;
  readonly verify?: Required;
}
