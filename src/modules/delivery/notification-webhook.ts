/** A notification as a webhook is told of it: everything in the body, which is what is signed. */

import type { OutgoingMessage } from "../../dispatch/module/webhook-queue.ts";
import type { Delivery, Notification, Recipient } from "./notification.ts";

/** One recipient of a notification. */
export interface WebhookNotice {
  readonly notification: Notification;
  readonly recipient: Recipient;
  readonly delivery: Delivery | undefined;
  readonly content: unknown;
  readonly serverId: string;
}

/** The message for a webhook; none for anybody else. */
export function buildWebhookMessage(notice: WebhookNotice): readonly OutgoingMessage[] {
  const { notification, recipient, delivery, content, serverId } = notice;
  if (recipient.kind !== "webhook" || delivery?.kind !== "webhook") return [];
  const { id, sender, senderName, urgency, guarantee, sentAt, expiresAt } = notification;
  const body = {
    type: "notification",
    delivery_id: delivery.deliveryId,
    notification_id: id,
    server_id: serverId,
    sender: { agent_id: sender, name: senderName },
    recipient: recipient.name,
    urgency,
    delivery_guarantee: guarantee,
    sent_at: new Date(sentAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    content,
  };
  const isOnce = guarantee === "at_most_once";
  return [{ id: delivery.deliveryId, url: recipient.url, body, expiresAt, isOnce, owner: sender }];
}
