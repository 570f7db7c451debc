/**
 * An escalation: a decision that an agent leaves to somebody else, and the task that waits for it.
 * Its status depends on the time, too: past its deadline it is expired, which is no
 * decision, and the task goes on waiting.   AGTP "ESCALATE", "CONFIRM"
 */

import { given } from "../../base/json-value.ts";
import { canonicalDigest } from "../../identity/canonical-form.ts";
import { recordReader } from "../records/stored-record.ts";
import { type Approval, useView } from "./approval.ts";
import type { Operator } from "./operator.ts";

/** Why an agent escalates.   AGTP "ESCALATE" */
export const ESCALATION_REASONS = [
  "confidence_threshold",
  "scope_limit",
  "ethical_flag",
  "ambiguous_instruction",
  "resource_unavailable",
] as const;

/** How soon somebody should look. */
export const PRIORITIES = ["urgent", "normal", "low"] as const;

/** The verdicts of CONFIRM.   AGTP "CONFIRM" */
export const VERDICTS = ["accepted", "rejected", "deferred"] as const;

type EscalationReason = (typeof ESCALATION_REASONS)[number];
type Priority = (typeof PRIORITIES)[number];
export type Verdict = (typeof VERDICTS)[number];

/** `deferred` is as open as `pending_review`: somebody has seen it, and nobody has decided. */
export type EscalationStatus = "pending_review" | Verdict | "expired";

/** Every status, as QUERY can ask for it. */
export const ESCALATION_STATUSES: readonly EscalationStatus[] = [
  "pending_review",
  ...VERDICTS,
  "expired",
];

export interface Decision {
  /** The receipt. */
  readonly attestationId: string;
  readonly status: Verdict;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The agent that spoke; undefined for an operator that is none. */
  readonly agentId?: string;
  readonly authority: "operator" | "recipient" | "approver";
  readonly operator?: Operator;
  readonly reason?: string;
  /** The decider's attestation, as it was given. */
  readonly attestation?: unknown;
  /** The answer to an upstream's question; it is for the upstream, and others see its digest. */
  readonly content?: Readonly<Record<string, unknown>>;
}

/** One person's word where several are asked for. */
export interface EscalationVote {
  readonly by: string;
  readonly action: string;
}

export interface Escalation {
  readonly escalationId: string;
  /** The agent that escalated. */
  readonly agentId: string;
  /** The agents that handed on the work in which it did, the oldest first; undefined: it asks for itself. */
  readonly delegatedBy?: readonly string[];
  /** The task that waits; undefined for a question that no task waits for. */
  readonly taskId?: string;
  readonly sessionId?: string;
  /** Undefined for one in the words of the older form, which has none. */
  readonly reason?: EscalationReason;
  /** The matter to decide. */
  readonly context: unknown;
  readonly priority: Priority;
  /** The agent that may decide, beside the operators. */
  readonly recipient?: string;
  /** The principal of the token that it was asked with. */
  readonly principalId?: string;
  /** Other agents that this server grants the scope may decide, too. */
  readonly approverScope?: string;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  readonly deadlineAt: number;
  /** As last stored; `statusAt` says what it is now. */
  readonly status: EscalationStatus;
  readonly decision?: Decision;
  /** The words so far where it waits for several. */
  readonly votes?: readonly EscalationVote[];
  /** Equal for two that ask the same. */
  readonly fingerprint: string;
  /** The task, or the call, has asked again, and waits for that instead. */
  readonly isSuperseded?: true;
  /** Set where one call waits to be approved; no task waits for it. */
  readonly approval?: Approval;
  /** The news of it that people were told last; undefined: none. */
  readonly toldId?: string;
}

/** An escalation that somebody wants. */
export type EscalationRequest = Omit<
  Escalation,
  "escalationId" | "openedAt" | "status" | "decision" | "votes" | "toldId" | "isSuperseded"
>;

/** The outcome of opening an escalation. */
export type Opening =
  /** `repeated`: the same was asked before, and is still open. */
  | { readonly kind: "opened" | "repeated"; readonly escalation: Escalation }
  /** The task waits for another one. */
  | { readonly kind: "waiting"; readonly escalation: Escalation }
  /** The agent, or all of them, wait for too many. */
  | { readonly kind: "full" };

