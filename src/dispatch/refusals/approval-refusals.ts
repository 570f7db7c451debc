/** Refusals of calls that need an approval and lack a valid one. */

import { given } from "../../base/json-value.ts";
import { useView } from "../../state/registers/approval.ts";
import type { Escalation } from "../../state/registers/escalation.ts";
import { type Refusal, refusal, refuseFor } from "./refusal.ts";

/** 262: an operator must approve the call first; the caller repeats it with the escalation's id. */
export function approvalRequired(escalation: Escalation): Refusal {
  const { escalationId, approval, deadlineAt, status } = escalation;
  const message =
    status === "accepted"
      ? "the call was approved: repeat it with this Escalation-ID"
      : "an operator has to approve the call: repeat it with this Escalation-ID once it was approved";
  return refusal(262, "approval-required", message, {
    carried: {
      ...{ type: "approval-required", explanation: message, escalation_id: escalationId },
      call_digest: approval?.digest,
      expires_at: new Date(deadlineAt).toISOString(),
      escalation_status: status,
      poll: { method: "QUERY", path: `/escalations/${escalationId}` },
    },
  });
}

/** 262: no operator is asked, because nobody could use the answer. */
export function approvalImpossible(message: string): Refusal {
  const carried = { type: "approval-required", explanation: message };
  return refusal(262, "approval-required", message, { carried });
}

/** 403: an operator rejected the call, or withdrew its approval. */
export function approvalRejected({ escalationId, approval, decision }: Escalation): Refusal {
  return refuseFor(403, "approval-rejected", "the call was not approved", {
    ...{ escalation_id: escalationId, call_digest: approval?.digest },
    ...given({ explanation: decision?.reason }),
  });
}

/** 409: the approval is for another call, and stays unused. */
export function approvalMismatch(escalationId: string, members: readonly string[]): Refusal {
  const what = members.length === 0 ? "another call" : `a call with another ${members.join(", ")}`;
  const message = `no approval for this call has this id: it is for ${what}`;
  const mismatched = members.length === 0 ? undefined : members;
  const carried = given({ escalation_id: escalationId, mismatched });
  return refuseFor(409, "approval-mismatch", message, carried);
}

/** 409: the approval was already used; `isRunning` and the outcome tell the state of its call. */
export function approvalUsed({ escalationId, approval }: Escalation, isRunning: boolean): Refusal {
  return refuseFor(409, "approval-used", "the approval was used, and is good for one call", {
    ...{ escalation_id: escalationId, call_digest: approval?.digest },
    ...(approval?.use === undefined ? { outcome: "running" } : useView(approval.use, isRunning)),
  });
}

/** 409: the call waits for its answer in another worker or node; the approval stays unused. */
export function approvalElsewhere({ escalationId, approval }: Escalation): Refusal {
  const message =
    "the call that asked waits in another worker or node: repeat it there, or over another connection";
  return refuseFor(409, "approval-elsewhere", message, {
    ...{ escalation_id: escalationId, call_digest: approval?.digest },
  });
}

/** 409: the approval or the question has expired. */
export function approvalExpired({ escalationId, approval, deadlineAt }: Escalation): Refusal {
  const message = "the approval's time is over: call without it to ask anew";
  return refuseFor(409, "approval-expired", message, {
    ...{ escalation_id: escalationId, call_digest: approval?.digest },
    expires_at: new Date(deadlineAt).toISOString(),
  });
}
