/** A manifest that was found valid; keys are the manifest's own, and null is the same as absent. */

import type { Loose, LooseTexts } from "./field.ts";
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

/** A whole manifest. */
export interface Manifest
  extends Loose<{
    identity_profiles: readonly IdentityProfile[];
    authorization_proof_profiles: readonly ProofProfile[];
    authorization_profiles: readonly AuthorizationProfile[];
    evidence_profiles: readonly EvidenceProfile[];
  }> {
  readonly version: "0.1" | "0.2";
  readonly workflows: readonly Workflow[];
}

/** The members that a workflow and a task share. */
export interface Governed
  extends Loose<{
    model_policy: LooseTexts<"provider" | "model" | "thinking">;
    identity: Identity;
    contract: Contract;
    authorization_proof: ProofReference;
    authorization: AuthorizationReference;
    evidence: EvidenceReference;
    child_credential_policy: string;
    verify: Verify;
  }> {
  readonly id: string;
  readonly name: string;
}

/** A workflow. */
export interface Workflow extends Governed {
  readonly tasks: readonly Task[];
}

/** The members of a task beside its name and when it runs. */
type TaskBody = Loose<{
  prompt: string;
  shell: Shell;
  intent: Loose<{ mode: "execute" | "plan"; read_only: boolean }>;
  output: LooseTexts<"offload" | "retrieve"> &
    Loose<{ preview_bytes: number; format: "json" | "ndjson" | "text" }>;
  budgets: Budgets;
  delivery: LooseTexts<"mode" | "channel" | "to">;
  /** The policy for runs of one task, one after the other and at once. */
  reliability: Loose<{
    guarantee: string;
    max_retries: number;
    overlap_policy: "skip" | "allow" | "queue";
  }>;
  runtime: Loose<{ timeout_ms: number }>;
  approval: Approval;
  context: Loose<{ retrieval: string; limit: number }>;
  session: LooseTexts<"preferred_key">;
  auth_profile: string;
  delete_after_run: boolean;
}>;

/** A task. */
export interface Task
  extends Governed,
    TaskBody,
    Loose<{
      enabled: boolean;
      schedule: Loose<{ tz: string }> & { readonly cron: string };
      trigger: Trigger;
      on_failure: FailureHandler;
    }> {
  readonly target: Target;
}

/** The short form of a task that runs when another has failed. */
export interface FailureHandler
  extends Partial<Governed>,
    TaskBody,
    Loose<{ enabled: boolean; target: Target; delay_s: number; condition: string }> {}

/** The target that a task runs on. */
export interface Target extends LooseTexts<"agent_id" | "payload_kind"> {
  readonly session_target: "main" | "isolated" | "shell";
}

/** After what a task runs. */
export interface Trigger extends Loose<{ delay_s: number; condition: string }> {
  readonly parent: string;
  readonly on: "success" | "failure" | "complete";
}

type Budgets = Loose<{
  max_iterations: number;
  max_fanout: number;
  max_context_items: number;
  max_pending_approvals: number;
  max_queued_dispatches: number;
}>;

interface Shell
  extends LooseTexts<"cwd" | "stdin">,
    Loose<{ args: readonly string[]; env: Readonly<Record<string, string>> }> {
  readonly program: string;
}

/** The approval that a run needs. */
export type Approval = LooseTexts<"risk_level" | "approver_scope"> &
  Loose<{
    required: boolean;
    policy: "manual" | "auto-approve" | "auto-reject";
    timeout_s: number;
    auto: "approve" | "reject";
  }>;
