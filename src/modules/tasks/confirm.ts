/**
 * CONFIRM: a word that something waits for. Whoever keeps such things is asked in turn.
 * 404 nothing that waits has this id · 422 malformed; the rest is for the kind of approval.   AGTP "CONFIRM"
 */

import type { ApprovalKind } from "../../dispatch/approvals/approval-kind.ts";
import { CONFIRM_SCHEMA, readConfirmation } from "../../dispatch/approvals/confirmation.ts";
import type { FloorMethod } from "../../dispatch/floor.ts";
import { notFound } from "../../dispatch/refusals/refusal.ts";

/** CONFIRM on "/"; operators may be known by their certificate alone. */
export function confirmMethod(approvals: () => readonly ApprovalKind[]): FloorMethod {
  return {
    inputSchema: CONFIRM_SCHEMA,
    takesCertificate: true,
    looksUp: ["target_id", "escalation_id", "notification_id", "attestation_target"],
    handler: async (call, exchange) => {
      const confirmation = readConfirmation(call);
      if ("kind" in confirmation) return confirmation;
      for (const kind of approvals()) {
        const answer = await kind.confirm(call, exchange);
        if (answer !== undefined) return answer;
      }
      return notFound("record-not-found", "nothing that can be confirmed has this target_id");
    },
  };
}
