/**
 * The outbox of webhook messages: a message is stored before its sender is answered, and stays until it is delivered,
 * has failed or has expired, across reloads and crashes. Its outcome is kept for two days beyond its expiry, and its
 * id is not delivered again meanwhile. Of news, whose outcome is not queried, only the latest are kept.
 * AGTP "NOTIFY" delivery_guarantee
 */

import { reasonOf } from "../../base/thrown.ts";
import type {
  OutgoingMessage,
  WebhookMessage,
  WebhookQueue,
} from "../../dispatch/module/webhook-queue.ts";
import { Collection } from "../../state/collection.ts";
import { commitDrafts, type Draft } from "../../state/collection-write.ts";
import { type Holders, holding, holds, isLeft, SOLE_HOLDER } from "../../state/holders.ts";
import type { Store } from "../../state/store.ts";
import { type CourierOptions, scheduleTimer, WebhookCourier } from "./webhook-courier.ts";
import {
  BODIES,
  DELIVERY_COLLECTION,
  deleteBody,
  expire,
  isQueued,
  newDelivery,
  putBody,
  recover,
  type WebhookDelivery,
} from "./webhook-delivery.ts";

/** The dependencies of the outbox. */
interface OutboxOptions {
  readonly store: Store;
  /** Milliseconds since the epoch. */
  now?(): number;
  /** The holders of messages; without them, this process holds all. */
  readonly holders?: Holders;
}

/** For `hasRoom`: callers that ask it leave room for messages that are queued without asking. */
const MAX_QUEUED_PER_URL = 1000;
const MAX_QUEUED = 20_000;
/** Messages taken over from a gone process at once. */
const TAKEN_AT_ONCE = 64;
/** The pause after a failed takeover. */
const TAKEN_LATER_MS = 5_000;
/** The most finished news kept in all, so that news do not make the outbox grow. */
const SPENT_KEPT = 1000;

export class WebhookOutbox implements WebhookQueue {
  readonly #store: Store;
  readonly #holders: Holders;
  readonly #deliveries: Collection<WebhookDelivery>;
  /** States that the store has not taken yet; they are lost with the process. */
  readonly #ahead: Map<string, WebhookDelivery>;
  /** Commits in progress, by message id. */
  readonly #keeping = new Map<string, Promise<boolean>>();
  #courier: WebhookCourier | undefined;

  private constructor(
    store: Store,
    holders: Holders,
    deliveries: Collection<WebhookDelivery>,
    ahead: Map<string, WebhookDelivery>,
  ) {
    this.#store = store;
    this.#deliveries = deliveries;
    this.#ahead = ahead;
    this.#holders = holders;
  }

  /** Opens the outbox of a store; nothing is sent before `deliverBy`. */
  static async open(options: OutboxOptions): Promise<WebhookOutbox> {
    const { store, now = Date.now, holders = SOLE_HOLDER } = options;
    const ahead = new Map<string, WebhookDelivery>();
    const deliveries = await Collection.open(store, {
      ...DELIVERY_COLLECTION,
      onChange: (_, after, id) => {
        if (after === undefined || !holds(holders, after)) ahead.delete(id);
      },
      now,
    });
    const outbox = new WebhookOutbox(store, holders, deliveries, ahead);
    if (holders.self === undefined) await outbox.#recover();
    else await outbox.#takeOver();
    return outbox;
  }

