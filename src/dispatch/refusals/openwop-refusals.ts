/** Refusals of the endpoints of OpenWOP agents and their runs.   OpenWOP RFC 0072 */
import { type Refusal, refusal } from "./refusal.ts";

/** 404: no such agent is installed, for this caller. */
export function agentNotInstalled(): Refusal {
  return refusal(404, "agent_not_found", "no agent of that name is installed on this server");
}

/** 404: the same for a run that is not there and for one that the caller may not see. */
export function runNotFound(): Refusal {
  return refusal(404, "run_not_found", "there is no such run");
}

/** 429: too many runs of the caller are not over. */
export function tooManyRuns(message: string): Refusal {
  const carried = { scope: "runs", retry_after_seconds: 1 };
  return refusal(429, "rate-limited", message, { carried });
}
