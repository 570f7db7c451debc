/** A manifest that was found valid; keys are the manifest's own, and null is the same as absent. */

import type {
  AuthorizationProfile,
  AuthorizationReference,
  Contract,
  EvidenceProfile,
  EvidenceReference,
  ProofProfile,
  ProofReference,
  Verify,
} from "./governance-fields.ts";
import type { Identity, IdentityProfile } from "./identity-fields.ts";

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

/** The members that a workflow and a task share. */
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

/** A workflow. */
export interface Workflow extends Governed {
  readonly tasks: readonly Task[];
}

/** The members of a task beside its name and when it runs. */
interface TaskBody {
  readonly prompt?: Maybe<string>;
  readonly shell?: Maybe<Shell>;
  readonly intent?: Maybe<{
    readonly mode?: Maybe<"execute" | "plan">;
    readonly read_only?: Maybe<boolean>;
  }>;
  readonly output?: Maybe<Output>;
  readonly budgets?: Maybe<Budgets>;
  readonly delivery?: Maybe<Readonly<Record<"mode" | "channel" | "to", Maybe<string> | undefined>>>;
  readonly reliability?: Maybe<Reliability>;
  readonly runtime?: Maybe<{ readonly timeout_ms?: Maybe<number> }>;
  readonly approval?: Maybe<Approval>;
  readonly context?: Maybe<{ readonly retrieval?: Maybe<string>; readonly limit?: Maybe<number> }>;
  readonly session?: Maybe<{ readonly preferred_key?: Maybe<string> }>;
  readonly auth_profile?: Maybe<string>;
  readonly delete_after_run?: Maybe<boolean>;
}

/** A task. */
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

/** The target that a task runs on. */
export interface Target {
  readonly session_target: "main" | "isolated" | "shell";
  readonly agent_id?: Maybe<string>;
  readonly payload_kind?: Maybe<string>;
}

/** After what a task runs. */
export interface Trigger {
  readonly parent: string;
  readonly on: "success" | "failure" | "complete";
  readonly delay_s?: Maybe<number>;
  readonly condition?: Maybe<string>;
}

/** The bounds of a task's runs. */
type Budgets = Readonly<
  Partial<
    Record<
      | "max_iterations"
      | "max_fanout"
      | "max_context_items"
      | "max_pending_approvals"
      | "max_queued_dispatches",
      Maybe<number>
    >
  >
>;

/** A program and what it is given. */
interface Shell {
  readonly program: string;
  readonly args?: Maybe<readonly string[]>;
  readonly env?: Maybe<Readonly<Record<string, string>>>;
  readonly cwd?: Maybe<string>;
  readonly stdin?: Maybe<string>;
}

/** The model that answers a prompt. */
interface ModelPolicy {
  readonly provider?: Maybe<string>;
  readonly model?: Maybe<string>;
  readonly thinking?: Maybe<string>;
}

/** The use that is made of the output. */
interface Output {
  readonly preview_bytes?: Maybe<number>;
  readonly offload?: Maybe<string>;
  readonly retrieve?: Maybe<string>;
  readonly format?: Maybe<"json" | "ndjson" | "text">;
}

/** The policy for runs of one task, one after the other and at once. */
interface Reliability {
  readonly guarantee?: Maybe<string>;
  readonly max_retries?: Maybe<number>;
  readonly overlap_policy?: Maybe<"skip" | "allow" | "queue">;
}

/** The approval that a run needs. */
export interface Approval {
  readonly required?: Maybe<boolean>;
  readonly policy?: Maybe<"manual" | "auto-approve" | "auto-reject">;
  readonly risk_level?: Maybe<string>;
  readonly approver_scope?: Maybe<string>;
  readonly timeout_s?: Maybe<number>;
  readonly auto?: Maybe<"approve" | "reject">;
}
