/**
 * A notification as it is kept: who sent it, to whom, until when it counts, and what became of it
 * for each recipient at the moment it was accepted. It never changes; what happens later is kept
 * beside it.   AGTP "NOTIFY"
 */
import type { CollectionOptions } from "../../state/collection-options.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Change } from "../../state/store.ts";
import { deleteMessage } from "./webhook-delivery.ts";

/** The urgency: how soon somebody should look.   AGTP "NOTIFY" */
export const URGENCIES = ["critical", "informational", "background"] as const;
export type Urgency = (typeof URGENCIES)[number];

/** The promises of delivery.   AGTP "NOTIFY" */
export const GUARANTEES = ["at_most_once", "at_least_once", "exactly_once"] as const;
export type Guarantee = (typeof GUARANTEES)[number];

export type Recipient =
  | { readonly kind: "agent"; readonly name: string; readonly agentId: string }
  | { readonly kind: "webhook"; readonly name: string; readonly url: string }
  | {
      readonly kind: "nobody";
      readonly name: string;
      readonly reason: UndeliveredReason;
      /** The agent that is there no more. */
      readonly agentId?: string;
    };

type UndeliveredReason =
  | "recipient-not-found"
  | "agent-retired"
  | "inbox-full"
  | "webhook-queue-full";

/** The outcome of a notification for one recipient when it was accepted. */
export type Delivery =
  | { readonly kind: "inbox"; readonly name: string; readonly agentId: string }
  | { readonly kind: "webhook"; readonly name: string; readonly deliveryId: string }
  | { readonly kind: "none"; readonly name: string; readonly reason: UndeliveredReason };

/** A notification without its content. Times are milliseconds since the epoch. */
export interface Notification {
  /** This server's own, in the order in which notifications came. */
  readonly serial: string;
  /** The sender's, or else the serial. */
  readonly id: string;
  /** True if the sender chose the id, and can repeat it. */
  readonly isNamed: boolean;
  /** Equal for two notifications that say the same. */
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

/** The word of a recipient on a notification.   AGTP "CONFIRM" */
export interface Confirmation {
  readonly attestationId: string;
  readonly status: "accepted" | "rejected" | "deferred";
  readonly reason?: string;
  readonly at: number;
}

/** A notification that a sender wants delivered. */
export interface NotificationDraft
  extends Omit<Notification, "serial" | "id" | "isNamed" | "deliveries"> {
  /** Undefined: the sender has none, and gets the server's. */
  readonly id: string | undefined;
  readonly recipients: readonly Recipient[];
  readonly content: unknown;
  /** As webhooks are told. */
  readonly serverId: string;
}

export type Acceptance =
  | { readonly kind: "accepted"; readonly notification: Notification }
  /** Nobody gets it, and nothing is kept. */
  | { readonly kind: "undelivered"; readonly deliveries: readonly Delivery[] }
  /** Another process has kept one of this sender and id before. */
  | { readonly kind: "taken"; readonly notification: Notification }
  /** The sender has too much that is not done with. */
  | { readonly kind: "full" };

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
    const key = nameOf(sender, id);
    return isNamed ? [...changes, { kind: "delete", collection: NAMES, key }] : changes;
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
