/**
 * An escalation that asks for approval of a single call: the call, the digest that binds the approval to it, and the
 * approval's one use. A used approval stays used, whatever the outcome of the call.   docs/approvals.md
 */

import type { Held } from "../holders.ts";

/** The call, as it is digested and shown to operators; keys are the wire's own. */
export interface ApprovedCall {
  readonly agent: string;
  /** From a validated credential; null without one. */
  readonly principal: string | null;
  readonly method: string;
  readonly path: string;
  /** `sha256:` of the endpoint's entry in the manifest. */
  readonly endpoint_version: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** `sha256:` of the rules and of the endpoint's key. */
  readonly policy_version: string;
  /** RFC 3339. */
  readonly expires_at: string;
  readonly nonce: string;
}

/** An approval: the call that it permits, and its use. */
export interface Approval {
  /** `sha256:` over the call in canonical form. */
  readonly digest: string;
  readonly nonce: string;
  /** A digest of the agents on whose behalf the call is made; undefined: none. */
  readonly behalf?: string;
  /** The account whose quota of open questions it counts against. */
  readonly payer: string;
  readonly use?: ApprovalUse;
  /** Set if the call has begun, and its upstream needs an answer before it continues. */
  readonly question?: CallQuestion;
}

interface CallQuestion {
  /** The schema of the answer; untrusted, so bounded and checked. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The upstream's state for continuing, hidden from agents and operators. */
  readonly resume: Readonly<Record<string, unknown>>;
}

/** The call that used an approval, and the process that makes it. */
export interface ApprovalUse extends Held {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The Response-ID of the answer, which leads to its record. */
  readonly responseId: string;
  /** Undefined until the outcome is known, or known to be lost. */
  readonly outcome?: ApprovalOutcome;
}

/** The outcome of the call; without a status it is lost. */
export interface ApprovalOutcome {
  readonly status?: number;
  readonly auditId?: string;
}

/** Returns the view of a use; keys are the wire's own. */
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
