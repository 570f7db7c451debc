/**
 * Refusals of NOTIFY where there is too much of it, of EXECUTE, and of SUMMARIZE and PLAN without
 * an answer.   AGTP "NOTIFY", "EXECUTE", "SUMMARIZE", "PLAN"
 */
import { clip } from "../../base/json-value.ts";
import { type Refusal, refusal, refuseFor } from "./refusal.ts";

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

/** 429: the issuer of an agent has revoked as many of its certificates as are taken from one. */
export function tooManyRevocations(): Refusal {
  const message =
    "too many certificates of the agent are revoked, and only an operator revokes more";
  return refusal(429, "rate-limited", message, { carried: { scope: "notify" } });
}

/** 429: not one recipient has room for more. */
export function recipientsFull(receipts: readonly unknown[]): Refusal {
  const message = "no recipient of the notification has room for more";
  const carried = { scope: "recipient" };
  return refusal(429, "rate-limited", message, { carried, details: { receipts } });
}

/**
 * 404: no endpoint or tool is called so, and no agent that is executed here; what comes close is named.
 * `why`: there is an agent of that name, and it cannot be.
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

/** 422: a source that this server does not read, whoever asks. */
export function sourceRefused(message: string): Refusal {
  return refusal(422, "source-refused", message);
}

/** 422: a source that could not be read, or has nothing in it. */
export function sourceUnreadable(message: string, details?: unknown): Refusal {
  return refusal(422, "source-unreadable", message, { details });
}

/** 422: nothing that the caller may call leads to its goal. */
export function noPlan(explanation: string, more: Readonly<Record<string, unknown>>): Refusal {
  return refuseFor(422, "no-plan", explanation, { explanation, ...more });
}
