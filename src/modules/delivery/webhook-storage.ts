/** Webhook messages as they lie in the store: how each stands, and apart from that what it says. */
import type { CollectionOptions } from "../../state/collection-view.ts";
import type { Change } from "../../state/store.ts";
import { isQueued, readDelivery, type WebhookDelivery } from "./webhook-delivery.ts";

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
