/**
 * Every notification in the inboxes of those who got it, with what they have said of it. It follows
 * the collections of both, whoever writes them.
 */
import { Inbox, type InboxEntry } from "./inbox.ts";
import type { Confirmation, Notification } from "./notification.ts";

export class Inboxes {
  readonly #inboxes = new Map<string, Inbox>();

  /** Undefined while it is empty. */
  of(agentId: string): Inbox | undefined {
    return this.#inboxes.get(agentId);
  }

  /** The entry of a notification in an agent's inbox. */
  find(serial: string, agentId: string): InboxEntry | undefined {
    return this.#inboxes.get(agentId)?.find(serial);
  }

  /** A notification is another, or gone. */
  move(before: Notification | undefined, after: Notification | undefined): void {
    const { serial = "", deliveries = [] } = after ?? before ?? {};
    for (const delivery of deliveries) {
      if (delivery.kind !== "inbox") continue;
      const { agentId } = delivery;
      const inbox = this.#inboxes.get(agentId) ?? new Inbox();
      this.#inboxes.set(agentId, inbox);
      if (after === undefined) inbox.delete(serial);
      else inbox.put(after);
      if (inbox.isEmpty) this.#inboxes.delete(agentId);
    }
  }

  /** An agent has said something of a notification. */
  confirm(serial: string, agentId: string, confirmation: Confirmation): void {
    this.#inboxes.get(agentId)?.confirm(serial, confirmation);
  }
}
