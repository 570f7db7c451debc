/** The optional blocks of a task with their defaults.   agentcli spec "Defaults" */
import type { Approval, Task } from "../manifest/manifest.ts";

/** The blocks of a planned task about how it runs. */
export interface TaskBlocks {
  readonly intent: { readonly mode: "execute" | "plan"; readonly read_only: boolean | null };
  readonly output: {
    readonly preview_bytes: number;
    readonly offload: string;
    readonly retrieve: string;
    readonly format: "json" | "ndjson" | "text" | null;
  };
  readonly budgets: {
    readonly max_iterations: number | null;
    readonly max_fanout: number;
    readonly max_context_items: number;
    readonly max_pending_approvals: number;
    readonly max_queued_dispatches: number;
  };
  readonly delivery: {
    readonly mode: string;
    readonly channel: string | null;
    readonly to: string | null;
  };
  readonly reliability: {
    readonly guarantee: string;
    readonly overlap_policy: "skip" | "allow" | "queue";
    readonly max_retries: number;
  };
  readonly runtime: { readonly timeout_ms: number | null };
  readonly context: { readonly retrieval: string; readonly limit: number };
  readonly session: { readonly preferred_key: string | null };
}

/** Fills in what a task does not say. */
export function planBlocks(task: Task): TaskBlocks {
  const { intent, output, budgets, delivery, reliability, context } = task;
  const limit = context?.limit ?? null;
  const items = budgets?.["max_context_items"] ?? limit ?? 5;
  return {
    intent: { mode: intent?.mode ?? "execute", read_only: intent?.read_only ?? null },
    output: {
      preview_bytes: output?.preview_bytes ?? 2000,
      offload: output?.offload ?? "auto",
      retrieve: output?.retrieve ?? "on-demand",
      format: output?.format ?? null,
    },
    budgets: {
      max_iterations: budgets?.["max_iterations"] ?? null,
      max_fanout: budgets?.["max_fanout"] ?? 25,
      max_context_items: items,
      max_pending_approvals: budgets?.["max_pending_approvals"] ?? 10,
      max_queued_dispatches: budgets?.["max_queued_dispatches"] ?? 25,
    },
    delivery: {
      mode: delivery?.mode ?? "none",
      channel: delivery?.channel ?? null,
      to: delivery?.to ?? null,
    },
    reliability: {
      guarantee: reliability?.guarantee ?? "at-most-once",
      overlap_policy: reliability?.overlap_policy ?? "skip",
      max_retries: reliability?.max_retries ?? 0,
    },
    runtime: { timeout_ms: task.runtime?.timeout_ms ?? null },
    context: { retrieval: context?.retrieval ?? "none", limit: limit ?? items },
    session: { preferred_key: task.session?.preferred_key ?? null },
  };
}

/** The approval of a run, and what happens without one. */
export interface ApprovalPlan {
  readonly required: 0 | 1;
  readonly timeout_s: number | null;
  readonly auto: "approve" | "reject" | null;
  readonly policy: "none" | "manual" | "auto-approve" | "auto-reject";
  readonly risk_level: string | null;
  readonly approver_scope: string | null;
}

/** The policy, where both ways of asking for approval come together. */
export function planApproval(approval: Approval | null | undefined): ApprovalPlan {
  if (approval === undefined || approval === null) {
    return {
      required: 0,
      timeout_s: null,
      auto: null,
      policy: "none",
      risk_level: null,
      approver_scope: null,
    };
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
  switch (policy) {
    case "auto-approve":
      return "approve";
    case "auto-reject":
      return "reject";
    case "manual":
      return auto ?? "reject";
    case "none":
      return auto;
  }
}
