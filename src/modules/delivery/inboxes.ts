/**
 * The inboxes of agents: their unread entries, confirmations and free room. No sender can fill one alone, and expired
 * entries are not shown. They follow the collections of notifications and confirmations, including changes by other
 * processes.   AGTP "NOTIFY" expiry
 */
import type { Confirmation, Notification } from "./notification.ts";

export interface InboxEntry {
  readonly notification: Notification;
  readonly confirmation: Confirmation | undefined;
}

export interface InboxLimits {
  readonly perInbox: number;
  readonly perSender: number;
}

class Inbox {
  readonly #entries = new Map<string, InboxEntry>();
  /** Serials of unread notifications, by sender. */
  readonly #unread = new Map<string, Set<string>>();
  #unreadCount = 0;

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** Tells whether the inbox takes one more notification of a sender. */
  hasRoom(sender: string, { perInbox, perSender }: InboxLimits, now: number): boolean {
    const isFull = (): boolean =>
      this.#unreadCount >= perInbox || (this.#unread.get(sender)?.size ?? 0) >= perSender;
    if (!isFull()) return true;
    for (const entry of this.#entries.values()) if (isOver(entry, now)) this.#markRead(entry);
    return !isFull();
  }

  /** Adds a notification, or replaces its earlier version. */
  put(notification: Notification): void {
    const { serial } = notification;
    const before = this.#entries.get(serial);
    const entry = { notification, confirmation: before?.confirmation };
    this.#entries.set(serial, entry);
    if (before === undefined) this.#markUnread(entry);
  }

  delete(serial: string): void {
    const entry = this.#entries.get(serial);
    if (entry === undefined) return;
    this.#markRead(entry);
    this.#entries.delete(serial);
  }

  /** Records its agent's confirmation; the last one counts. */
  confirm(serial: string, confirmation: Confirmation): void {
    const entry = this.#entries.get(serial);
    if (entry === undefined) return;
    const confirmed = { ...entry, confirmation };
    this.#entries.set(serial, confirmed);
    if (isRead(confirmed)) this.#markRead(confirmed);
    else this.#markUnread(confirmed);
  }

  find(serial: string): InboxEntry | undefined {
    return this.#entries.get(serial);
  }

  /** Unexpired notifications, newest first by serial, whatever order they arrived in here. */
  newest(now: number): readonly InboxEntry[] {
    const shown = [...this.#entries.values()].filter((entry) => !isOver(entry, now));
    return shown.sort((one, other) => (serialOf(one) < serialOf(other) ? 1 : -1));
  }

  #markUnread({ notification: { serial, sender } }: InboxEntry): void {
    const own = this.#unread.get(sender) ?? new Set();
    if (own.has(serial)) return;
    this.#unread.set(sender, own.add(serial));
    this.#unreadCount += 1;
  }

  #markRead({ notification: { serial, sender } }: InboxEntry): void {
    const own = this.#unread.get(sender);
    if (own === undefined || !own.delete(serial)) return;
    this.#unreadCount -= 1;
    if (own.size === 0) this.#unread.delete(sender);
  }
}

/** Tells whether its agent has accepted or rejected it. */
export function isRead({ confirmation }: InboxEntry): boolean {
  return confirmation !== undefined && confirmation.status !== "deferred";
}

function serialOf({ notification }: InboxEntry): string {
  return notification.serial;
}

function isOver({ notification }: InboxEntry, now: number): boolean {
  return notification.expiresAt <= now;
}

export class Inboxes {
  readonly #inboxes = new Map<string, Inbox>();

  /** Undefined for an empty inbox. */
  of(agentId: string): Inbox | undefined {
    return this.#inboxes.get(agentId);
  }

  /** The entry of a notification in an agent's inbox. */
  find(serial: string, agentId: string): InboxEntry | undefined {
    return this.#inboxes.get(agentId)?.find(serial);
  }

  /** Applies a notification's change, or its deletion if `after` is undefined. */
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

  /** Records an agent's confirmation of a notification. */
  confirm(serial: string, agentId: string, confirmation: Confirmation): void {
    this.#inboxes.get(agentId)?.confirm(serial, confirmation);
  }
}
