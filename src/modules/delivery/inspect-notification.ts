/**
 * INSPECT `{target: "notification", notification_id}`: how a notification stands with each of its
 * recipients, for who sent it. 404 for everybody else.   AGTP "NOTIFY", "INSPECT"
 */

import { floorResult } from "../../dispatch/floor-result.ts";
import { notFound, type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import type { ExchangeView } from "../../dispatch/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { NotificationRegister } from "./notification-register.ts";
import { currentReceipt, type ReceiptSources } from "./receipt.ts";

/** The registers of receipts. */
export interface InspectNotificationOptions extends ReceiptSources {
  readonly register: Pick<NotificationRegister, "find" | "settled" | "entryOf" | "now">;
}

/** The sender's receipt as things stand now. */
export async function inspectNotification(
  sources: InspectNotificationOptions,
  call: Call,
  { caller: { agentId, document } }: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const { notification_id: id } = call.input;
  if (typeof id !== "string") {
    const message = "is required by this target";
    return schemaViolation([{ path: "/notification_id", keyword: "required", message }]);
  }
  const isKnown = agentId !== undefined && document !== undefined;
  const notification = isKnown ? sources.register.find(agentId, id) : undefined;
  if (notification === undefined) {
    return notFound("record-not-found", "this agent has sent no notification with this id");
  }
  await sources.register.settled(notification);
  return floorResult(call, { target: "notification", ...currentReceipt(notification, sources) });
}
