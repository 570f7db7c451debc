/**
 * All notifications of this server. One with its inbox entries and webhook messages is in the store
 * with a single commit before its sender hears of it. It is remembered for a day beyond its expiry,
 * so that whoever repeats its id meanwhile is not heard twice; what its sender cannot repeat makes
 * room earlier, once nothing more happens to it.   AGTP "NOTIFY"
 */

import { isRecord } from "../../base/json-value.ts";
import { DEFAULT_LIMITS, type NotificationLimits } from "../../dispatch/notification-limits.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import type { Change, Store } from "../../state/store.ts";
import { type InboxEntry, isRead } from "./inbox.ts";
import type {
  Acceptance,
  Confirmation,
  Delivery,
  Notification,
  NotificationDraft,
  Recipient,
} from "./notification.ts";
import { NotificationIndex } from "./notification-index.ts";
import {
  deleteConfirmation,
  deleteNotification,
  NOTIFICATIONS,
  putConfirmation,
  putNotification,
  readStored,
} from "./notification-storage.ts";
import { buildWebhookMessage } from "./notification-webhook.ts";
import type { WebhookOutbox } from "./webhook-outbox.ts";

/** What tests choose, and where things are kept. */
export interface NotificationRegisterOptions {
  readonly store: Store;
  readonly outbox: WebhookOutbox;
  readonly limits?: Partial<NotificationLimits>;
  /** Milliseconds since the epoch. */
  now?(): number;
}

const REMEMBERED_MS = 86_400_000;
const SWEEP_EVERY_MS = 60_000;

export class NotificationRegister {
  readonly #store: Store;
  readonly #outbox: WebhookOutbox;
  readonly #limits: NotificationLimits;
  readonly #index = new NotificationIndex();
  /** Those on their way into the store. */
  readonly #keeping = new Map<Notification, Promise<void>>();
  readonly now: () => number;
  #sweptAt: number;

  private constructor({ store, outbox, limits, now = Date.now }: NotificationRegisterOptions) {
    this.#store = store;
    this.#outbox = outbox;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.now = now;
    this.#sweptAt = now();
  }

