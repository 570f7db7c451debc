/**
 * Notifications and what their recipients say of them, as they lie in the store. With a notification
 * goes everything that was kept for it.
 */
import type { CollectionOptions } from "../../state/collection-view.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Change } from "../../state/store.ts";
import type { Confirmation, Delivery, Notification } from "./notification.ts";
import { deleteMessage } from "./webhook-storage.ts";

/** By serial, and so in the order in which they came; each with its content. */
export const NOTIFICATIONS = "notifications";
const CONFIRMATIONS = "notification-confirmations";
const NAMES = "notification-names";

const REMEMBERED_MS = 86_400_000;

/** A notification as it is written; its content is read for itself. */
export type StoredNotification = Notification & { readonly content?: unknown };

/** Every notification; its sender's names for it are found by `nameOf`. */
export const NOTIFICATION_COLLECTION: CollectionOptions<Notification> = {
  name: NOTIFICATIONS,
  read: readNotification,
  ownerOf: ({ sender }) => sender,
  indexes: { name: ({ sender, id }) => nameOf(sender, id) },
  forgottenAt: ({ expiresAt }) => expiresAt + REMEMBERED_MS,
  // How much each sender has under way is counted in deliveries.
  sizeOf: ({ deliveries }) => deliveries.length,
  changesOnDelete: ({ serial, sender, id, isNamed, deliveries }) => {
    const changes = deliveries.flatMap((delivery) => changesWith(serial, delivery));
    return isNamed ? [...changes, deleteName(nameOf(sender, id))] : changes;
  },
};

/** A name that a sender has given, so that no other process takes a notification by the same. */
export interface KeptName {
  readonly serial: string;
  /** Milliseconds since the epoch. */
  readonly forgottenAt: number;
}

/** By `nameOf`; each goes with its notification. */
export const NAME_COLLECTION: CollectionOptions<KeptName> = {
  name: NAMES,
  read: recordReader<KeptName>({ serial: "string", forgottenAt: "number" }),
  forgottenAt: ({ forgottenAt }) => forgottenAt,
};

/** The name of a notification, as it is kept. */
export function keptNameOf({ serial, expiresAt }: Notification): KeptName {
  return { serial, forgottenAt: expiresAt + REMEMBERED_MS };
}

/** The last word of each recipient, by `confirmationKey`. */
export const CONFIRMATION_COLLECTION: CollectionOptions<Confirmation> = {
  name: CONFIRMATIONS,
  read: recordReader<Confirmation>({ attestationId: "string", status: "string", at: "number" }),
};

/** No Agent-ID has a slash. */
export function nameOf(sender: string, id: string): string {
  return `${sender}/${id}`;
}

/** The key of an agent's word for a notification. */
export function confirmationKey(serial: string, agentId: string): string {
  return `${serial}/${agentId}`;
}

/** The notification and the agent of a confirmation's key. */
export function readConfirmationKey(key: string): readonly [serial: string, agentId: string] {
  const [serial = "", agentId = ""] = key.split("/");
  return [serial, agentId];
}

function deleteName(key: string): Change {
  return { kind: "delete", collection: NAMES, key };
}

/** Entries of a delivery that go with its notification. */
function changesWith(serial: string, delivery: Delivery): readonly Change[] {
  switch (delivery.kind) {
    case "none":
      return [];
    case "webhook":
      return deleteMessage(delivery.deliveryId);
    case "inbox": {
      const key = confirmationKey(serial, delivery.agentId);
      return [{ kind: "delete", collection: CONFIRMATIONS, key }];
    }
  }
}

const readWhole = recordReader<StoredNotification>({
  ...{ serial: "string", id: "string", fingerprint: "string", sender: "string" },
  ...{ sentAt: "number", expiresAt: "number", deliveries: "array" },
});

function readNotification(value: unknown): Notification | undefined {
  const whole = readWhole(value);
  if (whole === undefined) return undefined;
  const { content: _, ...notification } = whole;
  return notification;
}
