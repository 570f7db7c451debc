/**
 * A webhook message as a state machine without a clock: queued, retried with growing pauses, then finally delivered,
 * failed or expired. An at-most-once message is tried once, even if the process ends meanwhile.   AGTP "NOTIFY"
 * delivery_guarantee
 */
import { pauseAfter } from "../../base/back-off.ts";
import type { OutgoingMessage } from "../../dispatch/module/webhook-queue.ts";
import type { CollectionOptions } from "../../state/collection-options.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Change } from "../../state/store.ts";

export type DeliveryState = "queued" | "delivered" | "failed" | "expired";

/** A message without its body. Times are milliseconds since the epoch. */
export interface WebhookDelivery {
  readonly id: string;
  readonly url: string;
  readonly expiresAt: number;
  /** True if it is tried only once. */
  readonly isOnce: boolean;
  /** Set for news, of which no sender asks the outcome. */
  readonly isNews?: true;
  /** The agent on whose behalf it is sent. */
  readonly owner?: string;
  readonly state: DeliveryState;
  /** Attempts started. */
  readonly attempts: number;
  /** The process that sends the message, if there are several. */
  readonly heldBy?: string;
  /** For a queued message, the time of its next attempt; otherwise the time of its final state. */
  readonly at: number;
  /** Why the last attempt failed. */
  readonly reason?: string;
}

export type AttemptOutcome =
  | { readonly kind: "taken" }
  | {
      readonly kind: "failed";
      /** The reason for the message's sender. */
      readonly reason: string;
      /** The details for the log. */
      readonly detail?: string;
    };

const LONGEST_PAUSE_MS = 15 * 60_000;
const BACK_OFF = { firstMs: 500, longestMs: LONGEST_PAUSE_MS };

/** The initial state of a message. */
export function newDelivery(
  { id, url, expiresAt, isOnce = false, isNews, owner }: OutgoingMessage,
  now: number,
): WebhookDelivery {
  const news = isNews === undefined ? {} : { isNews };
  const sender = owner === undefined ? {} : { owner };
  return { id, url, expiresAt, isOnce, ...news, ...sender, state: "queued", attempts: 0, at: now };
}

/** The pause after an attempt; `random` from 0 to 1 spreads the retries. */
export function scatteredPause(attempts: number, random: number): number {
  return Math.round(pauseAfter(attempts, BACK_OFF) * (0.5 + random / 2));
}

/** Tells whether its state can still change. */
export function isQueued({ state }: WebhookDelivery): boolean {
  return state === "queued";
}

/** Milliseconds until the next attempt. A wait longer than any pause means that the clock stepped, and counts as 0. */
export function waitFor({ at }: Pick<WebhookDelivery, "at">, now: number): number {
  const wait = at - now;
  return wait > LONGEST_PAUSE_MS ? 0 : Math.max(0, wait);
}

/** Starts an attempt. */
export function beginAttempt(delivery: WebhookDelivery): WebhookDelivery {
  return { ...delivery, attempts: delivery.attempts + 1 };
}

/** Ends an attempt with its outcome. */
export function endAttempt(
  delivery: WebhookDelivery,
  outcome: AttemptOutcome,
  { now, random }: { readonly now: number; readonly random: number },
): WebhookDelivery {
  if (!isQueued(delivery)) return delivery;
  if (outcome.kind === "taken") {
    const { reason: _, ...others } = delivery;
    return { ...others, state: "delivered", at: now };
  }
  const { reason } = outcome;
  if (delivery.isOnce) return { ...delivery, state: "failed", at: now, reason };
  // At its expiry, the message is due once more and expires.
  const at = Math.min(now + scatteredPause(delivery.attempts, random), delivery.expiresAt);
  return expire({ ...delivery, at, reason }, now);
}

/** The reason for a message whose URL is no longer configured. */
export const NO_SUCH_URL = "this server has no such webhook any more";

/** Postpones a message without counting an attempt. */
export function putOff(delivery: WebhookDelivery, now: number): WebhookDelivery {
  const at = Math.min(now + LONGEST_PAUSE_MS, delivery.expiresAt);
  return { ...delivery, at, reason: NO_SUCH_URL };
}

/** Expires a queued message after its expiry. */
export function expire(delivery: WebhookDelivery, now: number): WebhookDelivery {
  if (!isQueued(delivery) || now < delivery.expiresAt) return delivery;
  return { ...delivery, state: "expired", at: delivery.expiresAt };
}

/** Recovers a message of an ended process: a started attempt may have arrived, so an at-most-once message fails. */
export function recover(delivery: WebhookDelivery): WebhookDelivery {
  if (!isQueued(delivery) || !delivery.isOnce || delivery.attempts === 0) return delivery;
  return { ...delivery, state: "failed", reason: "the server ended while it was being sent" };
}

const STATES: readonly unknown[] = ["queued", "delivered", "failed", "expired"];

const readWhole = recordReader<WebhookDelivery>({
  ...{ id: "string", url: "string", expiresAt: "number", isOnce: "boolean" },
  ...{ attempts: "number", at: "number" },
});

/** Returns a stored delivery, or undefined if it is malformed. */
export function readDelivery(value: unknown): WebhookDelivery | undefined {
  const delivery = readWhole(value);
  return delivery !== undefined && STATES.includes(delivery.state) ? delivery : undefined;
}

/** Bodies by message id: written once, and deleted with the last attempt. */
export const BODIES = "webhook-bodies";
const DELIVERIES = "webhook-deliveries";

/** Outlasts the time for which notifications are remembered. */
const REMEMBERED_MS = 2 * 86_400_000;

/** The messages, in the order in which they are due. */
export const DELIVERY_COLLECTION: CollectionOptions<WebhookDelivery> = {
  name: DELIVERIES,
  read: readDelivery,
  orderOf: ({ at }) => at,
  forgottenAt: ({ expiresAt }) => expiresAt + REMEMBERED_MS,
  changesOnDelete: (_, id) => [deleteBody(id)],
  groups: {
    queued: (delivery) => (isQueued(delivery) ? "" : undefined),
    url: (delivery) => (isQueued(delivery) ? delivery.url : undefined),
    // Delivered or abandoned news, whose outcome is not queried.
    spent: (delivery) => (delivery.isNews && !isQueued(delivery) ? "" : undefined),
  },
};

/** Stores the body of a message. */
export function putBody(id: string, body: unknown): Change {
  return { kind: "put", collection: BODIES, key: id, value: body };
}

/** Deletes the body of a message. */
export function deleteBody(id: string): Change {
  return { kind: "delete", collection: BODIES, key: id };
}

/** Deletes a message and its body. */
export function deleteMessage(id: string): readonly Change[] {
  return [{ kind: "delete", collection: DELIVERIES, key: id }, deleteBody(id)];
}
