/** Refusals of DELEGATE.   AGTP "DELEGATE", AGTP "Status Codes" */
import { type Refusal, refusal } from "./refusal.ts";

/** The reason why a delegation failed. */
export type DelegationFailure =
  | "sub-agent-failed"
  | "deadline"
  | "aborted"
  | "interrupted"
  | "too-many-running"
  | "peer-unreachable"
  | "peer-untrusted"
  | "peer-busy"
  | "peer-timeout"
  | "peer-closed"
  | "peer-malformed";

/** The known state of the work when its delegation failed. */
export type WorkOutcome = "not-begun" | "failed" | "unknown";

/** 550: the delegate failed, could not be reached, or did not answer in time. */
export function delegationFailed(
  reason: DelegationFailure,
  explanation: string,
  outcome: WorkOutcome,
  more: Readonly<Record<string, unknown>> = {},
): Refusal {
  const carried = { reason, explanation, outcome, ...more };
  return refusal(550, "delegation-failed", explanation, { carried });
}

/** The reason why a link of a delegation chain is invalid. */
export type BrokenLink =
  | "malformed"
  | "unknown-issuer"
  | "signature"
  | "expired"
  | "audience"
  | "subject"
  | "scope"
  | "task"
  | "chain"
  | "replayed"
  | "depth"
  | "loop"
  | "not-first-hand"
  | "record-unverified";

/** The invalid link; its own claims may be forged. */
export interface FailingLink {
  /** The index in the chain; 0 is the oldest. */
  readonly index: number;
  readonly server_id?: string;
  readonly agent_id?: string;
  readonly target_agent_id?: string;
}

/** 551: a link of the chain of authority does not verify. */
export function chainBroken(
  reason: BrokenLink,
  explanation: string,
  link: FailingLink,
  more: Readonly<Record<string, unknown>> = {},
): Refusal {
  const carried = { reason, explanation, link, ...more };
  return refusal(551, "authority-chain-broken", explanation, { carried });
}

/** The reason why something may not be delegated. */
type ForbiddenDelegation =
  | "delegation-not-permitted"
  | "peer-not-configured"
  | "agent-not-allowed"
  | "not-delegable";

/** 403: the caller is known, but may not delegate this to that agent. */
export function delegationForbidden(reason: ForbiddenDelegation, message: string): Refusal {
  return refusal(403, "delegation-forbidden", message, { carried: { reason } });
}
