/**
 * The notifications of this server. A notification, its inbox entries and its webhook messages are stored in one
 * commit before its sender is answered. It is remembered for a day beyond its expiry, so that repeating its id
 * delivers nothing twice; one without a sender's id makes room earlier, once its deliveries are done.   AGTP "NOTIFY"
 */
import { recordIn } from "../../base/json-value.ts";
import type { OutgoingMessage } from "../../dispatch/module/webhook-queue.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { Collection } from "../../state/collection.ts";
import type { Draft } from "../../state/collection-write.ts";
import type { Store } from "../../state/store.ts";
import { type InboxEntry, Inboxes, type InboxLimits, isRead } from "./inboxes.ts";
import {
  type Acceptance,
  CONFIRMATION_COLLECTION,
  type Confirmation,
  confirmationKey,
  type Delivery,
  type KeptName,
  keptNameOf,
  NAME_COLLECTION,
  NOTIFICATION_COLLECTION,
  NOTIFICATIONS,
  type Notification,
  type NotificationDraft,
  nameOf,
  type Recipient,
  readConfirmationKey,
  type StoredNotification,
} from "./notification.ts";
import type { WebhookOutbox } from "./webhook-outbox.ts";

/** The quotas for unread notifications, and for remembered ones. */
export interface NotificationLimits extends InboxLimits {
  /** Remembered deliveries of one sender. */
  readonly perSenderKept: number;
}

const LIMITS: NotificationLimits = { perInbox: 1000, perSender: 200, perSenderKept: 10_000 };

interface NotificationRegisterOptions {
  readonly store: Store;
  readonly outbox: WebhookOutbox;
  readonly limits?: Partial<NotificationLimits>;
  /** Milliseconds since the epoch. */
  now?(): number;
}

interface Parts extends Required<NotificationRegisterOptions> {
  readonly limits: NotificationLimits;
  readonly inboxes: Inboxes;
  readonly notifications: Collection<Notification>;
  readonly confirmations: Collection<Confirmation>;
  /** The ids that senders chose, as guards against other processes on the same store. */
  readonly names: Collection<KeptName>;
}

