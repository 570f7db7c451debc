/** The blocks of identity in a manifest that was found valid; null is the same as absent. */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { TrustLevel } from "./identity-fields.ts";

type Maybe<T> = T | null;

/** Both forms; which of them counts is decided by the keys that are there. */
export interface Identity extends IdentityParts {
  readonly principal?: Maybe<string>;
  readonly run_as?: Maybe<string>;
  readonly attestation?: Maybe<string>;
  readonly ref?: Maybe<string>;
  readonly scope?: Maybe<string>;
}

/** The members that profiles and structured identities share. */
export interface IdentityParts {
  readonly subject?: Maybe<Subject>;
  readonly auth?: Maybe<Auth>;
  readonly trust?: Maybe<Trust>;
  readonly presentation?: Maybe<Presentation>;
}

/** An entry of identity_profiles. */
export interface IdentityProfile extends IdentityParts {
  readonly id: string;
  readonly provider: string;
  readonly provider_config?: Maybe<JsonRecord>;
}

/** The identity that a task acts under. */
export interface Subject {
  readonly kind?: Maybe<string>;
  readonly principal?: Maybe<string>;
  readonly display_name?: Maybe<string>;
  readonly run_as?: Maybe<string>;
  readonly issuer?: Maybe<string>;
  readonly delegation_mode?: Maybe<string>;
  readonly attributes?: Maybe<JsonRecord>;
}

/** Its way of authenticating. */
export interface Auth {
  readonly mode?: Maybe<string>;
  readonly scopes?: Maybe<readonly unknown[]>;
  readonly audience?: Maybe<string>;
  readonly resource?: Maybe<string>;
  readonly cache?: Maybe<string>;
  readonly refresh?: Maybe<string>;
  readonly required?: Maybe<boolean>;
  readonly delegation_policy?: Maybe<DelegationPolicy>;
  readonly provider_config?: Maybe<JsonRecord>;
  readonly inputs?: Maybe<JsonRecord>;
}

/** The bounds of handing authority on. */
export interface DelegationPolicy {
  readonly max_depth?: Maybe<number>;
  readonly allowed_delegators?: Maybe<readonly unknown[]>;
  readonly require_grant_per_hop?: Maybe<boolean>;
}

/** Its trust. */
export interface Trust {
  readonly level?: Maybe<TrustLevel>;
  readonly constraints?: Maybe<TrustConstraints>;
}

/** The bound of its trust, and what happens beyond it. */
interface TrustConstraints {
  readonly escalation?: Maybe<string>;
  readonly max_autonomy?: Maybe<TrustLevel>;
  readonly escalation_timeout?: Maybe<string>;
  readonly require_justification?: Maybe<boolean>;
}

/** The way in which credentials reach a program. */
export interface Presentation {
  readonly bindings?: Maybe<readonly Binding[]>;
  readonly handoff?: Maybe<string>;
  readonly cleanup?: Maybe<string>;
  readonly default_redaction?: Maybe<boolean>;
}

/** One credential, and where it goes. */
export interface Binding {
  readonly source: string;
  readonly target?: Maybe<{
    readonly kind?: Maybe<"env" | "file" | "stdin" | "none">;
    readonly name?: Maybe<string>;
    readonly prefix?: Maybe<string>;
    readonly expose_as?: Maybe<string>;
  }>;
  readonly required?: Maybe<boolean>;
  readonly redact?: Maybe<boolean>;
  readonly format?: Maybe<"raw" | "json" | "base64">;
}
