/**
 * Approvals of tasks: a person is asked through an escalation, and a yes is good for one run of exactly
 * the task that was asked about, by the agent that asked and for those that had it ask, for as long as the
 * answer might have taken. An approval that was used up stays so through restarts.
 * agentcli spec "Approvals", AGTP "ESCALATE", "CONFIRM"
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

/** The agents that had another one ask. */
export interface Delegators {
  /** The oldest first; none where it asks for itself. */
  readonly delegatedBy: readonly string[];
  /** A digest of those, and of the principals that they did so for; undefined: there are none. */
  readonly behalf: string | undefined;
}

interface Asker extends Delegators {
  readonly agentId: string;
}

/** A question about exactly one task; an agent has one at a time about a task of this name, for each that it works for. */
interface AskedTask {
  readonly escalationId: string;
  readonly taskHash: string;
  /** The answer was used. */
  readonly isSpent?: true;
}

/** A moment that can be written; manifests may ask for later ones. */
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

  /** Opens what an earlier process kept. */
  static async open(store: Store, escalations: Escalations): Promise<Approvals> {
    const asked = await Collection.open<AskedTask>(store, {
      name: "agentcli-approvals",
      read: readAsked,
      ownerOf: (_, key) => key.slice(0, key.indexOf("/")),
      // Nobody needs to know of a question that is forgotten, or was answered and used.
      forgottenAt: ({ escalationId, isSpent }) =>
        isSpent === undefined && escalations.find(escalationId) ? Infinity : 0,
    });
    return new Approvals(asked, escalations);
  }

  /** Tells whether the agent may run the task now; asks for it where nobody has been asked. */
  async ask(asker: Asker, task: FoundTask): Promise<ApprovalAnswer> {
    const { plan } = task;
    const hash = taskHash(task);
    const key = keyOf(asker, plan);
    const asked = this.#asked.get(key);
    const escalation =
      asked?.taskHash === hash ? this.#escalations.find(asked.escalationId) : undefined;
    if (escalation === undefined) return this.#open(asker, key, plan, hash);
    const { escalationId, decision, status } = escalation;
    // The second caller has to ask anew.
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
      // Another manifest is another question, and so is what is asked for others.
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

  /** True once, and stored before anything is run: whoever comes second has to ask again. */
  async #spend(key: string, escalationId: string): Promise<boolean> {
    const { isChanged } = await this.#asked.change(key, (asked) =>
      asked.escalationId === escalationId && asked.isSpent === undefined
        ? { ...asked, isSpent: true }
        : undefined,
    );
    return isChanged;
  }
}

/** The longest that an answer may take, and the time that it then holds. */
function waitOf({ approval }: TaskPlan): number {
  return (approval.timeout_s ?? 3600) * 1000;
}

function keyOf({ agentId, behalf }: Asker, { source }: TaskPlan): string {
  const key = `${agentId}/${source.workflow_id}/${source.task_id}`;
  return behalf === undefined ? key : `${key} for ${behalf}`;
}
