/**
 * A notification as it is kept: who sent it, to whom, until when it counts, and what became of it
 * for each recipient at the moment it was accepted. It never changes; what happens later is kept
 * beside it.   AGTP "NOTIFY"
 */

/** The urgency: how soon somebody should look.   AGTP "NOTIFY" */
export const URGENCIES = ["critical", "informational", "background"] as const;
export type Urgency = (typeof URGENCIES)[number];

/** The promises of delivery.   AGTP "NOTIFY" */
export const GUARANTEES = ["at_most_once", "at_least_once", "exactly_once"] as const;
export type Guarantee = (typeof GUARANTEES)[number];

/** Somebody a notification can be for. */
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

/** Why a recipient gets nothing. */
type UndeliveredReason =
  | "recipient-not-found"
  | "agent-retired"
  | "inbox-full"
  | "webhook-queue-full";

/** The outcome of a notification for one recipient when it was accepted. */
export type Delivery =
  /** It is in the inbox. */
  | { readonly kind: "inbox"; readonly name: string; readonly agentId: string }
  /** It waits in the outbox. */
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

/** The outcome of a draft. */
export type Acceptance =
  | { readonly kind: "accepted"; readonly notification: Notification }
  /** Nobody gets it, and nothing is kept. */
  | { readonly kind: "undelivered"; readonly deliveries: readonly Delivery[] }
  /** Another process has kept one of this sender and id before. */
  | { readonly kind: "taken"; readonly notification: Notification }
  /** The sender has too much that is not done with. */
  | { readonly kind: "full" };
