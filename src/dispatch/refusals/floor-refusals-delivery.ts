/** The refusals of NOTIFY where there is too much of it.   AGTP "Status Codes" */
import { type Refusal, refusal } from "./refusal.ts";

/** 429: the sender has notified too often within a minute. */
export function tooManyNotifications(retryAfterSeconds: number): Refusal {
  const message = `too many notifications, try again in ${retryAfterSeconds} seconds`;
  const carried = { scope: "notify", retry_after_seconds: retryAfterSeconds };
  return refusal(429, "rate-limited", message, { carried });
}

/** 429: what the sender has sent and nobody has looked at is enough. */
export function tooManyUnread(): Refusal {
  const message = "too many of the sender's notifications are neither confirmed nor expired";
  return refusal(429, "rate-limited", message, { carried: { scope: "notify" } });
}

/** 429: not one recipient has room for more. */
export function recipientsFull(receipts: readonly unknown[]): Refusal {
  const message = "no recipient of the notification has room for more";
  const carried = { scope: "recipient" };
  return refusal(429, "rate-limited", message, { carried, details: { receipts } });
}
