/**
 * All notifications of this server. One with its inbox entries and webhook messages is in the store
 * with a single commit before its sender hears of it. It is remembered for a day beyond its expiry,
 * so that whoever repeats its id meanwhile is not heard twice; what its sender cannot repeat makes
 * room earlier, once nothing more happens to it.   AGTP "NOTIFY"
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

/** The limits of notifications that nobody has looked at, and of what is remembered. */
export interface NotificationLimits extends InboxLimits {
  /** Deliveries of one sender that are remembered. */
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
  /** The names that senders gave their notifications, for other processes over the same store. */
  readonly names: Collection<KeptName>;
}

export class NotificationRegister {
  readonly #parts: Parts;
  /** By serial, those on their way into the store. */
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
    // Messages of what was forgotten went with it.
    await outbox.refresh();
    const kept = { store, outbox, limits, now };
    return new NotificationRegister({ ...kept, inboxes, notifications, confirmations, names });
  }

  /** A sender's own notification, kept or about to be. */
  find(sender: string, id: string): Notification | undefined {
    return this.#parts.notifications.find("name", nameOf(sender, id));
  }

  /**
   * Resolves once a notification is kept; false where another process was faster with its name.
   * Rejects where it could not be kept.
   */
  async settled({ serial }: Notification): Promise<boolean> {
    return (await this.#keeping.get(serial)) ?? true;
  }

  /** A sender's own, the newest first. */
  sentBy(sender: string): readonly Notification[] {
    return this.#parts.notifications.ofOwner(sender).toReversed();
  }

  /** The entries of an agent's inbox that have not expired, the newest first. */
  inboxOf(agentId: string): readonly InboxEntry[] {
    return this.#parts.inboxes.of(agentId)?.newest(this.now()) ?? [];
  }

  /** The entry of a notification in an agent's inbox. */
  entryOf(serial: string, agentId: string): InboxEntry | undefined {
    return this.#parts.inboxes.find(serial, agentId);
  }

  /** The content of a notification; undefined while it is on its way into the store. */
  async contentOf(serial: string): Promise<unknown> {
    const stored = await this.#parts.store.get(NOTIFICATIONS, serial);
    return recordIn(stored)["content"];
  }

  /** Delivers; resolves once that survives the process. */
  accept(draft: NotificationDraft): Promise<Acceptance> {
    return this.#accept(draft, undefined);
  }

  /** `lost`: the serial that the name stands for, and that no notification has. */
  async #accept(draft: NotificationDraft, lost: string | undefined): Promise<Acceptance> {
    const named = this.#nameIn(draft)?.serial;
    // A name may be heard of before its notification, and the commit is guarded by the name as it is known.
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
    // Others made room, and took confirmations and messages with them.
    if (kept.changes.length > 1) this.#refresh();
    return {
      kind: "accepted",
      notification: this.#parts.notifications.get(serial) ?? notification,
    };
  }

  /** Keeps what a recipient says of what is in its inbox. */
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

  /** The name is taken in the same commit, or nothing is kept. */
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

  /** Another process has the name, or had it until now. */
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

  /** A store that cannot be read now is read with the next that makes room. */
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

/** Nothing more happens to it. */
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
 * A notification as a webhook is told of it: everything in the body, which is what is signed. The
 * message for a webhook; none for anybody else.
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
