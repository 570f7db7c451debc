/** A manifest that was found valid; keys are the manifest's own, and null is the same as absent. */
import type { JsonRecord } from "../../../json-value.ts";
import type { TrustLevel } from "./identity-fields.ts";

type Maybe<T> = T | null;

/** A whole manifest. */
export interface Manifest {
  readonly version: "0.1" | "0.2";
  readonly identity_profiles?: Maybe<readonly IdentityProfile[]>;
  readonly authorization_proof_profiles?: Maybe<readonly ProofProfile[]>;
  readonly authorization_profiles?: Maybe<readonly AuthorizationProfile[]>;
  readonly evidence_profiles?: Maybe<readonly EvidenceProfile[]>;
  readonly workflows: readonly Workflow[];
}

/** What a workflow and a task both may say. */
export interface Governed {
  readonly id: string;
  readonly name: string;
  readonly model_policy?: Maybe<ModelPolicy>;
  readonly identity?: Maybe<Identity>;
  readonly contract?: Maybe<Contract>;
  readonly authorization_proof?: Maybe<ProofReference>;
  readonly authorization?: Maybe<AuthorizationReference>;
  readonly evidence?: Maybe<EvidenceReference>;
  readonly child_credential_policy?: Maybe<string>;
  readonly verify?: Maybe<Verify>;
}

export interface Workflow extends Governed {
  readonly tasks: readonly Task[];
}

/** What a task says beside its name and when it runs. */
export interface TaskBody {
  readonly prompt?: Maybe<string>;
  readonly shell?: Maybe<Shell>;
  readonly intent?: Maybe<{
    readonly mode?: Maybe<"execute" | "plan">;
    readonly read_only?: Maybe<boolean>;
  }>;
  readonly output?: Maybe<Output>;
  readonly budgets?: Maybe<Readonly<Record<string, Maybe<number>>>>;
  readonly delivery?: Maybe<Readonly<Record<"mode" | "channel" | "to", Maybe<string> | undefined>>>;
  readonly reliability?: Maybe<Reliability>;
  readonly runtime?: Maybe<{ readonly timeout_ms?: Maybe<number> }>;
  readonly approval?: Maybe<Approval>;
  readonly context?: Maybe<{ readonly retrieval?: Maybe<string>; readonly limit?: Maybe<number> }>;
  readonly session?: Maybe<{ readonly preferred_key?: Maybe<string> }>;
  readonly auth_profile?: Maybe<string>;
  readonly delete_after_run?: Maybe<boolean>;
}

export interface Task extends Governed, TaskBody {
  readonly enabled?: Maybe<boolean>;
  readonly target: Target;
  readonly schedule?: Maybe<{ readonly cron: string; readonly tz?: Maybe<string> }>;
  readonly trigger?: Maybe<Trigger>;
  readonly on_failure?: Maybe<FailureHandler>;
}

/** The short form of a task that runs when another has failed. */
export interface FailureHandler extends Partial<Governed>, TaskBody {
  readonly enabled?: Maybe<boolean>;
  readonly target?: Maybe<Target>;
  readonly delay_s?: Maybe<number>;
  readonly condition?: Maybe<string>;
}

export interface Target {
  readonly session_target: "main" | "isolated" | "shell";
  readonly agent_id?: Maybe<string>;
  readonly payload_kind?: Maybe<string>;
}

export interface Trigger {
  readonly parent: string;
  readonly on: "success" | "failure" | "complete";
  readonly delay_s?: Maybe<number>;
  readonly condition?: Maybe<string>;
}

export interface Shell {
  readonly program: string;
  readonly args?: Maybe<readonly string[]>;
  readonly env?: Maybe<Readonly<Record<string, string>>>;
  readonly cwd?: Maybe<string>;
  readonly stdin?: Maybe<string>;
}

export interface ModelPolicy {
  readonly provider?: Maybe<string>;
  readonly model?: Maybe<string>;
  readonly thinking?: Maybe<string>;
}

export interface Output {
  readonly preview_bytes?: Maybe<number>;
  readonly offload?: Maybe<string>;
  readonly retrieve?: Maybe<string>;
  readonly format?: Maybe<"json" | "ndjson" | "text">;
}

export interface Reliability {
  readonly guarantee?: Maybe<string>;
  readonly max_retries?: Maybe<number>;
  readonly overlap_policy?: Maybe<"skip" | "allow" | "queue">;
}

export interface Approval {
  readonly required?: Maybe<boolean>;
  readonly policy?: Maybe<"manual" | "auto-approve" | "auto-reject">;
  readonly risk_level?: Maybe<string>;
  readonly approver_scope?: Maybe<string>;
  readonly timeout_s?: Maybe<number>;
  readonly auto?: Maybe<"approve" | "reject">;
}

