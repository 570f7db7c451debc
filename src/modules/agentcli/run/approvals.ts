/**
 * Approvals of tasks: a person is asked through an escalation, and a yes is good for one run of exactly
 * the task that was asked about, by the agent that asked, for as long as the answer might have taken.
 * What was used up stays so through restarts.
 * agentcli spec "Approvals", AGTP "ESCALATE", "CONFIRM"
 */
import { isRecord } from "../../../base/json-value.ts";
import type { TaskQueue } from "../../../base/task-queue.ts";
import type { Escalation, Escalations } from "../../../state/escalation.ts";
import type { Store } from "../../../state/store.ts";
import type { TaskPlan } from "../compile/task-plan.ts";
import { taskHash } from "./task-hash.ts";

/** What asking for approval comes to. */
export type ApprovalAnswer =
  | { readonly kind: "granted"; consume(): Promise<boolean> }
  | { readonly kind: "pending"; readonly escalation: Escalation; readonly taskHash: string }
  | { readonly kind: "rejected"; readonly message: string }
  | { readonly kind: "full" };

/** What approvals are kept with. */
export interface ApprovalOptions {
  readonly store: Store;
  readonly escalations: Escalations;
  readonly changes: TaskQueue;
}

/** What an approval is for. */
export type ApprovedTask = Parameters<typeof taskHash>[0];

interface StoredApproval {
  readonly escalationId: string;
  readonly taskHash: string;
}

const COLLECTION = "agentcli-approvals";
/** A moment that can be written; manifests may ask for later ones. */
const LAST_MOMENT = Date.UTC(9999, 11, 31);

/** The approvals of all tasks. */
export class Approvals {
  readonly #options: ApprovalOptions;
  readonly #changes: TaskQueue;

  constructor(options: ApprovalOptions) {
    this.#options = options;
    this.#changes = options.changes;
  }

  /** Whether the agent may run the task now; asks for it where nobody has been asked. */
  ask(agentId: string, task: ApprovedTask): Promise<ApprovalAnswer> {
    return this.#changes.run(async () => {
      const { plan } = task;
      const hash = taskHash(task);
      const key = keyOf(agentId, plan);
      const stored = readStored(await this.#options.store.get(COLLECTION, key));
      const asked =
        stored?.taskHash === hash ? this.#options.escalations.find(stored.escalationId) : undefined;
      if (asked === undefined) return this.#open(agentId, key, plan, hash);
      switch (asked.status) {
        case "accepted": {
          const isStale = Date.now() > (asked.decision?.at ?? 0) + waitOf(plan);
          if (isStale) return this.#open(agentId, key, plan, hash);
          return this.#granted(key, asked.escalationId);
        }
        case "pending_review":
        case "deferred":
          return { kind: "pending", escalation: asked, taskHash: hash };
        case "rejected":
          await this.#forget(key);
          return {
            kind: "rejected",
            message: asked.decision?.reason ?? "the approval was refused",
          };
        case "expired":
          if (plan.approval.auto === "approve") return this.#granted(key, asked.escalationId);
          await this.#forget(key);
          return { kind: "rejected", message: "nobody approved it in time" };
      }
    });
  }

  async #open(agentId: string, key: string, plan: TaskPlan, hash: string): Promise<ApprovalAnswer> {
    const { escalations, store } = this.#options;
    const { approval, source, name } = plan;
    const opening = await escalations.open({
      agentId,
      // Another manifest is another question.
      taskId: `wf:${source.workflow_id}/task:${source.task_id}@${hash.slice(7, 23)}`,
      reason: "scope_limit",
      context: {
        kind: "agentcli.approval",
        ...source,
        name,
        task_hash: hash,
        risk_level: approval.risk_level,
        program: "program" in plan.execution.payload ? plan.execution.payload.program : null,
      },
      priority: approval.risk_level === "high" ? "urgent" : "normal",
      deadlineAt: Math.min(Date.now() + waitOf(plan), LAST_MOMENT),
      fingerprint: hash,
      ...(approval.approver_scope === null ? {} : { approverScope: approval.approver_scope }),
    });
    if (opening.kind === "full" || opening.kind === "waiting") return { kind: "full" };
    const { escalation } = opening;
    const value: StoredApproval = { escalationId: escalation.escalationId, taskHash: hash };
    await store.commit([{ kind: "put", collection: COLLECTION, key, value }]);
    return { kind: "pending", escalation, taskHash: hash };
  }

  /** True once: whoever comes second has to ask again. */
  #granted(key: string, escalationId: string): ApprovalAnswer {
    const consume = (): Promise<boolean> =>
      this.#changes.run(async () => {
        const stored = readStored(await this.#options.store.get(COLLECTION, key));
        if (stored?.escalationId !== escalationId) return false;
        await this.#forget(key);
        return true;
      });
    return { kind: "granted", consume };
  }

  /** Committed before anything is run. */
  async #forget(key: string): Promise<void> {
    await this.#options.store.commit([{ kind: "delete", collection: COLLECTION, key }]);
  }
}

/** How long an answer may take, and how long it is good for then. */
function waitOf({ approval }: TaskPlan): number {
  return (approval.timeout_s ?? 3600) * 1000;
}

function keyOf(agentId: string, { source }: TaskPlan): string {
  return `${agentId}/${source.workflow_id}/${source.task_id}`;
}

function readStored(value: unknown): StoredApproval | undefined {
  if (!isRecord(value)) return undefined;
  const { escalationId, taskHash: hash } = value;
  const isWhole = typeof escalationId === "string" && typeof hash === "string";
  return isWhole ? { escalationId, taskHash: hash } : undefined;
}
