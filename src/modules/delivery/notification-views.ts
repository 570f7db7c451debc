/**
 * Views of notifications: for the sender the receipt for each recipient, as accepted (the answer of NOTIFY and of its
 * repetitions) and as current (INSPECT and QUERY); for the recipient the entry in the inbox. Each agent sees only its
 * own.
 * AGTP "NOTIFY", "QUERY"
 */

import type { QueryCaller, QueryEntry, QuerySource } from "../../dispatch/module/query-source.ts";
import { type InboxEntry, isRead } from "./inboxes.ts";
import type { Delivery, Notification, Recipient } from "./notification.ts";
import type { NotificationRegister } from "./notification-register.ts";
import { isUnnamed } from "./recipients.ts";
import type { DeliveryState } from "./webhook-delivery.ts";
import type { WebhookOutbox } from "./webhook-outbox.ts";

/** The state of a notification for one recipient. */
interface RecipientReceipt {
  readonly recipient: Recipient["name"];
  readonly state: DeliveryState;
  readonly [detail: string]: unknown;
}

/** The registers that receipts are read from. */
export interface ReceiptSources {
  readonly register: Pick<NotificationRegister, "entryOf" | "now">;
  readonly outbox: Pick<WebhookOutbox, "find">;
}

/** The receipt at the time of acceptance. */
export function acceptedReceipt(notification: Notification): Readonly<Record<string, unknown>> {
  return receipt(notification, notification.deliveries.map(acceptedState));
}

/** The current receipt. */
export function currentReceipt(
  notification: Notification,
  sources: ReceiptSources,
): Readonly<Record<string, unknown>> {
  const states = notification.deliveries.map((one) => currentState(notification, one, sources));
  return receipt(notification, states);
}

function receipt(
  notification: Notification,
  receipts: readonly RecipientReceipt[],
): Readonly<Record<string, unknown>> {
  const { id, recipient, urgency, guarantee, sentAt, expiresAt } = notification;
  const state = stateOf(receipts);
  return {
    notification_id: id,
    recipient,
    urgency,
    delivery_guarantee: guarantee,
    sent_at: timeOf(sentAt),
    expires_at: timeOf(expiresAt),
    state,
    delivered: state === "delivered",
    receipts,
  };
}

/** `partial` if some recipients get the notification, or got it, and others do not. */
function stateOf(receipts: readonly RecipientReceipt[]): DeliveryState | "partial" {
  const states = new Set(receipts.map(({ state }) => state));
  const [first = "failed", ...others] = states;
  if (others.length === 0) return first;
  return states.has("failed") || states.has("expired") ? "partial" : "queued";
}

/** The state for one recipient at the time of acceptance. */
export function acceptedState(delivery: Delivery): RecipientReceipt {
  const { kind, name: recipient } = delivery;
  switch (kind) {
    case "none":
      return { recipient, state: "failed", reason: delivery.reason };
    case "inbox":
      return { recipient, ...agentOf(delivery), state: "delivered" };
    case "webhook":
      return { recipient, state: "queued" };
  }
}

/** The receiving agent, unless it is hidden from the sender. */
function agentOf(delivery: Extract<Delivery, { readonly kind: "inbox" }>): object {
  return isUnnamed(delivery) ? {} : { agent_id: delivery.agentId };
}

function currentState(
  notification: Notification,
  delivery: Delivery,
  { register, outbox }: ReceiptSources,
): RecipientReceipt {
  const { kind, name: recipient } = delivery;
  const { serial, expiresAt, sentAt } = notification;
  if (kind === "none") return acceptedState(delivery);
  if (kind === "inbox") {
    const { agentId } = delivery;
    const entry = register.entryOf(serial, agentId);
    const said = entry?.confirmation;
    const isDone = entry !== undefined && isRead(entry);
    const isExpired = !isDone && register.now() >= expiresAt;
    const delivered = { delivered_at: timeOf(sentAt) };
    const confirmed = said && { status: said.status, reason: said.reason, at: timeOf(said.at) };
    return {
      ...{ recipient, ...agentOf(delivery), state: isExpired ? "expired" : "delivered" },
      ...delivered,
      ...(confirmed === undefined ? {} : { confirmation: confirmed }),
    };
  }
  const sent = outbox.find(delivery.deliveryId);
  if (sent === undefined) return { recipient, state: "expired" };
  const { state, attempts, at, reason } = sent;
  const since = state === "queued" ? "next_attempt_at" : `${state}_at`;
  const failure = reason === undefined ? {} : { reason };
  return { recipient, state, attempts, [since]: timeOf(at), ...failure };
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}

interface NotificationSourceOptions extends ReceiptSources {
  readonly register: NotificationRegister;
}

const MAX_ENTRIES = 100;

/** The QUERY sources of inbox entries and of sent notifications. */
export function notificationSources(options: NotificationSourceOptions): readonly QuerySource[] {
  return [
    { name: "inbox", entries: (asker) => inboxEntries(options, asker) },
    { name: "notification", entries: (asker) => sentEntries(options, asker) },
  ];
}

async function inboxEntries(
  { register }: NotificationSourceOptions,
  asker: QueryCaller,
): Promise<readonly QueryEntry[]> {
  const agentId = hostedCaller(asker);
  if (agentId === undefined) return [];
  const shown = register.inboxOf(agentId).slice(0, MAX_ENTRIES);
  const found = await Promise.all(shown.map((entry) => readInboxEntry(register, entry)));
  return found.flatMap((content) => {
    if (content === undefined) return [];
    const { delivery_id: id, content: said, sender, urgency } = content;
    return [{ id: String(id), texts: [said, sender, urgency], content }];
  });
}

/** An entry as its agent reads it; undefined until its content is stored. */
export async function readInboxEntry(
  register: Pick<NotificationRegister, "contentOf">,
  entry: InboxEntry,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { notification, confirmation } = entry;
  const content = await register.contentOf(notification.serial);
  if (content === undefined) return undefined;
  const { serial, id, sender, senderName, urgency, sentAt, expiresAt } = notification;
  return {
    delivery_id: serial,
    notification_id: id,
    status: isRead(entry) ? "read" : "unread",
    sender: { agent_id: sender, name: senderName },
    urgency,
    sent_at: new Date(sentAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    ...(confirmation === undefined ? {} : { confirmation: confirmation.status }),
    content,
  };
}

async function sentEntries(
  options: NotificationSourceOptions,
  asker: QueryCaller,
): Promise<readonly QueryEntry[]> {
  const agentId = hostedCaller(asker);
  if (agentId === undefined) return [];
  const sent = options.register.sentBy(agentId).slice(0, MAX_ENTRIES);
  return sent.map((notification) => {
    const { serial, id, recipient, urgency } = notification;
    const content = currentReceipt(notification, options);
    return { id: serial, texts: [id, recipient, urgency], content };
  });
}

/** Agents not hosted here have no inbox and have sent nothing. */
function hostedCaller({ caller }: QueryCaller): string | undefined {
  return caller.document === undefined ? undefined : caller.agentId;
}
