/** Notifications and what their recipients say of them, as they lie in the store. */
import { readAll } from "../../state/read-all.ts";
import type { Change, Store } from "../../state/store.ts";
import { recordReader } from "../../state/stored-record.ts";
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

const readWhole = recordReader<Notification & { readonly content?: unknown }>({
  ...{ serial: "string", id: "string", fingerprint: "string", sender: "string" },
  ...{ sentAt: "number", expiresAt: "number", deliveries: "array" },
});

function readNotification(value: unknown): Notification | undefined {
  const whole = readWhole(value);
  if (whole === undefined) return undefined;
  const { content: _, ...notification } = whole;
  return notification;
}

const readConfirmation = recordReader<Confirmation>({
  ...{ attestationId: "string", status: "string", at: "number" },
});