/** Both forms; which of them counts is decided by the keys that are there. */
export interface Identity extends IdentityParts {
  readonly principal?: Maybe<string>;
  readonly run_as?: Maybe<string>;
  readonly attestation?: Maybe<string>;
  readonly ref?: Maybe<string>;
  readonly scope?: Maybe<string>;
}

/** What profiles and structured identities have in common. */
export interface IdentityParts {
  readonly subject?: Maybe<Subject>;
  readonly auth?: Maybe<Auth>;
  readonly trust?: Maybe<Trust>;
  readonly presentation?: Maybe<Presentation>;
}

export interface IdentityProfile extends IdentityParts {
  readonly id: string;
  readonly provider: string;
  readonly provider_config?: Maybe<JsonRecord>;
}

export interface Subject {
  readonly kind?: Maybe<string>;
  readonly principal?: Maybe<string>;
  readonly display_name?: Maybe<string>;
  readonly run_as?: Maybe<string>;
  readonly issuer?: Maybe<string>;
  readonly delegation_mode?: Maybe<string>;
  readonly attributes?: Maybe<JsonRecord>;
}

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

export interface DelegationPolicy {
  readonly max_depth?: Maybe<number>;
  readonly allowed_delegators?: Maybe<readonly unknown[]>;
  readonly require_grant_per_hop?: Maybe<boolean>;
}

export interface Trust {
  readonly level?: Maybe<TrustLevel>;
  readonly constraints?: Maybe<TrustConstraints>;
}

export interface TrustConstraints {
  readonly escalation?: Maybe<string>;
  readonly max_autonomy?: Maybe<TrustLevel>;
  readonly escalation_timeout?: Maybe<string>;
  readonly require_justification?: Maybe<boolean>;
}

export interface Presentation {
  readonly bindings?: Maybe<readonly Binding[]>;
  readonly handoff?: Maybe<string>;
  readonly cleanup?: Maybe<string>;
  readonly default_redaction?: Maybe<boolean>;
}

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

export interface Contract {
  readonly sandbox?: Maybe<"none" | "permissive" | "strict">;
  readonly allowed_paths?: Maybe<readonly string[]>;
  readonly network?: Maybe<"unrestricted" | "restricted" | "none">;
  readonly max_cost_usd?: Maybe<number>;
  readonly audit?: Maybe<"none" | "on-failure" | "always">;
  readonly required_trust_level?: Maybe<TrustLevel>;
  readonly trust_enforcement?: Maybe<"none" | "advisory" | "strict">;
}

export interface Verify {
  readonly shell: string;
  readonly timeout_seconds?: Maybe<number>;
  readonly on_failure?: Maybe<"error" | "warn">;
}

/** Whether something that may be checked must be. */
export type Required = Maybe<{ readonly required?: Maybe<boolean> }>;

export interface ProofReference {
  readonly ref: string;
  readonly claims?: Maybe<JsonRecord>;
  readonly verify?: Required;
}

export interface ValueSource {
  readonly env?: Maybe<string>;
  readonly file?: Maybe<string>;
  readonly command?: Maybe<string>;
}

export interface ProofProfile {
  readonly id: string;
  readonly method?: Maybe<string>;
  readonly issuer?: Maybe<string>;
  readonly audience?: Maybe<string>;
  readonly jwks_uri?: Maybe<string>;
  readonly public_key?: Maybe<string>;
  readonly proof?: Maybe<{ readonly value_from?: Maybe<ValueSource> }>;
  readonly claims?: Maybe<JsonRecord>;
  readonly verify?: Required;
}

export interface AuthorizationReference {
  readonly ref: string;
  readonly provider_config?: Maybe<JsonRecord>;
  readonly on_error?: Maybe<"deny" | "warn">;
  readonly request?: Maybe<{ readonly include?: Maybe<readonly string[]> }>;
  readonly decision?: Maybe<DecisionMap>;
}

export interface DecisionMap {
  readonly allow_values?: Maybe<readonly string[]>;
  readonly deny_values?: Maybe<readonly string[]>;
  readonly escalate_values?: Maybe<readonly string[]>;
}

export interface AuthorizationProfile extends Omit<AuthorizationReference, "ref"> {
  readonly id: string;
  readonly provider: string;
}

export interface EvidencePayload {
  readonly bind?: Maybe<readonly unknown[]>;
  readonly context?: Maybe<JsonRecord>;
  readonly format?: Maybe<"canonical-json" | "json">;
}

export interface EvidenceReference {
  readonly ref?: Maybe<string>;
  readonly payload?: Maybe<EvidencePayload>;
  readonly verify?: Required;
}

export interface EvidenceProfile {
  readonly id: string;
  readonly provider: string;
  readonly methods?: Maybe<readonly unknown[]>;
  readonly provider_config?: Maybe<JsonRecord>;
  readonly payload?: Maybe<EvidencePayload>;
  readonly verify?: Required;
}
