/** Why something is not done with a run; AGTP and HTTP each have a status of their own for it.   OpenWOP "error-envelope" */
import type { RunError } from "../agent-executor.ts";

/** The reasons. */
export type RunRefusalCode =
  | "validation_error"
  | "agent_not_found"
  | "run_not_found"
  | "run_already_active"
  | "run_state_conflict"
  | "run_terminal"
  | "interrupt_not_found"
  | "interrupt_already_resolved"
  | "interrupt_cancelled"
  | "interrupt_expired"
  | "fork_invalid_seq"
  | "mock_provider_forbidden"
  | "forbidden"
  | "rate_limited";

/** A no. */
export interface RunRefusal extends RunError {
  readonly kind: "refused";
  readonly code: RunRefusalCode;
}

const RETRY_AFTER_S = 1;

/** Says no. */
export function refuseRun(
  code: RunRefusalCode,
  message: string,
  details?: RunError["details"],
): RunRefusal {
  return { kind: "refused", code, message, ...(details === undefined ? {} : { details }) };
}

/** Tells whether an answer is a no. */
export function isRefused(answer: object): answer is RunRefusal {
  return "kind" in answer && answer.kind === "refused";
}

/** Why a run is not taken on: another of its scope is under way. */
export function runAlreadyActive(activeRunId: string): RunRefusal {
  const details = { activeRunId, retryAfter: RETRY_AFTER_S };
  return refuseRun("run_already_active", "another run of this scope is not over yet", details);
}

/** Why a run is not taken on: there is no room for it. */
export function tooManyRuns(): RunRefusal {
  const details = { scope: "key", retryAfterMs: RETRY_AFTER_S * 1000 };
  return refuseRun("rate_limited", "too many runs of this caller are not over yet", details);
}

/** Refuses alike a run that is not there and one that the caller may not see. */
export function runNotFound(): RunRefusal {
  return refuseRun("run_not_found", "there is no such run");
}
