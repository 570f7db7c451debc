/** Webhook messages as they lie in the store: how each stands, and apart from that what it says. */
import type { Change, Store } from "../../state/store.ts";
import { readDelivery, type WebhookDelivery } from "./webhook-delivery.ts";

const DELIVERIES = "webhook-deliveries";
/** Written once and deleted with the last attempt. */
const BODIES = "webhook-bodies";

/** All that an earlier process kept, in the order in which they are due. */
export async function readDeliveries(store: Store): Promise<readonly WebhookDelivery[]> {
  const stored = await store.list(DELIVERIES);
  const deliveries = stored.flatMap(({ value }) => readDelivery(value) ?? []);
  return deliveries.sort((left, right) => left.at - right.at);
}

/** What a message says; undefined when it is lost. */
export function readBody(store: Store, id: string): Promise<unknown> {
  return store.get(BODIES, id);
}

/** How a message stands now. */
export function putDelivery(delivery: WebhookDelivery): Change {
  return { kind: "put", collection: DELIVERIES, key: delivery.id, value: delivery };
}

/** What a message says. */
export function putBody(id: string, body: unknown): Change {
  return { kind: "put", collection: BODIES, key: id, value: body };
}

/** It is said no more. */
export function deleteBody(id: string): Change {
  return { kind: "delete", collection: BODIES, key: id };
}

/** Nothing of the message is left. */
export function deleteMessage(id: string): readonly Change[] {
  return [{ kind: "delete", collection: DELIVERIES, key: id }, deleteBody(id)];
}
