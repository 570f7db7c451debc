/**
 * The limits of notifications that nobody has looked at: for one recipient, and from one sender.
 * AGTP "NOTIFY"
 */

/** The limits of unread notifications in one inbox. */
export interface InboxLimits {
  readonly perInbox: number;
  readonly perSender: number;
}

/** All limits. */
export interface NotificationLimits extends InboxLimits {
  /** Deliveries of one sender that are remembered. */
  readonly perSenderKept: number;
}

export const DEFAULT_LIMITS: NotificationLimits = {
  perInbox: 1000,
  perSender: 200,
  perSenderKept: 10_000,
};

/** The most octets of a notification's content, as JSON. */
export const MAX_CONTENT_BYTES = 65_536;
