/** Notifications and what their recipients say of them, as they lie in the store. */
import { isRecord } from "../../base/json-value.ts";
import { readAll } from "../../state/read-all.ts";
import type { Change, Store } from "../../state/store.ts";
import type { Confirmation, Notification } from "./notification.ts";

/** By serial, and so in the order in which they came; each with its content. */
export const NOTIFICATIONS = "notifications";
const CONFIRMATIONS = "notification-confirmations";

/** What one recipient said. */
export interface StoredConfirmation {
  readonly serial: string;
  readonly agentId: string;
  readonly confirmation: Confirmation;
}

/** All that an earlier process kept; the oldest first. */
export async function readStored(store: Store): Promise<{
  readonly notifications: readonly Notification[];
  readonly confirmations: readonly StoredConfirmation[];
}> {
  const notifications: Notification[] = [];
  for await (const { value } of readAll(store, NOTIFICATIONS)) {
    const notification = readNotification(value);
    if (notification !== undefined) notifications.push(notification);
  }
  const said = await store.list(CONFIRMATIONS);
  const confirmations = said.flatMap(({ key, value }) => {
    const [serial = "", agentId = ""] = key.split("/");
    const confirmation = readConfirmation(value);
    return confirmation === undefined ? [] : [{ serial, agentId, confirmation }];
  });
  return { notifications, confirmations };
}

/** Keeps it with its content. */
export function putNotification(notification: Notification, content: unknown): Change {
  const { serial } = notification;
  const value = { ...notification, content };
  return { kind: "put", collection: NOTIFICATIONS, key: serial, value };
}

/** Forgets it; what was said of it is deleted for itself. */
export function deleteNotification(serial: string): Change {
  return { kind: "delete", collection: NOTIFICATIONS, key: serial };
}

/** Replaces what the recipient said before. */
export function putConfirmation({ serial, agentId, confirmation }: StoredConfirmation): Change {
  const key = `${serial}/${agentId}`;
  return { kind: "put", collection: CONFIRMATIONS, key, value: confirmation };
}

/** Forgets what a recipient said. */
export function deleteConfirmation(serial: string, agentId: string): Change {
  return { kind: "delete", collection: CONFIRMATIONS, key: `${serial}/${agentId}` };
}

function readNotification(value: unknown): Notification | undefined {
  if (!isRecord(value)) return undefined;
  const { content: _, ...notification } = value;
  const { serial, id, fingerprint, sender, sentAt, expiresAt, deliveries } = notification;
  const isWhole =
    typeof serial === "string" &&
    typeof id === "string" &&
    typeof fingerprint === "string" &&
    typeof sender === "string" &&
    typeof sentAt === "number" &&
    typeof expiresAt === "number" &&
    Array.isArray(deliveries);
  return isWhole ? (notification as unknown as Notification) : undefined;
}

function readConfirmation(value: unknown): Confirmation | undefined {
  if (!isRecord(value)) return undefined;
  const { attestationId, status, at } = value;
  const isWhole =
    typeof attestationId === "string" && typeof status === "string" && typeof at === "number";
  return isWhole ? (value as unknown as Confirmation) : undefined;
}
