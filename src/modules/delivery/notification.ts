/**
 * A stored notification: sender, recipients, expiry, and the outcome for each recipient at the time of acceptance. It
 * never changes; later events are stored beside it.   AGTP "NOTIFY"
 */
import type { CollectionOptions } from "../../state/collection-options.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Change } from "../../state/store.ts";
import { deleteMessage } from "./webhook-delivery.ts";

/** The urgency of a notification.   AGTP "NOTIFY" */
export const URGENCIES = ["critical", "informational", "background"] as const;
export type Urgency = (typeof URGENCIES)[number];

/** The delivery guarantees.   AGTP "NOTIFY" */
export const GUARANTEES = ["at_most_once", "at_least_once", "exactly_once"] as const;
export type Guarantee = (typeof GUARANTEES)[number];

export type Recipient =
  | { readonly kind: "agent"; readonly name: string; readonly agentId: string }
  | { readonly kind: "webhook"; readonly name: string; readonly url: string }
  | {
      readonly kind: "nobody";
      readonly name: string;
      readonly reason: UndeliveredReason;
      /** The retired agent. */
      readonly agentId?: string;
    };

type UndeliveredReason =
  | "recipient-not-found"
  | "agent-retired"
  | "inbox-full"
  | "webhook-queue-full";

/** The outcome for one recipient at the time of acceptance. */
export type Delivery =
  | { readonly kind: "inbox"; readonly name: string; readonly agentId: string }
  | { readonly kind: "webhook"; readonly name: string; readonly deliveryId: string }
  | { readonly kind: "none"; readonly name: string; readonly reason: UndeliveredReason };

/** A notification without its content. Times are milliseconds since the epoch. */
export interface Notification {
  /** The server's id, in order of acceptance. */
  readonly serial: string;
  /** The sender's id, or else the serial. */
  readonly id: string;
  /** True if the sender chose the id, and so can repeat it. */
  readonly isNamed: boolean;
  /** A hash that is equal for notifications with the same content and parameters. */
  readonly fingerprint: string;
  readonly sender: string;
  readonly senderName: string;
  /** As the sender wrote it. */
  readonly recipient: string | readonly string[];
  readonly urgency: Urgency;
  readonly guarantee: Guarantee;
  readonly sentAt: number;
  readonly expiresAt: number;
  readonly deliveries: readonly Delivery[];
}

/** A recipient's confirmation of a notification.   AGTP "CONFIRM" */
export interface Confirmation {
  readonly attestationId: string;
  readonly status: "accepted" | "rejected" | "deferred";
  readonly reason?: string;
  readonly at: number;
}

/** A notification to be delivered. */
export interface NotificationDraft
  extends Omit<Notification, "serial" | "id" | "isNamed" | "deliveries"> {
  /** Undefined: the sender chose no id, so the serial is used. */
  readonly id: string | undefined;
  readonly recipients: readonly Recipient[];
  readonly content: unknown;
  /** Included in webhook messages. */
  readonly serverId: string;
}

export type Acceptance =
  | { readonly kind: "accepted"; readonly notification: Notification }
  /** No recipient gets it, and nothing is stored. */
  | { readonly kind: "undelivered"; readonly deliveries: readonly Delivery[] }
  /** Another process has stored a notification with this sender and id. */
  | { readonly kind: "taken"; readonly notification: Notification }
  /** The sender has too many deliveries that are not done. */
  | { readonly kind: "full" };

/** Notifications with their content, by serial and thus in order of acceptance. */
export const NOTIFICATIONS = "notifications";
const CONFIRMATIONS = "notification-confirmations";
const NAMES = "notification-names";

const REMEMBERED_MS = 86_400_000;

/** A notification as stored; its content is read separately. */
export type StoredNotification = Notification & { readonly content?: unknown };

/** The notifications; a sender's id finds its own by `nameOf`. */
export const NOTIFICATION_COLLECTION: CollectionOptions<Notification> = {
  name: NOTIFICATIONS,
  read: readNotification,
  ownerOf: ({ sender }) => sender,
  indexes: { name: ({ sender, id }) => nameOf(sender, id) },
  forgottenAt: ({ expiresAt }) => expiresAt + REMEMBERED_MS,
  // The quota of each sender counts deliveries.
  sizeOf: ({ deliveries }) => deliveries.length,
  changesOnDelete: ({ serial, sender, id, isNamed, deliveries }) => {
    const changes = deliveries.flatMap((delivery) => changesWith(serial, delivery));
    const key = nameOf(sender, id);
    return isNamed ? [...changes, { kind: "delete", collection: NAMES, key }] : changes;
  },
};

/** A sender's id of a notification, stored so that no other process accepts it again. */
export interface KeptName {
  readonly serial: string;
  /** Milliseconds since the epoch. */
  readonly forgottenAt: number;
}

/** Names by `nameOf`; each is deleted with its notification. */
export const NAME_COLLECTION: CollectionOptions<KeptName> = {
  name: NAMES,
  read: recordReader<KeptName>({ serial: "string", forgottenAt: "number" }),
  forgottenAt: ({ forgottenAt }) => forgottenAt,
};

/** The stored name of a notification. */
export function keptNameOf({ serial, expiresAt }: Notification): KeptName {
  return { serial, forgottenAt: expiresAt + REMEMBERED_MS };
}

/** The last confirmation of each recipient, by `confirmationKey`. */
export const CONFIRMATION_COLLECTION: CollectionOptions<Confirmation> = {
  name: CONFIRMATIONS,
  read: recordReader<Confirmation>({ attestationId: "string", status: "string", at: "number" }),
};

/** The key of a sender's id; an Agent-ID contains no slash. */
export function nameOf(sender: string, id: string): string {
  return `${sender}/${id}`;
}

/** The key of an agent's confirmation of a notification. */
export function confirmationKey(serial: string, agentId: string): string {
  return `${serial}/${agentId}`;
}

/** Splits a confirmation's key into serial and Agent-ID. */
export function readConfirmationKey(key: string): readonly [serial: string, agentId: string] {
  const [serial = "", agentId = ""] = key.split("/");
  return [serial, agentId];
}

/** Deletions of what belongs to a delivery, made with its notification's. */
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
