/**
 * The outbox of webhook messages: what was put here is in the store before anybody hears of it, and
 * stays until it was delivered, has failed or has expired, through reloads and crashes. What became
 * of it can be asked for two days beyond its expiry; its id is delivered no second time meanwhile. Of
 * news that nobody asks about the latest are remembered.
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

/** The parts that the outbox needs of its surroundings. */
interface OutboxOptions {
  readonly store: Store;
  /** Milliseconds since the epoch. */
  now?(): number;
  /** Whose messages are whose; without it, all are this process's. */
  readonly holders?: Holders;
}

/** Waiting for one URL; a caller that asks before putting something here leaves room for those that do not. */
const MAX_QUEUED_PER_URL = 1000;
const MAX_QUEUED = 20_000;
/** Messages of a process that is gone, taken over at the same time. */
const TAKEN_AT_ONCE = 64;
/** Between one attempt to take them over and the next. */
const TAKEN_LATER_MS = 5_000;
/** Of news that is over, of all together: telling people something new makes the outbox no larger. */
const SPENT_KEPT = 1000;

export class WebhookOutbox implements WebhookQueue {
  readonly #store: Store;
  readonly #holders: Holders;
  readonly #deliveries: Collection<WebhookDelivery>;
  /** The states that the store has not been told of: forgotten with the process. */
  readonly #ahead: Map<string, WebhookDelivery>;
  /** The deliveries that are on their way into the store. */
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

  /** Opens the outbox of a store; nothing is sent before there is something that does. */
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

  /** News, of which nobody asks what became. Rejects where there is no room at all. */
  async enqueue(message: WebhookMessage): Promise<void> {
    const { id } = message;
    if (this.#deliveries.get(id) !== undefined) {
      await this.#keeping.get(id);
      return;
    }
    if (this.#countQueued() >= MAX_QUEUED) throw new Error("the webhook outbox is full");
    await this.keep([{ ...message, isNews: true }], []);
  }

  /** Tells whether one more message for a URL is taken on. */
  hasRoom(url: string): boolean {
    const isFree = this.#deliveries.countIn("url", url) < MAX_QUEUED_PER_URL;
    return isFree && this.#countQueued() < MAX_QUEUED;
  }

  /**
   * Keeps messages and what is drafted beside them in one commit: all of it, or nothing. False: a
   * guarded draft is too late, or another node has taken one of the messages on.
   */
  async keep(messages: readonly OutgoingMessage[], others: readonly Draft[]): Promise<boolean> {
    const fresh = messages.filter(({ id }) => this.#deliveries.get(id) === undefined);
    // Of several nodes one takes a message on.
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

  /** The state of a message now; undefined when there is none of this id any more. */
  find(id: string): WebhookDelivery | undefined {
    const delivery = this.#find(id);
    return delivery && expire(delivery, this.#deliveries.now());
  }

  /** Takes in that messages went with what they belong to. */
  refresh(): Promise<void> {
    return this.#deliveries.refresh();
  }

  /**
   * Lists the deliveries that are queued as far as the store knows and that this process has to send, the
   * oldest first; one that is over is to be updated once more.
   */
  *queued(): Iterable<WebhookDelivery> {
    for (const { id } of this.#deliveries.inGroup("queued", "")) {
      const delivery = this.#find(id);
      if (delivery === undefined || !holds(this.#holders, delivery)) continue;
      if (this.#deliveries.isStored(id)) yield delivery;
    }
  }

  /** The body to be sent; undefined when it is lost. */
  bodyOf(id: string): Promise<unknown> {
    return this.#store.get(BODIES, id);
  }

  /**
   * A message has moved on: it holds from now on, and after a crash once this resolves. False: it is
   * gone, or another node has taken it over meanwhile.
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

  /** Tries it no earlier, unless another node has it by now; forgotten with the process. */
  postpone(id: string, at: number): void {
    const delivery = this.#find(id);
    if (delivery === undefined || !holds(this.#holders, delivery)) return;
    if (isQueued(delivery)) this.#ahead.set(id, { ...delivery, at });
  }

  /** From now on this sends, until the function that is answered was called and has resolved. */
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
      // Also what could be taken.
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

  /** Nobody knows whether an attempt arrived that a process was at when it ended. */
  async #recover(): Promise<void> {
    for (const delivery of this.queued()) {
      const recovered = recover(delivery);
      if (!isQueued(recovered)) await this.update(recovered);
    }
  }

  /** Takes what waits from processes that are gone, in batches. */
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

  /** News that is over makes older such news go. */
  async #forgetSpent(): Promise<void> {
    const spent = this.#deliveries.inGroup("spent", "").map(({ id }) => id);
    await this.#deliveries.delete(spent.slice(0, Math.max(0, spent.length - SPENT_KEPT)));
  }
}
