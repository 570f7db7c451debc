/**
 * One webhook message on its way, as a state machine without a clock of its own: queued, tried as
 * often as it takes with growing pauses, then delivered, failed or expired for good. What is sent at
 * most once is tried once, even if the process ends meanwhile.   AGTP "NOTIFY" delivery_guarantee
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
  /** Tried once and never again. */
  readonly isOnce: boolean;
  /** Nobody asks what became of it. */
  readonly isNews?: true;
  /** The agent on whose behalf it is sent. */
  readonly owner?: string;
  readonly state: DeliveryState;
  /** Attempts that were begun. */
  readonly attempts: number;
  /** The process that sends it, where there are several. */
  readonly heldBy?: string;
  /** While it is queued, when it is tried next; afterwards, since when it is what it is. */
  readonly at: number;
  /** Why the last attempt came to nothing. */
  readonly reason?: string;
}

export type AttemptOutcome =
  | { readonly kind: "taken" }
  | {
      readonly kind: "failed";
      /** In words that whoever sent the message may read. */
      readonly reason: string;
      /** In words for the log. */
      readonly detail?: string;
    };

const LONGEST_PAUSE_MS = 15 * 60_000;
const BACK_OFF = { firstMs: 500, longestMs: LONGEST_PAUSE_MS };

/** A message as it begins. */
export function newDelivery(
  { id, url, expiresAt, isOnce = false, isNews, owner }: OutgoingMessage,
  now: number,
): WebhookDelivery {
  const news = isNews === undefined ? {} : { isNews };
  const sender = owner === undefined ? {} : { owner };
  return { id, url, expiresAt, isOnce, ...news, ...sender, state: "queued", attempts: 0, at: now };
}

/** The pause after so many attempts; `random` of 0 to 1 keeps the many apart. */
export function scatteredPause(attempts: number, random: number): number {
  return Math.round(pauseAfter(attempts, BACK_OFF) * (0.5 + random / 2));
}

/** Tells whether it can still change. */
export function isQueued({ state }: WebhookDelivery): boolean {
  return state === "queued";
}

/**
 * The time until it is tried: 0 where that lies further off than any pause, for the clock stepped.
 */
export function waitFor({ at }: Pick<WebhookDelivery, "at">, now: number): number {
  const wait = at - now;
  return wait > LONGEST_PAUSE_MS ? 0 : Math.max(0, wait);
}

/** An attempt begins. */
export function beginAttempt(delivery: WebhookDelivery): WebhookDelivery {
  return { ...delivery, attempts: delivery.attempts + 1 };
}

/** An attempt that was begun has ended. */
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
  // At its expiry it is looked at once more, and given up.
  const at = Math.min(now + scatteredPause(delivery.attempts, random), delivery.expiresAt);
  return expire({ ...delivery, at, reason }, now);
}

/** The reason that is told of a message whose URL the configuration has no more. */
export const NO_SUCH_URL = "this server has no such webhook any more";

/** It cannot be tried now: nothing of it counts as an attempt. */
export function putOff(delivery: WebhookDelivery, now: number): WebhookDelivery {
  const at = Math.min(now + LONGEST_PAUSE_MS, delivery.expiresAt);
  return { ...delivery, at, reason: NO_SUCH_URL };
}

/** Nothing is sent after its expiry. */
export function expire(delivery: WebhookDelivery, now: number): WebhookDelivery {
  if (!isQueued(delivery) || now < delivery.expiresAt) return delivery;
  return { ...delivery, state: "expired", at: delivery.expiresAt };
}

/**
 * A message that a process left when it ended: nobody knows whether an attempt that was begun
 * arrived.
 */
export function recover(delivery: WebhookDelivery): WebhookDelivery {
  if (!isQueued(delivery) || !delivery.isOnce || delivery.attempts === 0) return delivery;
  return { ...delivery, state: "failed", reason: "the server ended while it was being sent" };
}

const STATES: readonly unknown[] = ["queued", "delivered", "failed", "expired"];

const readWhole = recordReader<WebhookDelivery>({
  ...{ id: "string", url: "string", expiresAt: "number", isOnce: "boolean" },
  ...{ attempts: "number", at: "number" },
});

/** A stored delivery; anything else is none. */
export function readDelivery(value: unknown): WebhookDelivery | undefined {
  const delivery = readWhole(value);
  return delivery !== undefined && STATES.includes(delivery.state) ? delivery : undefined;
}

/** Bodies by the ids of their messages: written once and deleted with the last attempt. */
export const BODIES = "webhook-bodies";
const DELIVERIES = "webhook-deliveries";

/** Longer than whoever put something here asks for it. */
const REMEMBERED_MS = 2 * 86_400_000;

/** Every message, in the order in which they are due. */
export const DELIVERY_COLLECTION: CollectionOptions<WebhookDelivery> = {
  name: DELIVERIES,
  read: readDelivery,
  orderOf: ({ at }) => at,
  forgottenAt: ({ expiresAt }) => expiresAt + REMEMBERED_MS,
  changesOnDelete: (_, id) => [deleteBody(id)],
  groups: {
    queued: (delivery) => (isQueued(delivery) ? "" : undefined),
    url: (delivery) => (isQueued(delivery) ? delivery.url : undefined),
    // News that was delivered, or given up: nobody asks what became of it.
    spent: (delivery) => (delivery.isNews && !isQueued(delivery) ? "" : undefined),
  },
};

/** Keeps the body of a message. */
export function putBody(id: string, body: unknown): Change {
  return { kind: "put", collection: BODIES, key: id, value: body };
}

/** Forgets the body of a message. */
export function deleteBody(id: string): Change {
  return { kind: "delete", collection: BODIES, key: id };
}

/** Nothing of the message is left. */
export function deleteMessage(id: string): readonly Change[] {
  return [{ kind: "delete", collection: DELIVERIES, key: id }, deleteBody(id)];
}
