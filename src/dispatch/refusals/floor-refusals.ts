/**
 * Refusals of floor methods: the quotas of NOTIFY, and EXECUTE, SUMMARIZE and PLAN without a
 * result.   AGTP "NOTIFY", "EXECUTE", "SUMMARIZE", "PLAN"
 */
import { clip } from "../../base/json-value.ts";
import { type Refusal, refusal, refuseFor } from "./refusal.ts";

/** 429: the sender has sent too many notifications within a minute. */
export function tooManyNotifications(retryAfterSeconds: number): Refusal {
  const message = `too many notifications, try again in ${retryAfterSeconds} seconds`;
  const carried = { scope: "notify", retry_after_seconds: retryAfterSeconds };
  return refusal(429, "rate-limited", message, { carried });
}

/** 429: too many of the sender's notifications are unread. */
export function tooManyUnread(): Refusal {
  const message = "too many of the sender's notifications are neither confirmed nor expired";
  return refusal(429, "rate-limited", message, { carried: { scope: "notify" } });
}

/** 429: the issuer of an agent has reached the limit of revoked certificates. */
export function tooManyRevocations(): Refusal {
  const message =
    "too many certificates of the agent are revoked, and only an operator revokes more";
  return refusal(429, "rate-limited", message, { carried: { scope: "notify" } });
}

/** 429: no recipient has room for another notification. */
export function recipientsFull(receipts: readonly unknown[]): Refusal {
  const message = "no recipient of the notification has room for more";
  const carried = { scope: "recipient" };
  return refusal(429, "rate-limited", message, { carried, details: { receipts } });
}

/**
 * 404: no endpoint, tool or executable agent has this name; similar names are suggested. `why` is
 * set if an agent of that name exists but cannot be executed.
 */
export function actionNotFound(
  action: string,
  suggestions: readonly string[],
  why?: string,
): Refusal {
  const shown = clip(action, 100);
  const message = why ?? `no action is called ${JSON.stringify(shown)}`;
  return refusal(404, "action-not-found", message, { carried: { action: shown, suggestions } });
}

/** 422: the server does not read this source for anybody. */
export function sourceRefused(message: string): Refusal {
  return refusal(422, "source-refused", message);
}

/** 422: the source could not be read, or is empty. */
export function sourceUnreadable(message: string, details?: unknown): Refusal {
  return refusal(422, "source-unreadable", message, { details });
}

/** 422: no sequence of calls that the caller may make leads to its goal. */
export function noPlan(explanation: string, more: Readonly<Record<string, unknown>>): Refusal {
  return refuseFor(422, "no-plan", explanation, { explanation, ...more });
}
