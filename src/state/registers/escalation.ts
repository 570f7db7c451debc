/**
 * An escalation: a decision that an agent leaves to others, and the task that waits for it. Its status depends on
 * time: past its deadline it is expired, which is not a decision, and the task keeps waiting.   AGTP "ESCALATE",
 * "CONFIRM"
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

/** How urgently it should be looked at. */
export const PRIORITIES = ["urgent", "normal", "low"] as const;

/** The verdicts of CONFIRM.   AGTP "CONFIRM" */
export const VERDICTS = ["accepted", "rejected", "deferred"] as const;

type EscalationReason = (typeof ESCALATION_REASONS)[number];
type Priority = (typeof PRIORITIES)[number];
export type Verdict = (typeof VERDICTS)[number];

/** `deferred` is as open as `pending_review`: it was seen, and not decided. */
export type EscalationStatus = "pending_review" | Verdict | "expired";

/** The statuses by which QUERY can filter. */
export const ESCALATION_STATUSES: readonly EscalationStatus[] = [
  "pending_review",
  ...VERDICTS,
  "expired",
];

export interface Decision {
  /** The id of the receipt. */
  readonly attestationId: string;
  readonly status: Verdict;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The deciding agent; undefined for an operator who is not an agent. */
  readonly agentId?: string;
  readonly authority: "operator" | "recipient" | "approver";
  readonly operator?: Operator;
  readonly reason?: string;
  /** The decider's attestation, as received. */
  readonly attestation?: unknown;
  /** The answer to an upstream's question; others than the upstream see its digest. */
  readonly content?: Readonly<Record<string, unknown>>;
}

/** One person's vote, where several are needed. */
export interface EscalationVote {
  readonly by: string;
  readonly action: string;
}

export interface Escalation {
  readonly escalationId: string;
  /** The agent that escalated. */
  readonly agentId: string;
  /** The agents that delegated the work, the first delegator first; undefined: none. */
  readonly delegatedBy?: readonly string[];
  /** The waiting task; undefined for a question without one. */
  readonly taskId?: string;
  readonly sessionId?: string;
  /** Undefined in the older request form, which lacks it. */
  readonly reason?: EscalationReason;
  /** The matter to decide. */
  readonly context: unknown;
  readonly priority: Priority;
  /** An agent that may decide, besides the operators. */
  readonly recipient?: string;
  /** The principal of the requesting token. */
  readonly principalId?: string;
  /** A scope whose holders on this server may decide too. */
  readonly approverScope?: string;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  readonly deadlineAt: number;
  /** The stored status; `statusAt` returns the current one. */
  readonly status: EscalationStatus;
  readonly decision?: Decision;
  /** The votes so far, where several are needed. */
  readonly votes?: readonly EscalationVote[];
  /** Equal for two requests that ask for the same. */
  readonly fingerprint: string;
  /** True if the task or call has asked again, and waits for the newer escalation. */
  readonly isSuperseded?: true;
  /** Set if a call waits for approval; no task waits then. */
  readonly approval?: Approval;
  /** The change that people were last notified of; undefined: none. */
  readonly toldId?: string;
}

/** A request for an escalation. */
export type EscalationRequest = Omit<
  Escalation,
  "escalationId" | "openedAt" | "status" | "decision" | "votes" | "toldId" | "isSuperseded"
>;

/** The outcome of opening an escalation. */
export type Opening =
  /** `repeated`: the same escalation is open already. */
  | { readonly kind: "opened" | "repeated"; readonly escalation: Escalation }
  /** The task waits for another escalation. */
  | { readonly kind: "waiting"; readonly escalation: Escalation }
  /** The agent, or the server, has too many open ones. */
  | { readonly kind: "full" };

/** Opens and finds escalations. */
export interface Escalations {
  find(escalationId: string): Escalation | undefined;
  /** Opens an escalation, and makes its task wait. */
  open(request: EscalationRequest): Promise<Opening>;
  /** Returns milliseconds since the epoch by the clock that decides deadlines. */
  now(): number;
}

/** Returns the status of an escalation at a time. */
export function statusAt({ status, deadlineAt }: Escalation, now: number): EscalationStatus {
  return isOpen({ status }) && deadlineAt <= now ? "expired" : status;
}

/** True if it can be decided at that time. */
export function isOpenAt(escalation: Escalation, now: number): boolean {
  return isOpen({ status: statusAt(escalation, now) });
}

/** True if its approval was given, has not expired, and is unused. */
export function isUsable({ status, deadlineAt, approval }: Escalation, now: number): boolean {
  return status === "accepted" && deadlineAt > now && approval?.use === undefined;
}

/** True if its task waits for it. */
export function isHoldingTask(escalation: Escalation): boolean {
  const { taskId, status, approval, isSuperseded = false } = escalation;
  return taskId !== undefined && status !== "accepted" && approval === undefined && !isSuperseded;
}

/** True if it can still be decided; expects a status as the register returns it. */
export function isOpen({ status }: Pick<Escalation, "status">): boolean {
  return status === "pending_review" || status === "deferred";
}

/** Returns when it was closed, or will be by its deadline. */
export function closedAt({ decision, deadlineAt }: Escalation): number {
  return decision === undefined || decision.status === "deferred" ? deadlineAt : decision.at;
}

/** Returns the current view for everyone allowed to see it; keys are the wire's own. */
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

/** An approval is requested before a call begins, an elicitation in the middle of it. */
function kindOf({ question }: Approval): "approval" | "elicitation" {
  return question === undefined ? "approval" : "elicitation";
}

/** Returns the view of a decision; keys are the wire's own. */
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

/** Reads a stored escalation; undefined if it is not one. */
export function readEscalation(value: unknown): Escalation | undefined {
  const whole = readWhole(value);
  if (whole === undefined) return undefined;
  // An earlier version stored only that people were notified of the opening.
  const { isAnnounced, ...kept } = whole;
  const told = isAnnounced === true ? { toldId: `${kept.escalationId}.escalation.opened` } : {};
  return { ...told, ...kept };
}
