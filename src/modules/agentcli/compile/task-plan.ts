/**
 * A task with every default filled in and everything inherited: what both targets are made from, and
 * what is executed.   agentcli spec "Normalized plan"
 */

import { sha256Hex } from "../../../identity/canonical-form.ts";
import type { Governed, Task, Workflow } from "../manifest/manifest.ts";
import {
  type MergedAuthorization,
  type MergedContract,
  type MergedEvidence,
  type MergedProof,
  mergeAuthorization,
  mergeContract,
  mergeEvidence,
  mergeProof,
} from "./merge-governance.ts";
import { type DeclaredIdentity, declareIdentity, type FlatIdentity } from "./merge-identity.ts";
import { type ApprovalPlan, planApproval, planBlocks, type TaskBlocks } from "./plan-blocks.ts";

/** A program, ready to be started. */
export interface ShellPayload {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  readonly stdin: string | null;
}

/** The model that answers a prompt. */
interface PlannedModel {
  readonly provider: string | null;
  readonly model: string | null;
  readonly thinking: string | null;
  readonly scheduler_model: string | null;
}

/** When it runs. */
type Invocation =
  | { readonly mode: "schedule"; readonly cron: string; readonly tz: string }
  | {
      readonly mode: "trigger";
      readonly parent: string;
      readonly on: "success" | "failure" | "complete";
      readonly delay_s: number;
      readonly condition: string | null;
    };

/** One task, complete. */
export interface TaskPlan extends TaskBlocks {
  readonly id: string;
  readonly source: { readonly workflow_id: string; readonly task_id: string };
  readonly name: string;
  readonly enabled: boolean;
  readonly invocation: Invocation;
  readonly execution: {
    readonly session_target: string;
    readonly agent_id: string;
    readonly payload_kind: string;
    readonly payload: ShellPayload | { readonly prompt: string };
    readonly model_policy: PlannedModel;
  };
  readonly approval: ApprovalPlan;
  readonly identity: FlatIdentity | DeclaredIdentity;
  readonly contract: MergedContract;
  readonly authorization_proof: MergedProof | null;
  readonly authorization: MergedAuthorization | null;
  readonly evidence: MergedEvidence | null;
  readonly child_credential_policy: string | null;
  readonly verify: PlannedVerify | null;
  readonly auth_profile: string | null;
  readonly delete_after_run: boolean | null;
  readonly parent_compiled_id: string | null;
}

/** The check that runs when the task is done. */
interface PlannedVerify {
  readonly shell: string;
  readonly timeout_seconds: number;
  readonly on_failure: "error" | "warn";
}

/** Plans one task of an expanded workflow. */
export function planTask(workflow: Workflow, task: Task): TaskPlan {
  const { trigger } = task;
  return {
    id: compiledId(workflow.id, task.id),
    source: { workflow_id: workflow.id, task_id: task.id },
    name: `${workflow.name}: ${task.name}`,
    enabled: task.enabled ?? true,
    invocation: invocationOf(task),
    execution: {
      session_target: task.target.session_target,
      agent_id: task.target.agent_id ?? "main",
      payload_kind: payloadKindOf(task),
      payload: payloadOf(task),
      model_policy: modelOf(workflow, task),
    },
    ...planBlocks(task),
    approval: planApproval(task.approval),
    identity: declareIdentity(workflow.identity, task.identity),
    contract: mergeContract(workflow, task),
    authorization_proof: mergeProof(workflow, task),
    authorization: mergeAuthorization(workflow, task),
    evidence: mergeEvidence(workflow, task),
    child_credential_policy:
      task.child_credential_policy ?? workflow.child_credential_policy ?? null,
    verify: verifyOf(workflow, task),
    auth_profile: task.auth_profile ?? null,
    delete_after_run: task.delete_after_run ?? null,
    parent_compiled_id:
      trigger === undefined || trigger === null ? null : compiledId(workflow.id, trigger.parent),
  };
}

function invocationOf({ trigger, schedule }: Task): Invocation {
  if (trigger !== undefined && trigger !== null) {
    const { parent, on, delay_s, condition } = trigger;
    return { mode: "trigger", parent, on, delay_s: delay_s ?? 0, condition: condition ?? null };
  }
  return { mode: "schedule", cron: schedule?.cron ?? "", tz: schedule?.tz ?? "UTC" };
}

function payloadKindOf({ target: { session_target, payload_kind } }: Task): string {
  if (session_target === "shell") return "shellCommand";
  return payload_kind ?? (session_target === "main" ? "systemEvent" : "agentTurn");
}

function payloadOf({ shell, prompt }: Task): ShellPayload | { readonly prompt: string } {
  if (shell === undefined || shell === null) return { prompt: prompt ?? "" };
  const { program, args, env, cwd, stdin } = shell;
  return { program, args: args ?? [], env: env ?? {}, cwd: cwd ?? null, stdin: stdin ?? null };
}

function modelOf(workflow: Governed, task: Governed): PlannedModel {
  const provider = task.model_policy?.provider ?? workflow.model_policy?.provider ?? null;
  const model = task.model_policy?.model ?? workflow.model_policy?.model ?? null;
  const thinking = task.model_policy?.thinking ?? workflow.model_policy?.thinking ?? null;
  const hasBoth = provider !== null && model !== null;
  return { provider, model, thinking, scheduler_model: hasBoth ? `${provider}/${model}` : model };
}

/** A task's block replaces the workflow's whole. */
function verifyOf(workflow: Governed, task: Governed): PlannedVerify | null {
  const verify = task.verify ?? workflow.verify ?? null;
  if (verify === null) return null;
  const { shell, timeout_seconds, on_failure } = verify;
  return { shell, timeout_seconds: timeout_seconds ?? 30, on_failure: on_failure ?? "error" };
}

/** The first 32 hex digits over both ids. */
export function compiledId(workflowId: string, taskId: string): string {
  return sha256Hex(`${workflowId}:${taskId}`).slice(0, 32);
}
