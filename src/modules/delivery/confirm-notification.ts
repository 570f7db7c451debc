/**
 * CONFIRM of a notification, by who got it: it is read, or rejected, and its sender can see that; or
 * deferred, and stays unread. What is said last counts. 422 malformed.   AGTP "CONFIRM", "NOTIFY"
 */

import type { ApprovalKind } from "../../dispatch/approvals/approval-kind.ts";
import { readConfirmation } from "../../dispatch/approvals/confirmation.ts";
import { floorResult } from "../../dispatch/floor-result.ts";
import { type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { Confirmation } from "./notification.ts";
import type { NotificationRegister } from "./notification-register.ts";

/** Takes confirmations of what lies in the caller's own inbox. */
export function notificationConfirmable(register: NotificationRegister): ApprovalKind {
  return {
    async confirm(call, { caller: { agentId, document } }) {
      if (agentId === undefined || document === undefined) return undefined;
      const word = readConfirmation(call);
      if ("kind" in word) return word;
      const { targetId: target, status, reason } = word;
      const found = register.inboxOf(agentId).filter(({ notification: { serial, id } }) => {
        return serial === target || id === target;
      });
      const [entry, ...others] = found;
      if (entry === undefined) return undefined;
      if (others.length > 0) return ambiguous();
      const { serial } = entry.notification;
      const said = { status, ...(reason === undefined ? {} : { reason }) };
      const confirmation = await register.confirm(serial, agentId, said);
      return answer(call, target, entry.notification.id, confirmation);
    },
  };
}

function answer(
  call: Call,
  target: string,
  id: string,
  { attestationId, status, at }: Confirmation,
): HandlerSuccess {
  return floorResult(call, {
    target_id: target,
    notification_id: id,
    status,
    attestation_id: attestationId,
    timestamp: new Date(at).toISOString(),
  });
}

function ambiguous(): Refusal {
  const message = "is the id of several senders' notifications, the delivery_id names one of them";
  return schemaViolation([{ path: "/target_id", keyword: "const", message }]);
}
