/**
 * Where every notification is found: by its sender's id, and in the inboxes of those who got it; and
 * how many deliveries each sender has under way.
 */
import { Inbox } from "./inbox.ts";
import type { Notification } from "./notification.ts";

export class NotificationIndex {
  /** By sender and id; the oldest first. */
  readonly #bySender = new Map<string, Map<string, Notification>>();
  readonly #counts = new Map<string, number>();
  readonly #inboxes = new Map<string, Inbox>();

  find(sender: string, id: string): Notification | undefined {
    return this.#bySender.get(sender)?.get(id);
  }

  /** A sender's own, the newest first. */
  sentBy(sender: string): readonly Notification[] {
    return [...(this.#bySender.get(sender)?.values() ?? [])].reverse();
  }

  all(): readonly Notification[] {
    return [...this.#bySender.values()].flatMap((own) => [...own.values()]);
  }

  /** Undefined while it is empty. */
  inboxOf(agentId: string): Inbox | undefined {
    return this.#inboxes.get(agentId);
  }

  add(notification: Notification): void {
    const { sender, id, deliveries } = notification;
    const own = this.#bySender.get(sender) ?? new Map<string, Notification>();
    this.#bySender.set(sender, own.set(id, notification));
    this.#counts.set(sender, this.#countOf(sender) + deliveries.length);
    for (const delivery of deliveries) {
      if (delivery.kind !== "inbox") continue;
      const inbox = this.#inboxes.get(delivery.agentId) ?? new Inbox();
      this.#inboxes.set(delivery.agentId, inbox);
      inbox.add(notification);
    }
  }

  delete({ sender, id, serial, deliveries }: Notification): void {
    const own = this.#bySender.get(sender);
    if (own === undefined || !own.delete(id)) return;
    this.#counts.set(sender, this.#countOf(sender) - deliveries.length);
    if (own.size === 0) {
      this.#bySender.delete(sender);
      this.#counts.delete(sender);
    }
    for (const delivery of deliveries) {
      if (delivery.kind !== "inbox") continue;
      const inbox = this.#inboxes.get(delivery.agentId);
      inbox?.delete(serial);
      if (inbox?.isEmpty) this.#inboxes.delete(delivery.agentId);
    }
  }

  /**
   * The oldest of those that may go, as many as it takes to come down to so many deliveries;
   * undefined when all of them together are not enough.
   */
  surplus(
    sender: string,
    most: number,
    mayGo: (notification: Notification) => boolean,
  ): readonly Notification[] | undefined {
    let count = this.#countOf(sender);
    if (count <= most) return [];
    const going: Notification[] = [];
    for (const notification of this.#bySender.get(sender)?.values() ?? []) {
      if (!mayGo(notification)) continue;
      going.push(notification);
      count -= notification.deliveries.length;
      if (count <= most) return going;
    }
    return undefined;
  }

  #countOf(sender: string): number {
    return this.#counts.get(sender) ?? 0;
  }
}
