/**
 * Approvals of tasks: a person is asked through an escalation, and a yes is good for one run of exactly
 * the task that was asked about, by the agent that asked, for as long as the answer might have taken.
 * What was used up stays so through restarts.
 * agentcli spec "Approvals", AGTP "ESCALATE", "CONFIRM"
 */
import type { Collection } from "../../../state/collection.ts";
import type { CollectionOptions } from "../../../state/collection-view.ts";
import type { Escalation, Escalations } from "../../../state/escalation.ts";
import { recordReader } from "../../../state/stored-record.ts";
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
  readonly asked: Collection<StoredApproval>;
  readonly escalations: Escalations;
}

/** What an approval is for. */
export type ApprovedTask = Parameters<typeof taskHash>[0];

/** What a person was asked about a task. */
export interface StoredApproval {
  readonly escalationId: string;
  readonly taskHash: string;
}

/** A moment that can be written; manifests may ask for later ones. */
const LAST_MOMENT = Date.UTC(9999, 11, 31);

/** The collection of what was asked; nobody needs to know of a question that is forgotten. */
export function approvalCollection(
  escalations: Pick<Escalations, "find">,
): CollectionOptions<StoredApproval> {
  return {
    name: "agentcli-approvals",
    read: recordReader<StoredApproval>({ escalationId: "string", taskHash: "string" }),
    forgottenAt: ({ escalationId }) => (escalations.find(escalationId) ? Infinity : 0),
  };
}

/** The approvals of all tasks. */
export class Approvals {
  readonly #options: ApprovalOptions;

  constructor(options: ApprovalOptions) {
    this.#options = options;
  }

  /** Whether the agent may run the task now; asks for it where nobody has been asked. */
  async ask(agentId: string, task: ApprovedTask): Promise<ApprovalAnswer> {
    const { plan } = task;
    const hash = taskHash(task);
    const key = keyOf(agentId, plan);
    const { asked, escalations } = this.#options;
    const stored = asked.get(key);
    const escalation =
      stored?.taskHash === hash ? escalations.find(stored.escalationId) : undefined;
    if (escalation === undefined) return this.#open(agentId, key, plan, hash);
    const { escalationId, decision, status } = escalation;
    // Who comes second has to ask anew.
    const reject = async (message: string): Promise<ApprovalAnswer> => {
      const isFirst = await this.#spend(key, escalationId);
      return isFirst ? { kind: "rejected", message } : this.ask(agentId, task);
    };
    const granted = { kind: "granted", consume: () => this.#spend(key, escalationId) } as const;
    switch (status) {
      case "accepted": {
        const isStale = Date.now() > (decision?.at ?? 0) + waitOf(plan);
        return isStale ? this.#open(agentId, key, plan, hash) : granted;
      }
      case "pending_review":
      case "deferred":
        return { kind: "pending", escalation, taskHash: hash };
      case "rejected":
        return reject(decision?.reason ?? "the approval was refused");
      case "expired":
        if (plan.approval.auto === "approve") return granted;
        return reject("nobody approved it in time");
    }
  }

  async #open(agentId: string, key: string, plan: TaskPlan, hash: string): Promise<ApprovalAnswer> {
    const { asked, escalations } = this.#options;
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
    await asked.put(key, { escalationId: escalation.escalationId, taskHash: hash });
    return { kind: "pending", escalation, taskHash: hash };
  }

  /** True once, and stored before anything is run: whoever comes second has to ask again. */
  async #spend(key: string, escalationId: string): Promise<boolean> {
    const { asked } = this.#options;
    const spent = await asked.take(key, (stored) => stored.escalationId === escalationId);
    return spent !== undefined;
  }
}

/** How long an answer may take, and how long it is good for then. */
function waitOf({ approval }: TaskPlan): number {
  return (approval.timeout_s ?? 3600) * 1000;
}

function keyOf(agentId: string, { source }: TaskPlan): string {
  return `${agentId}/${source.workflow_id}/${source.task_id}`;
}