export class NotificationRegister {
  readonly #parts: Parts;
  /** Commits in progress, by serial. */
  readonly #keeping = new Map<string, Promise<boolean>>();
  readonly now: () => number;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.now = parts.now;
  }

  static async open(options: NotificationRegisterOptions): Promise<NotificationRegister> {
    const { store, outbox, now = Date.now } = options;
    const limits = { ...LIMITS, ...options.limits };
    const inboxes = new Inboxes();
    const mayGo = (one: Notification): boolean =>
      !one.isNamed && isDone(one, { inboxes, outbox, now });
    const notifications = await Collection.open<Notification>(store, {
      ...NOTIFICATION_COLLECTION,
      quota: { charactersPerOwner: limits.perSenderKept },
      rankOf: (notification) => (mayGo(notification) ? 0 : undefined),
      onChange: (before, after) => inboxes.move(before, after),
      now,
    });
    const confirmations = await Collection.open<Confirmation>(store, {
      ...CONFIRMATION_COLLECTION,
      forgottenAt: (_, key) => (inboxes.find(...readConfirmationKey(key)) ? Infinity : 0),
      onChange: (_, after, key) => {
        if (after !== undefined) inboxes.confirm(...readConfirmationKey(key), after);
      },
      now,
    });
    const names = await Collection.open<KeptName>(store, { ...NAME_COLLECTION, now });
    // Forgetting a notification deleted its webhook messages too.
    await outbox.refresh();
    const kept = { store, outbox, limits, now };
    return new NotificationRegister({ ...kept, inboxes, notifications, confirmations, names });
  }

  /** A sender's own notification, stored or about to be. */
  find(sender: string, id: string): Notification | undefined {
    return this.#parts.notifications.find("name", nameOf(sender, id));
  }

  /**
   * Resolves once a notification is stored; false if another process took its name first. Rejects if it could not be
   * stored.
   */
  async settled({ serial }: Notification): Promise<boolean> {
    return (await this.#keeping.get(serial)) ?? true;
  }

  /** A sender's own notifications, newest first. */
  sentBy(sender: string): readonly Notification[] {
    return this.#parts.notifications.ofOwner(sender).toReversed();
  }

  /** The unexpired entries of an agent's inbox, newest first. */
  inboxOf(agentId: string): readonly InboxEntry[] {
    return this.#parts.inboxes.of(agentId)?.newest(this.now()) ?? [];
  }

  /** The entry of a notification in an agent's inbox. */
  entryOf(serial: string, agentId: string): InboxEntry | undefined {
    return this.#parts.inboxes.find(serial, agentId);
  }

  /** The content of a notification; undefined until it is stored. */
  async contentOf(serial: string): Promise<unknown> {
    const stored = await this.#parts.store.get(NOTIFICATIONS, serial);
    return recordIn(stored)["content"];
  }

  /** Delivers a notification; resolves once it is stored. */
  accept(draft: NotificationDraft): Promise<Acceptance> {
    return this.#accept(draft, undefined);
  }

  /** `lost` is the serial that the name refers to without a notification. */
  async #accept(draft: NotificationDraft, lost: string | undefined): Promise<Acceptance> {
    const named = this.#nameIn(draft)?.serial;
    // The name may arrive before its notification; the commit is guarded by the name's known value.
    if (named !== undefined && named !== lost) return this.#acceptAgain(draft);
    const serial = uuidv7();
    const { recipients, content, serverId, id = serial, ...said } = draft;
    const deliveries = recipients.map((recipient) => this.#deliver(recipient, draft, serial));
    if (deliveries.every(({ kind }) => kind === "none")) return { kind: "undelivered", deliveries };
    const isNamed = draft.id !== undefined;
    const notification: Notification = { ...said, serial, id, isNamed, deliveries };
    const stored: StoredNotification = { ...notification, content };
    const kept = this.#parts.notifications.draft(serial, stored, { isEarly: true });
    if (kept === undefined) return { kind: "full" };
    const messages = recipients.flatMap((recipient, at) => {
      const delivery = deliveries[at];
      return buildWebhookMessage({ notification, recipient, delivery, content, serverId });
    });
    const drafts = [kept, ...this.#draftName(notification)];
    const isKept = await this.#keep(serial, this.#parts.outbox.keep(messages, drafts));
    if (!isKept) return this.#acceptAgain(draft);
    // The draft evicted other notifications, with their confirmations and messages.
    if (kept.changes.length > 1) this.#refresh();
    return {
      kind: "accepted",
      notification: this.#parts.notifications.get(serial) ?? notification,
    };
  }

  /** Stores a recipient's confirmation of an entry in its inbox. */
  async confirm(
    serial: string,
    agentId: string,
    { status, reason }: Pick<Confirmation, "status" | "reason">,
  ): Promise<Confirmation> {
    const before = this.entryOf(serial, agentId)?.confirmation;
    if (before?.status === status && before.reason === reason) return before;
    const said = { status, ...(reason === undefined ? {} : { reason }) };
    const confirmation = { attestationId: uuidv7(), at: this.now(), ...said };
    await this.#parts.confirmations.put(confirmationKey(serial, agentId), confirmation);
    return confirmation;
  }

  /** Drafts the name for the same commit; the guard fails the whole commit if the name is taken. */
  #draftName(notification: Notification): readonly Draft[] {
    const { sender, id, isNamed } = notification;
    if (!isNamed) return [];
    const name = keptNameOf(notification);
    const draft = this.#parts.names.draft(nameOf(sender, id), name, { isGuarded: true });
    return draft === undefined ? [] : [draft];
  }

  #nameIn({ sender, id }: NotificationDraft): KeptName | undefined {
    return id === undefined ? undefined : this.#parts.names.get(nameOf(sender, id));
  }

  /** Handles a name that another process holds, or held until now. */
  async #acceptAgain(draft: NotificationDraft): Promise<Acceptance> {
    await this.#parts.names.refresh();
    const named = this.#nameIn(draft)?.serial;
    await this.#parts.notifications.refresh();
    const notification = draft.id === undefined ? undefined : this.find(draft.sender, draft.id);
    return notification === undefined
      ? this.#accept(draft, named)
      : { kind: "taken", notification };
  }

  async #keep(serial: string, kept: Promise<boolean>): Promise<boolean> {
    this.#keeping.set(serial, kept);
    try {
      return await kept;
    } finally {
      this.#keeping.delete(serial);
    }
  }

  /** Rereads the collections; if the store cannot be read now, the next eviction rereads them. */
  #refresh(): void {
    const { confirmations, names, outbox } = this.#parts;
    for (const kept of [confirmations, names, outbox]) kept.refresh().catch(() => undefined);
  }

  #deliver(recipient: Recipient, { sender }: NotificationDraft, serial: string): Delivery {
    const { name } = recipient;
    switch (recipient.kind) {
      case "nobody":
        return { kind: "none", name, reason: recipient.reason };
      case "agent": {
        const { agentId } = recipient;
        const inbox = this.#parts.inboxes.of(agentId);
        const hasRoom = inbox?.hasRoom(sender, this.#parts.limits, this.now()) ?? true;
        if (!hasRoom) return { kind: "none", name, reason: "inbox-full" };
        return { kind: "inbox", name, agentId };
      }
      case "webhook": {
        const hasRoom = this.#parts.outbox.hasRoom(recipient.url);
        if (!hasRoom) return { kind: "none", name, reason: "webhook-queue-full" };
        return { kind: "webhook", name, deliveryId: `${serial}:${name.slice("webhook:".length)}` };
      }
    }
  }
}

/** True if the notification has expired, or none of its deliveries can still change. */
function isDone(
  { serial, deliveries, expiresAt }: Notification,
  { inboxes, outbox, now }: Pick<Parts, "inboxes" | "outbox" | "now">,
): boolean {
  if (expiresAt <= now()) return true;
  return deliveries.every((delivery) => {
    if (delivery.kind === "none") return true;
    if (delivery.kind === "webhook") return outbox.find(delivery.deliveryId)?.state !== "queued";
    const entry = inboxes.find(serial, delivery.agentId);
    return entry === undefined || isRead(entry);
  });
}

interface WebhookNotice {
  readonly notification: Notification;
  readonly recipient: Recipient;
  readonly delivery: Delivery | undefined;
  readonly content: unknown;
  readonly serverId: string;
}

/**
 * Builds the message for a webhook, with everything in the body, since only that is signed; none for other recipients.
 */
function buildWebhookMessage(notice: WebhookNotice): readonly OutgoingMessage[] {
  const { notification, recipient, delivery, content, serverId } = notice;
  if (recipient.kind !== "webhook" || delivery?.kind !== "webhook") return [];
  const { id, sender, senderName, urgency, guarantee, sentAt, expiresAt } = notification;
  const body = {
    type: "notification",
    delivery_id: delivery.deliveryId,
    notification_id: id,
    server_id: serverId,
    sender: { agent_id: sender, name: senderName },
    recipient: recipient.name,
    urgency,
    delivery_guarantee: guarantee,
    sent_at: new Date(sentAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    content,
  };
  const isOnce = guarantee === "at_most_once";
  return [{ id: delivery.deliveryId, url: recipient.url, body, expiresAt, isOnce, owner: sender }];
}