/** Where escalations are opened, and found again. */
export interface Escalations {
  find(escalationId: string): Escalation | undefined;
  /** Takes one on, and has its task wait. */
  open(request: EscalationRequest): Promise<Opening>;
  /** Milliseconds since the epoch, by which deadlines are over. */
  now(): number;
}

/** The status of an escalation at a time. */
export function statusAt({ status, deadlineAt }: Escalation, now: number): EscalationStatus {
  return isOpen({ status }) && deadlineAt <= now ? "expired" : status;
}

/** Tells whether somebody can decide it at a time. */
export function isOpenAt(escalation: Escalation, now: number): boolean {
  return isOpen({ status: statusAt(escalation, now) });
}

/** Tells whether an approval was given and can still be used. */
export function isUsable({ status, deadlineAt, approval }: Escalation, now: number): boolean {
  return status === "accepted" && deadlineAt > now && approval?.use === undefined;
}

/** Tells whether its task waits for it. */
export function isHoldingTask(escalation: Escalation): boolean {
  const { taskId, status, approval, isSuperseded = false } = escalation;
  return taskId !== undefined && status !== "accepted" && approval === undefined && !isSuperseded;
}

/** Tells whether somebody can still decide: of an escalation as its register answers it. */
export function isOpen({ status }: Pick<Escalation, "status">): boolean {
  return status === "pending_review" || status === "deferred";
}

/** When it was over, as far as it is. */
export function closedAt({ decision, deadlineAt }: Escalation): number {
  return decision === undefined || decision.status === "deferred" ? deadlineAt : decision.at;
}

/** The view of an escalation as it is now, for everybody who may see it; keys are the wire's own. */
export function escalationView(escalation: Escalation): Record<string, unknown> {
  const { escalationId, agentId, taskId, sessionId, status, reason, decision } = escalation;
  const { recipient, approval, votes, delegatedBy } = escalation;
  return {
    escalation_id: escalationId,
    agent_id: agentId,
    ...(delegatedBy === undefined ? {} : { delegated_by: delegatedBy }),
    task_id: taskId ?? null,
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    status,
    ...(approval === undefined ? {} : { kind: kindOf(approval), call_digest: approval.digest }),
    task_paused: isHoldingTask(escalation),
    reason: reason ?? null,
    context: escalation.context,
    priority: escalation.priority,
    routed_to: recipient ?? "operators",
    opened_at: new Date(escalation.openedAt).toISOString(),
    deadline: new Date(escalation.deadlineAt).toISOString(),
    ...given({ votes }),
    ...(decision === undefined ? {} : { decision: decisionView(decision) }),
    ...(approval?.use === undefined ? {} : useView(approval.use, false)),
  };
}

/** An approval is asked for before a call begins, an answer while it waits. */
function kindOf({ question }: Approval): "approval" | "elicitation" {
  return question === undefined ? "approval" : "elicitation";
}

/** A decision; keys are the wire's own. */
export function decisionView(decision: Decision): Record<string, unknown> {
  const { attestationId, status, at, agentId, authority, operator, reason, attestation } = decision;
  const { content } = decision;
  return {
    attestation_id: attestationId,
    status,
    timestamp: new Date(at).toISOString(),
    decided_by: agentId ?? null,
    authority,
    ...given({ operator, reason, attestation }),
    ...(content === undefined ? {} : { content_digest: canonicalDigest(content) }),
  };
}

const readWhole = recordReader<Escalation & { readonly isAnnounced?: boolean }>({
  escalationId: "string",
  agentId: "string",
  openedAt: "number",
  deadlineAt: "number",
  status: "string",
});

/** An escalation as it is stored; undefined: it is none. */
export function readEscalation(value: unknown): Escalation | undefined {
  const whole = readWhole(value);
  if (whole === undefined) return undefined;
  // An earlier version kept only that people were told of the opening.
  const { isAnnounced, ...kept } = whole;
  const told = isAnnounced === true ? { toldId: `${kept.escalationId}.escalation.opened` } : {};
  return { ...told, ...kept };
}
