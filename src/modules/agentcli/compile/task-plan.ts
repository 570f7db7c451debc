/**
 * A task with its inheritance resolved and every default filled in: the input of all targets and of execution.
 * agentcli spec "Normalized plan"
 */
import { hash } from "node:crypto";
import type {
  Approval,
  FailureHandler,
  Governed,
  Manifest,
  Target,
  Task,
  Workflow,
} from "../manifest/manifest.ts";
import {
  type DeclaredIdentity,
  declareIdentity,
  type FlatIdentity,
  type MergedAuthorization,
  type MergedContract,
  type MergedEvidence,
  type MergedProof,
  mergeContract,
  mergeReferences,
} from "./merge.ts";

/** A program with everything needed to start it. */
export interface ShellPayload {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  readonly stdin: string | null;
}

interface PlannedModel extends Planned<Block<"model_policy">, never> {
  readonly scheduler_model: string | null;
}

const NO_MODEL: Omit<PlannedModel, "scheduler_model"> = {
  provider: null,
  model: null,
  thinking: null,
};

type Invocation =
  | { readonly mode: "schedule"; readonly cron: string; readonly tz: string }
  | {
      readonly mode: "trigger";
      readonly parent: string;
      readonly on: "success" | "failure" | "complete";
      readonly delay_s: number;
      readonly condition: string | null;
    };

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

/** The check that runs after the task. */
interface PlannedVerify {
  readonly shell: string;
  readonly timeout_seconds: number;
  readonly on_failure: "error" | "warn";
}

/** The result of compiling a manifest to a target. */
export interface Compiled {
  readonly output: Readonly<Record<string, unknown>>;
  /** Included in the output on request. */
  readonly explain: readonly object[];
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
    ...mergeReferences(workflow, task),
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
  const broad = withDefaults<typeof NO_MODEL>(workflow.model_policy, NO_MODEL);
  const { provider, model, thinking } = withDefaults<typeof NO_MODEL>(task.model_policy, broad);
  const hasBoth = provider !== null && model !== null;
  return { provider, model, thinking, scheduler_model: hasBoth ? `${provider}/${model}` : model };
}

/** A task's `verify` replaces the workflow's as a whole. */
function verifyOf(workflow: Governed, task: Governed): PlannedVerify | null {
  const verify = task.verify ?? workflow.verify ?? null;
  if (verify === null) return null;
  const { shell, timeout_seconds, on_failure } = verify;
  return { shell, timeout_seconds: timeout_seconds ?? 30, on_failure: on_failure ?? "error" };
}

/** The first 32 hex digits of the digest of both ids. */
export function compiledId(workflowId: string, taskId: string): string {
  return hash("sha256", `${workflowId}:${taskId}`).slice(0, 32);
}

type Block<Name extends keyof Task> = NonNullable<Task[Name]>;

/** A block with defaults for `Usual` members; other unset members are null. */
type Planned<Members, Usual extends keyof Members> = {
  readonly [Name in keyof Members]-?:
    | NonNullable<Members[Name]>
    | (Name extends Usual ? never : null);
};

/** The defaults of a task; null for none.   agentcli spec "Defaults" */
const USUAL = {
  intent: { mode: "execute", read_only: null },
  output: { preview_bytes: 2000, offload: "auto", retrieve: "on-demand", format: null },
  budgets: {
    max_iterations: null,
    max_fanout: 25,
    max_context_items: 5,
    max_pending_approvals: 10,
    max_queued_dispatches: 25,
  },
  delivery: { mode: "none", channel: null, to: null },
  reliability: { guarantee: "at-most-once", overlap_policy: "skip", max_retries: 0 },
  runtime: { timeout_ms: null },
  context: { retrieval: "none", limit: 5 },
  session: { preferred_key: null },
} as const;

type Usual = typeof USUAL;

type Said<Members> = {
  [Name in keyof Members]: Members[Name] extends null ? never : Name;
}[keyof Members];

/** The blocks of a planned task about its execution. */
type TaskBlocks = {
  readonly [Name in keyof Usual]: Planned<Block<Name>, Said<Usual[Name]> & keyof Block<Name>>;
};

