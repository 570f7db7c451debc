/**
 * Approvals of tasks. A person is asked through an escalation; acceptance allows one run of exactly that task, by the
 * agent that asked and on behalf of the same delegators, for as long as the answer could have taken. A used approval
 * stays used across restarts.   agentcli spec "Approvals", AGTP "ESCALATE", "CONFIRM"
 */

import { canonicalDigest } from "../../../identity/canonical-form.ts";
import { Collection } from "../../../state/collection.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import {
  closedAt,
  type Escalation,
  type Escalations,
} from "../../../state/registers/escalation.ts";
import type { Store } from "../../../state/store.ts";
import type { TaskPlan } from "../compile/task-plan.ts";
import type { FoundTask } from "../identity/find-task.ts";
import { taskHash } from "../identity/task-hash.ts";

type ApprovalAnswer =
  | { readonly kind: "granted"; consume(): Promise<boolean> }
  | { readonly kind: "pending"; readonly escalation: Escalation; readonly taskHash: string }
  | { readonly kind: "rejected"; readonly message: string }
  | { readonly kind: "full" };

/** The agents on whose behalf another one asks. */
export interface Delegators {
  /** Oldest first; empty if the agent acts for itself. */
  readonly delegatedBy: readonly string[];
  /** A digest of the delegators and the principals that they act for; undefined without delegation. */
  readonly behalf: string | undefined;
}

interface Asker extends Delegators {
  readonly agentId: string;
}

/** The latest request about a task. An agent has one at a time per task name and delegators. */
interface AskedTask {
  readonly escalationId: string;
  readonly taskHash: string;
  /** True once the answer was used. */
  readonly isSpent?: true;
}

/** The latest time that can be formatted; manifests may ask for later ones. */
const LAST_MOMENT = Date.UTC(9999, 11, 31);

const readAsked = recordReader<AskedTask>({ escalationId: "string", taskHash: "string" });

export class Approvals {
  /** By agent and task. */
  readonly #asked: Collection<AskedTask>;
  readonly #escalations: Escalations;

  private constructor(asked: Collection<AskedTask>, escalations: Escalations) {
    this.#asked = asked;
    this.#escalations = escalations;
  }

  /** Opens the stored requests. */
  static async open(store: Store, escalations: Escalations): Promise<Approvals> {
    const asked = await Collection.open<AskedTask>(store, {
      name: "agentcli-approvals",
      read: readAsked,
      ownerOf: (_, key) => key.slice(0, key.indexOf("/")),
      // A request is dropped once its escalation is forgotten or its answer used.
      forgottenAt: ({ escalationId, isSpent }) =>
        isSpent === undefined && escalations.find(escalationId) ? Infinity : 0,
    });
    return new Approvals(asked, escalations);
  }

  /** Tells whether the agent may run the task now; opens an escalation if none is pending. */
  async ask(asker: Asker, task: FoundTask): Promise<ApprovalAnswer> {
    const { plan } = task;
    const hash = taskHash(task);
    const key = keyOf(asker, plan);
    const asked = this.#asked.get(key);
    const escalation =
      asked?.taskHash === hash ? this.#escalations.find(asked.escalationId) : undefined;
    if (escalation === undefined) return this.#open(asker, key, plan, hash);
    const { escalationId, decision, status } = escalation;
    // A rejection answers one call; the next one opens a new escalation.
    const reject = async (message: string): Promise<ApprovalAnswer> => {
      const isFirst = await this.#spend(key, escalationId);
      return isFirst ? { kind: "rejected", message } : this.ask(asker, task);
    };
    const grant = (): ApprovalAnswer | Promise<ApprovalAnswer> =>
      this.#escalations.now() > closedAt(escalation) + waitOf(plan)
        ? this.#open(asker, key, plan, hash)
        : { kind: "granted", consume: () => this.#spend(key, escalationId) };
    switch (status) {
      case "accepted":
        return grant();
      case "pending_review":
      case "deferred":
        return { kind: "pending", escalation, taskHash: hash };
      case "rejected":
        return reject(decision?.reason ?? "the approval was refused");
      case "expired":
        if (plan.approval.auto === "approve") return grant();
        return reject("nobody approved it in time");
    }
  }

  async #open(
    { agentId, delegatedBy, behalf }: Asker,
    key: string,
    plan: TaskPlan,
    hash: string,
  ): Promise<ApprovalAnswer> {
    const { approval, source, name } = plan;
    const question = behalf === undefined ? hash : canonicalDigest({ hash, behalf });
    const opening = await this.#escalations.open({
      agentId,
      ...(delegatedBy.length > 0 && { delegatedBy }),
      // A changed manifest or other delegators make it a new question.
      taskId: `wf:${source.workflow_id}/task:${source.task_id}@${question.slice(7, 23)}`,
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
      deadlineAt: Math.min(this.#escalations.now() + waitOf(plan), LAST_MOMENT),
      fingerprint: question,
      ...(approval.approver_scope === null ? {} : { approverScope: approval.approver_scope }),
    });
    if (opening.kind === "full" || opening.kind === "waiting") return { kind: "full" };
    const { escalation } = opening;
    const asked = { escalationId: escalation.escalationId, taskHash: hash };
    const { isChanged } = await this.#asked.change(key, () => asked);
    if (!isChanged) await this.#asked.add(key, asked);
    return { kind: "pending", escalation, taskHash: hash };
  }

  /** Marks the answer as used before anything is run; true for the first caller only. */
  async #spend(key: string, escalationId: string): Promise<boolean> {
    const { isChanged } = await this.#asked.change(key, (asked) =>
      asked.escalationId === escalationId && asked.isSpent === undefined
        ? { ...asked, isSpent: true }
        : undefined,
    );
    return isChanged;
  }
}

/** The time for an answer, and its validity after that, in milliseconds. */
function waitOf({ approval }: TaskPlan): number {
  return (approval.timeout_s ?? 3600) * 1000;
}

function keyOf({ agentId, behalf }: Asker, { source }: TaskPlan): string {
  const key = `${agentId}/${source.workflow_id}/${source.task_id}`;
  return behalf === undefined ? key : `${key} for ${behalf}`;
}