  /** Queues news, whose outcome is not queried. Rejects if the outbox is full. */
  async enqueue(message: WebhookMessage): Promise<void> {
    const { id } = message;
    if (this.#deliveries.get(id) !== undefined) {
      await this.#keeping.get(id);
      return;
    }
    if (this.#countQueued() >= MAX_QUEUED) throw new Error("the webhook outbox is full");
    await this.keep([{ ...message, isNews: true }], []);
  }

  /** Tells whether one more message for a URL is accepted. */
  hasRoom(url: string): boolean {
    const isFree = this.#deliveries.countIn("url", url) < MAX_QUEUED_PER_URL;
    return isFree && this.#countQueued() < MAX_QUEUED;
  }

  /**
   * Commits messages and other drafts together, or nothing. False: a guarded draft came too late, or another node
   * accepted one of the messages.
   */
  async keep(messages: readonly OutgoingMessage[], others: readonly Draft[]): Promise<boolean> {
    const fresh = messages.filter(({ id }) => this.#deliveries.get(id) === undefined);
    // Among several nodes, only one accepts a message.
    const isGuarded = this.#holders.self !== undefined;
    const drafts = fresh.flatMap((message) => {
      const begun = newDelivery(message, this.#deliveries.now());
      const delivery = holding(this.#holders, begun);
      return this.#deliveries.draft(message.id, delivery, { isEarly: true, isGuarded }) ?? [];
    });
    const bodies = fresh.map(({ id, body }) => putBody(id, body));
    const kept = commitDrafts(this.#store, [...others, ...drafts], bodies);
    for (const { id } of fresh) this.#keeping.set(id, kept);
    let isKept = false;
    try {
      isKept = await kept;
    } finally {
      for (const { id } of fresh) this.#keeping.delete(id);
    }
    this.#courier?.wake();
    return isKept;
  }

  /** The current state of a message; undefined if it is unknown or forgotten. */
  find(id: string): WebhookDelivery | undefined {
    const delivery = this.#find(id);
    return delivery && expire(delivery, this.#deliveries.now());
  }

  /** Rereads the messages, some of which were deleted with their notifications. */
  refresh(): Promise<void> {
    return this.#deliveries.refresh();
  }

  /**
   * Lists the messages that the store has as queued and this process sends, oldest first; one with a final state needs
   * another `update`.
   */
  *queued(): Iterable<WebhookDelivery> {
    for (const { id } of this.#deliveries.inGroup("queued", "")) {
      const delivery = this.#find(id);
      if (delivery === undefined || !holds(this.#holders, delivery)) continue;
      if (this.#deliveries.isStored(id)) yield delivery;
    }
  }

  /** The body of a message; undefined if it is lost. */
  bodyOf(id: string): Promise<unknown> {
    return this.#store.get(BODIES, id);
  }

  /**
   * Changes the state of a message: at once in memory, and durably once this resolves. False: the message is gone, or
   * another node has taken it over.
   */
  async update(delivery: WebhookDelivery): Promise<boolean> {
    const { id } = delivery;
    const known = this.#deliveries.get(id);
    if (known === undefined || !holds(this.#holders, known)) return false;
    this.#ahead.set(id, delivery);
    const also = isQueued(delivery) ? [] : [deleteBody(id)];
    const next = (now: WebhookDelivery) => (holds(this.#holders, now) ? delivery : undefined);
    const { isChanged } = await this.#deliveries.change(id, next, { also });
    if (this.#ahead.get(id) === delivery) this.#ahead.delete(id);
    if (delivery.isNews) await this.#forgetSpent();
    return isChanged;
  }

  /** Postpones a message that this process still holds, in memory only. */
  postpone(id: string, at: number): void {
    const delivery = this.#find(id);
    if (delivery === undefined || !holds(this.#holders, delivery)) return;
    if (isQueued(delivery)) this.#ahead.set(id, { ...delivery, at });
  }

  /** Sends from now on; the returned function stops that, and resolves once it has ended. */
  deliverBy(options: Omit<CourierOptions, "outbox" | "now">): () => Promise<void> {
    const now = (): number => this.#deliveries.now();
    const courier = new WebhookCourier({ ...options, outbox: this, now });
    this.#courier = courier;
    courier.wake();
    const { log, schedule = scheduleTimer } = options;
    let cancel: () => void = () => undefined;
    let isEnded = false;
    const takeOver = async (): Promise<void> => {
      cancel();
      try {
        await this.#takeOver();
      } catch (error) {
        const fields = { event: "webhook-fault", reason: reasonOf(error) };
        log.warn(fields, "messages of a node that is gone cannot be taken over yet");
        if (!isEnded) cancel = schedule(() => void takeOver(), TAKEN_LATER_MS);
      }
      // Sends what was taken over, even if not all of it was.
      courier.wake();
    };
    const forgetGone = this.#holders.watch(() => void takeOver());
    return async () => {
      isEnded = true;
      cancel();
      forgetGone();
      if (this.#courier === courier) this.#courier = undefined;
      await courier.stop();
    };
  }

  /** Fails at-most-once messages with a started attempt, which may have arrived before the process ended. */
  async #recover(): Promise<void> {
    for (const delivery of this.queued()) {
      const recovered = recover(delivery);
      if (!isQueued(recovered)) await this.update(recovered);
    }
  }

  /** Takes over the queued messages of gone processes, in batches. */
  async #takeOver(): Promise<void> {
    const waiting = this.#deliveries.inGroup("queued", "");
    const left = waiting.filter((one) => isLeft(this.#holders, one)).map(({ id }) => id);
    const take = (one: WebhookDelivery): WebhookDelivery | undefined =>
      isQueued(one) && isLeft(this.#holders, one)
        ? recover(holding(this.#holders, one))
        : undefined;
    for (let at = 0; at < left.length; at += TAKEN_AT_ONCE) {
      const batch = left.slice(at, at + TAKEN_AT_ONCE);
      await Promise.all(batch.map((id) => this.#deliveries.change(id, take)));
    }
  }

  #find(id: string): WebhookDelivery | undefined {
    return this.#ahead.get(id) ?? this.#deliveries.get(id);
  }

  #countQueued(): number {
    return this.#deliveries.countIn("queued", "");
  }

  /** Deletes the oldest finished news beyond the limit. */
  async #forgetSpent(): Promise<void> {
    const spent = this.#deliveries.inGroup("spent", "").map(({ id }) => id);
    await this.#deliveries.delete(spent.slice(0, Math.max(0, spent.length - SPENT_KEPT)));
  }
}
