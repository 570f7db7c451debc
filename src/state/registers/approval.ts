/**
 * The form of an escalation that asks for the approval of one call: the call itself, the digest
 * that it is bound to, and the one use that an approval has. An approval that was used stays so,
 * whatever became of the call.   docs/approvals.md
 */

import type { Held } from "../holders.ts";

/** The call, as its digest is taken over it and as operators read it; keys are the wire's own. */
export interface ApprovedCall {
  readonly agent: string;
  /** From a validated credential; null without one. */
  readonly principal: string | null;
  readonly method: string;
  readonly path: string;
  /** `sha256:` of the endpoint as the manifest shows it. */
  readonly endpoint_version: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** `sha256:` of the rules and of the endpoint's own key. */
  readonly policy_version: string;
  /** RFC 3339. */
  readonly expires_at: string;
  readonly nonce: string;
}

/** An approval: the call that it is good for, and its use. */
export interface Approval {
  /** `sha256:` over the canonical form of the call. */
  readonly digest: string;
  readonly nonce: string;
  /** A digest of those for whom its agent makes the call; undefined: for itself. */
  readonly behalf?: string;
  /** Whose share of open questions it counts for. */
  readonly payer: string;
  readonly use?: ApprovalUse;
  /** Set where the call itself was begun, and its upstream asks for something before it goes on. */
  readonly question?: CallQuestion;
}

interface CallQuestion {
  /** The schema of an answer; a stranger's, bounded and checked. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** How the upstream goes on; neither agents nor operators see it. */
  readonly resume: Readonly<Record<string, unknown>>;
}

/** The call that was begun under an approval, and the process that has it. */
export interface ApprovalUse extends Held {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The Response-ID of the answer, by which its record can be found. */
  readonly responseId: string;
  /** Undefined until it is known, or known that nobody knows. */
  readonly outcome?: ApprovalOutcome;
}

/** How the call was answered; without a status nobody knows. */
export interface ApprovalOutcome {
  readonly status?: number;
  readonly auditId?: string;
}

/** A use as it can be shown; keys are the wire's own. */
export function useView(
  { at, responseId, outcome }: ApprovalUse,
  isRunning: boolean,
): Record<string, unknown> {
  const { status, auditId } = outcome ?? {};
  const known = status === undefined ? "unknown" : "answered";
  return {
    used_at: new Date(at).toISOString(),
    response_id: responseId,
    outcome: isRunning ? "running" : known,
    ...(status === undefined ? {} : { outcome_status: status }),
    ...(auditId === undefined ? {} : { audit_id: auditId }),
  };
}
