/** Refusals about tasks, sessions, their decisions, and runs.   OpenWOP RFC 0072 */
import type { Suspension } from "../../state/registers/suspension.ts";
import { type Refusal, refusal, refuseFor } from "./refusal.ts";

/** The decision that a task waits for. */
export interface TaskPause {
  readonly escalationId: string;
  /** `pending_review`, `deferred`, `rejected` or `expired`. */
  readonly status: string;
  /** The deadline, in milliseconds since the epoch. */
  readonly deadlineAt: number;
}

/** The suspension that holds a session. */
export type SessionHold = Pick<
  Suspension,
  "suspensionId" | "agentId" | "tlsIdentity" | "state" | "resumeBy"
>;

const WAITING: Readonly<Record<string, string>> = {
  rejected: "the task's escalation was rejected, and the task does not go on",
  expired:
    "nobody decided the task's escalation in time, and the task does not go on: escalate anew",
};

/** 409: the task continues only once its escalation is accepted.   AGTP "ESCALATE" */
export function taskPaused({ escalationId, status, deadlineAt }: TaskPause): Refusal {
  const message = WAITING[status] ?? "the task waits for its escalation to be confirmed";
  return refuseFor(409, "task-paused", message, {
    escalation_id: escalationId,
    escalation_status: status,
    deadline: new Date(deadlineAt).toISOString(),
    poll: { method: "QUERY", path: `/escalations/${escalationId}` },
  });
}

/** 408 or 409: the session is suspended or ended.   AGTP "SUSPEND" */
export function refuseHeldSession({ suspensionId, state, resumeBy }: SessionHold): Refusal {
  if (state === "ended") return refuseFor(409, "session-ended", "the session was ended");
  const isExpired = state === "expired";
  const code = isExpired ? "session-expired" : "session-suspended";
  const carried = { suspension_id: suspensionId, resume_by: new Date(resumeBy).toISOString() };
  const message = isExpired
    ? "nobody resumed the session in time, and it is over"
    : "the session is suspended: RESUME it with its nonce first";
  return refuseFor(isExpired ? 408 : 409, code, message, carried);
}

/** 409: the nonce was used when the session was resumed.   AGTP "SUSPEND" */
export function nonceReused(): Refusal {
  return refuseFor(409, "nonce-reused", "the nonce was used before, and works once");
}

/** 403: the caller may not decide this.   AGTP "CONFIRM" */
export function confirmationForbidden(message: string): Refusal {
  return refuseFor(403, "confirmation-forbidden", message);
}

/** 409: a decision was already made, or the deadline has passed.   AGTP "CONFIRM" */
export function decisionConflict(
  message: string,
  carried: Readonly<Record<string, unknown>>,
): Refusal {
  return refuseFor(409, "decision-conflict", message, carried);
}

/** 429: the limit of open escalations or suspensions is reached. */
export function tooManyWaiting(scope: "escalations" | "suspensions"): Refusal {
  const message = `too many ${scope} are open: there is room when some of them are over`;
  return refusal(429, "rate-limited", message, { carried: { scope } });
}

/** 404: no such agent is installed for this caller. */
export function agentNotInstalled(): Refusal {
  return refusal(404, "agent_not_found", "no agent of that name is installed on this server");
}

/** 404: the same for an absent run and for one that the caller may not see. */
export function runNotFound(): Refusal {
  return refusal(404, "run_not_found", "there is no such run");
}

/** 429: the caller has too many unfinished runs. */
export function tooManyRuns(message: string): Refusal {
  const carried = { scope: "runs", retry_after_seconds: 1 };
  return refusal(429, "rate-limited", message, { carried });
}
