/**
 * CONFIRM of a notification, by who got it: it is read, or rejected, and its sender can see that; or
 * deferred, and stays unread. What is said last counts. 422 malformed.   AGTP "CONFIRM", "NOTIFY"
 */
import type { Confirmation } from "../delivery/notification.ts";
import type { NotificationRegister } from "../delivery/notification-register.ts";
import { type Refusal, schemaViolation } from "../dispatch/refusal.ts";
import type { Call, HandlerSuccess } from "../handlers/handler.ts";
import type { Confirmable } from "./confirmable.ts";
import { floorResult } from "./floor-result.ts";

const MAX_REASON_LENGTH = 1024;

/** Takes confirmations of what lies in the caller's own inbox. */
export function notificationConfirmable(register: NotificationRegister): Confirmable {
  return {
    async confirm(call, { caller: { agentId, document } }) {
      if (agentId === undefined || document === undefined) return undefined;
      const { target_id, attestation_target, notification_id } = call.input;
      const target = target_id ?? attestation_target ?? notification_id;
      const found = register.inboxOf(agentId).filter(({ notification: { serial, id } }) => {
        return serial === target || id === target;
      });
      const [entry, ...others] = found;
      if (entry === undefined) return undefined;
      if (others.length > 0) return ambiguous();
      const word = readWord(call);
      if ("kind" in word) return word;
      const { serial } = entry.notification;
      const confirmation = await register.confirm(serial, agentId, word);
      return answer(call, target, entry.notification.id, confirmation);
    },
  };
}

function answer(
  call: Call,
  target: unknown,
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

/** The draft's words, and those of the reference. */
const WORDS: Readonly<Record<string, Confirmation["status"]>> = {
  accepted: "accepted",
  confirmed: "accepted",
  approved: "accepted",
  rejected: "rejected",
  denied: "rejected",
  deferred: "deferred",
};

function readWord({ input }: Call): Pick<Confirmation, "status" | "reason"> | Refusal {
  const { status, decision, reason, rationale } = input;
  const word = String(status ?? decision ?? "accepted");
  const known = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
  if (known === undefined) {
    const message = 'must be one of "accepted", "rejected", "deferred"';
    return schemaViolation([{ path: "/status", keyword: "enum", message }]);
  }
  const why = reason ?? rationale;
  if (typeof why !== "string") return { status: known };
  return { status: known, reason: why.slice(0, MAX_REASON_LENGTH) };
}

function ambiguous(): Refusal {
  const message = "is the id of several senders' notifications, the delivery_id names one of them";
  return schemaViolation([{ path: "/target_id", keyword: "const", message }]);
}