/** Fills in a task's defaults; the context limit defaults to the budget's and the reverse. */
function planBlocks(task: Task): TaskBlocks {
  const limit = task.context?.limit ?? null;
  const items = task.budgets?.max_context_items ?? limit ?? USUAL.context.limit;
  const usual = {
    ...USUAL,
    budgets: { ...USUAL.budgets, max_context_items: items },
    context: { ...USUAL.context, limit: items },
  };
  const names = Object.keys(usual) as (keyof Usual)[];
  const blocks = names.map((name) => [name, withDefaults<object>(task[name], usual[name])]);
  return Object.fromEntries(blocks) as TaskBlocks;
}

/** Returns a block with defaults for unset or null members. */
function withDefaults<Block extends object>(
  said: { readonly [Key in keyof Block]?: Block[Key] | null | undefined } | null | undefined,
  usual: Block,
): Block {
  const keys = Object.keys(usual) as (keyof Block)[];
  return Object.fromEntries(keys.map((key) => [key, said?.[key] ?? usual[key]])) as Block;
}

/** The approval that a run needs, and the outcome of a timeout. */
interface ApprovalPlan {
  readonly required: 0 | 1;
  readonly timeout_s: number | null;
  readonly auto: "approve" | "reject" | null;
  readonly policy: "none" | "manual" | "auto-approve" | "auto-reject";
  readonly risk_level: string | null;
  readonly approver_scope: string | null;
}

/** Combines the two ways of asking for approval, `policy` and `required`. */
function planApproval(approval: Approval | null | undefined): ApprovalPlan {
  if (approval === undefined || approval === null) {
    const nothing = { timeout_s: null, auto: null, risk_level: null, approver_scope: null };
    return { required: 0, policy: "none", ...nothing };
  }
  const policy = approval.policy ?? (approval.required === true ? "manual" : "none");
  return {
    required: policy === "manual" || approval.required === true ? 1 : 0,
    timeout_s: approval.timeout_s ?? 3600,
    auto: autoOf(policy, approval.auto ?? null),
    policy,
    risk_level: approval.risk_level ?? "medium",
    approver_scope: approval.approver_scope ?? null,
  };
}

function autoOf(policy: ApprovalPlan["policy"], auto: ApprovalPlan["auto"]): ApprovalPlan["auto"] {
  if (policy === "auto-approve") return "approve";
  if (policy === "auto-reject") return "reject";
  return policy === "manual" ? (auto ?? "reject") : auto;
}

/** Expands shorthand: failure handlers become tasks.   agentcli spec "Shorthand" */
export function expandWorkflows({ workflows }: Manifest): readonly Workflow[] {
  return workflows.map((workflow) => ({ ...workflow, tasks: workflow.tasks.flatMap(expandTask) }));
}

function expandTask(task: Task): readonly Task[] {
  const { on_failure: handler, ...own } = task;
  return handler === undefined || handler === null ? [own] : [own, failureTask(own, handler)];
}

function failureTask(parent: Task, handler: FailureHandler): Task {
  const { id, name, enabled, target, delay_s, condition, ...blocks } = handler;
  return {
    ...blocks,
    id: id ?? `${parent.id}.failure`,
    name: name ?? `${parent.name} Failure Handler`,
    enabled: enabled ?? parent.enabled ?? null,
    target: failureTarget(parent.target, handler),
    trigger: {
      parent: parent.id,
      on: "failure",
      delay_s: delay_s ?? 0,
      condition: condition ?? null,
    },
  };
}

function failureTarget(parent: Target, { target, shell }: FailureHandler): Target {
  const inferred = shell === undefined || shell === null ? "isolated" : "shell";
  return {
    session_target: target?.session_target ?? inferred,
    agent_id: target?.agent_id ?? parent.agent_id ?? "main",
    payload_kind: target?.payload_kind ?? null,
  };
}

/** Explains a compiled task: its source, target, invocation and compilation notes. */
export function explainPlan(
  { source, id, invocation: { mode } }: TaskPlan,
  target: string,
  notes: readonly string[],
): Readonly<Record<string, unknown>> {
  return { ...source, compiled_id: id, target, invocation_mode: mode, notes };
}