  /** Opens the register of a store. */
  static async open(options: NotificationRegisterOptions): Promise<NotificationRegister> {
    const register = new NotificationRegister(options);
    const { notifications, confirmations } = await readStored(options.store);
    for (const notification of notifications) register.#index.add(notification);
    const orphans: Change[] = [];
    for (const { serial, agentId, confirmation } of confirmations) {
      const entry = register.entryOf(serial, agentId);
      if (entry === undefined) orphans.push(deleteConfirmation(serial, agentId));
      else register.#index.inboxOf(agentId)?.confirm(serial, confirmation);
    }
    const forgotten = [...orphans, ...register.#takeForgotten()];
    if (forgotten.length > 0) await options.store.commit(forgotten);
    return register;
  }

  /** A sender's own notification, kept or about to be. */
  find(sender: string, id: string): Notification | undefined {
    const notification = this.#index.find(sender, id);
    return notification && this.#isOver(notification) ? undefined : notification;
  }

  /** Resolves once a notification is kept; rejects where it could not be. */
  async settled(notification: Notification): Promise<void> {
    await this.#keeping.get(notification);
  }

  /** A sender's own, the newest first. */
  sentBy(sender: string): readonly Notification[] {
    return this.#index.sentBy(sender).filter((notification) => !this.#isOver(notification));
  }

  /** What lies in an agent's inbox and has not expired, the newest first. */
  inboxOf(agentId: string): readonly InboxEntry[] {
    return this.#index.inboxOf(agentId)?.newest(this.now()) ?? [];
  }

  /** How a notification stands in an agent's inbox. */
  entryOf(serial: string, agentId: string): InboxEntry | undefined {
    return this.#index.inboxOf(agentId)?.find(serial);
  }

  /** What a notification says; undefined while it is on its way into the store. */
  async contentOf(serial: string): Promise<unknown> {
    const stored = await this.#store.get(NOTIFICATIONS, serial);
    return isRecord(stored) ? stored["content"] : undefined;
  }

  /** Delivers; resolves once that survives the process. */
  async accept(draft: NotificationDraft): Promise<Acceptance> {
    const serial = uuidv7();
    const { recipients, content, serverId, id = serial, ...said } = draft;
    const deliveries = recipients.map((recipient) => this.#deliver(recipient, draft, serial));
    if (deliveries.every(({ kind }) => kind === "none")) return { kind: "undelivered", deliveries };
    const isNamed = draft.id !== undefined;
    const notification: Notification = { ...said, serial, id, isNamed, deliveries };
    const forgotten = this.#makeRoom(notification);
    if (forgotten === undefined) return { kind: "full" };
    // Whose time was over under this id is to be gone.
    const isReused = this.#index.find(draft.sender, id) !== undefined;
    // By its size: a clock that stepped back does not put the sweep off.
    const isSweepDue = isReused || Math.abs(this.now() - this.#sweptAt) >= SWEEP_EVERY_MS;
    const swept = isSweepDue ? this.#takeForgotten() : [];
    const messages = recipients.flatMap((recipient, at) => {
      const delivery = deliveries[at];
      return buildWebhookMessage({ notification, recipient, delivery, content, serverId });
    });
    const changes = [...forgotten, ...swept, putNotification(notification, content)];
    await this.#keep(notification, this.#outbox.keep(messages, changes));
    return { kind: "accepted", notification };
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
    await this.#store.commit([putConfirmation({ serial, agentId, confirmation })]);
    this.#index.inboxOf(agentId)?.confirm(serial, confirmation);
    return confirmation;
  }

  async #keep(notification: Notification, kept: Promise<void>): Promise<void> {
    this.#index.add(notification);
    this.#keeping.set(notification, kept);
    try {
      await kept;
    } catch (error) {
      this.#forget(notification);
      throw error;
    } finally {
      this.#keeping.delete(notification);
    }
  }

  #deliver(recipient: Recipient, { sender }: NotificationDraft, serial: string): Delivery {
    const { name } = recipient;
    switch (recipient.kind) {
      case "nobody":
        return { kind: "none", name, reason: recipient.reason };
      case "agent": {
        const { agentId } = recipient;
        const inbox = this.#index.inboxOf(agentId);
        const hasRoom = inbox?.hasRoom(sender, this.#limits, this.now()) ?? true;
        if (!hasRoom) return { kind: "none", name, reason: "inbox-full" };
        return { kind: "inbox", name, agentId };
      }
      case "webhook": {
        const hasRoom = this.#outbox.hasRoom(recipient.url);
        if (!hasRoom) return { kind: "none", name, reason: "webhook-queue-full" };
        return { kind: "webhook", name, deliveryId: `${serial}:${name.slice("webhook:".length)}` };
      }
    }
  }

  /** What is forgotten for a new notification; undefined when that is not enough. */
  #makeRoom({ sender, deliveries }: Notification): readonly Change[] | undefined {
    const most = this.#limits.perSenderKept - deliveries.length;
    const mayGo = (one: Notification): boolean => !one.isNamed && this.#isDone(one);
    return this.#index.surplus(sender, most, mayGo)?.flatMap((one) => this.#forget(one));
  }

  /** Nothing more happens to it. */
  #isDone({ serial, deliveries, expiresAt }: Notification): boolean {
    if (expiresAt <= this.now()) return true;
    return deliveries.every((delivery) => {
      if (delivery.kind === "none") return true;
      if (delivery.kind === "webhook") {
        return this.#outbox.find(delivery.deliveryId)?.state !== "queued";
      }
      const entry = this.entryOf(serial, delivery.agentId);
      return entry === undefined || isRead(entry);
    });
  }

  #takeForgotten(): readonly Change[] {
    this.#sweptAt = this.now();
    const over = this.#index.all().filter((notification) => this.#isOver(notification));
    return over.flatMap((notification) => this.#forget(notification));
  }

  #isOver({ expiresAt }: Notification): boolean {
    return expiresAt + REMEMBERED_MS < this.now();
  }

  #forget(notification: Notification): readonly Change[] {
    const { serial, deliveries } = notification;
    const changes = deliveries.flatMap((delivery) => {
      if (delivery.kind === "webhook") return this.#outbox.forget([delivery.deliveryId]);
      const isConfirmed =
        delivery.kind === "inbox" &&
        this.entryOf(serial, delivery.agentId)?.confirmation !== undefined;
      return isConfirmed ? [deleteConfirmation(serial, delivery.agentId)] : [];
    });
    this.#index.delete(notification);
    return [deleteNotification(serial), ...changes];
  }
}
