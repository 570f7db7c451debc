/**
 * The outbox of webhook messages: what was put here is in the store before anybody hears of it, and
 * stays until it was delivered, has failed or has expired, through reloads and crashes. What became
 * of it can be asked for two days beyond its expiry; its id is delivered no second time meanwhile. Of
 * news that nobody asks about the latest are remembered.
 * AGTP "NOTIFY" delivery_guarantee
 */

import type {
  OutgoingMessage,
  WebhookMessage,
  WebhookQueue,
} from "../../dispatch/webhook-queue.ts";
import type { Change, Store } from "../../state/store.ts";
import { SpentMessages } from "./spent-messages.ts";
import { type CourierOptions, WebhookCourier } from "./webhook-courier.ts";
import {
  expire,
  isQueued,
  newDelivery,
  recover,
  type WebhookDelivery,
} from "./webhook-delivery.ts";
import {
  deleteBody,
  deleteMessage,
  putBody,
  putDelivery,
  readBody,
  readDeliveries,
} from "./webhook-storage.ts";

/** What the outbox needs of its surroundings. */
export interface OutboxOptions {
  readonly store: Store;
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** Waiting for one URL; whoever asks before putting something here leaves room for who does not. */
const MAX_QUEUED_PER_URL = 1000;
const MAX_QUEUED = 20_000;
/** Longer than whoever put something here asks for it. */
const REMEMBERED_MS = 2 * 86_400_000;
const SWEEP_EVERY_MS = 60_000;

export class WebhookOutbox implements WebhookQueue {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #deliveries = new Map<string, WebhookDelivery>();
  /** Those that wait and are in the store; the oldest first. */
  readonly #queued = new Set<string>();
  /** Those that are on their way into the store. */
  readonly #keeping = new Map<string, Promise<void>>();
  readonly #waitingByUrl = new Map<string, number>();
  readonly #spent = new SpentMessages();
  #waiting = 0;
  #courier: WebhookCourier | undefined;
  #sweptAt: number;

  private constructor({ store, now = Date.now }: OutboxOptions) {
    this.#store = store;
    this.#now = now;
    this.#sweptAt = now();
  }

  /** Opens the outbox of a store; nothing is sent before there is something that does. */
  static async open(options: OutboxOptions): Promise<WebhookOutbox> {
    const outbox = new WebhookOutbox(options);
    const forgotten: Change[] = [];
    for (const delivery of await readDeliveries(options.store)) {
      const recovered = recover(delivery);
      outbox.#remember(recovered);
      if (isQueued(recovered)) outbox.#queued.add(recovered.id);
      else if (isQueued(delivery)) await outbox.update(recovered);
      else forgotten.push(...outbox.#takeSpent(recovered));
    }
    forgotten.push(...outbox.#takeForgotten());
    if (forgotten.length > 0) await options.store.commit(forgotten);
    return outbox;
  }

  /** News, of which nobody asks what became. Rejects where there is no room at all. */
  async enqueue(message: WebhookMessage): Promise<void> {
    const { id } = message;
    if (this.#deliveries.has(id)) return this.#keeping.get(id);
    if (this.#waiting >= MAX_QUEUED) throw new Error("the webhook outbox is full");
    await this.keep([{ ...message, isNews: true }], []);
  }

  /** Whether one more message for a URL is taken on. */
  hasRoom(url: string): boolean {
    const isFree = (this.#waitingByUrl.get(url) ?? 0) < MAX_QUEUED_PER_URL;
    return isFree && this.#waiting < MAX_QUEUED;
  }

  /** Keeps messages and makes other changes in one commit: all of it, or nothing. */
  async keep(messages: readonly OutgoingMessage[], others: readonly Change[]): Promise<void> {
    const now = this.#now();
    const fresh = messages.filter(({ id }) => !this.#deliveries.has(id));
    const deliveries = fresh.map((message) => newDelivery(message, now));
    // By its size: a clock that stepped back does not put the sweep off.
    const isSweepDue = Math.abs(now - this.#sweptAt) >= SWEEP_EVERY_MS;
    const swept = isSweepDue ? this.#takeForgotten() : [];
    const bodies = fresh.map(({ id, body }) => putBody(id, body));
    for (const delivery of deliveries) this.#remember(delivery);
    const changes = [...swept, ...others, ...deliveries.map(putDelivery), ...bodies];
    const kept = this.#store.commit(changes).then(() => undefined);
    for (const { id } of deliveries) this.#keeping.set(id, kept);
    try {
      await kept;
    } catch (error) {
      for (const { id } of deliveries) this.#forget(id);
      throw error;
    } finally {
      for (const { id } of deliveries) this.#keeping.delete(id);
    }
    for (const { id } of deliveries) this.#queued.add(id);
    this.#courier?.wake();
  }

  /** How a message stands now; undefined when there is none of this id any more. */
  find(id: string): WebhookDelivery | undefined {
    const delivery = this.#deliveries.get(id);
    return delivery && expire(delivery, this.#now());
  }

  /** Forgets messages; the changes are for the caller to commit. */
  forget(ids: readonly string[]): readonly Change[] {
    const known = ids.filter((id) => this.#deliveries.has(id));
    for (const id of known) this.#forget(id);
    return known.flatMap(deleteMessage);
  }

  /** Those that wait to be sent; the oldest first. */
  *queued(): Iterable<WebhookDelivery> {
    for (const id of this.#queued) {
      const delivery = this.#deliveries.get(id);
      if (delivery !== undefined) yield delivery;
    }
  }

  /** What is to be sent; undefined when it is lost. */
  async bodyOf(id: string): Promise<unknown> {
    return readBody(this.#store, id);
  }

  /** A message has moved on: it holds from now on, and after a crash once this resolves. */
  async update(delivery: WebhookDelivery): Promise<void> {
    const before = this.#deliveries.get(delivery.id);
    if (before === undefined) return;
    this.#deliveries.set(delivery.id, delivery);
    if (isQueued(delivery)) {
      await this.#store.commit([putDelivery(delivery)]);
      return;
    }
    this.#queued.delete(delivery.id);
    if (isQueued(before)) this.#countWaiting(delivery.url, -1);
    const over = [putDelivery(delivery), deleteBody(delivery.id), ...this.#takeSpent(delivery)];
    await this.#store.commit(over);
  }

  /** Tries it no earlier; forgotten with the process. */
  postpone(id: string, at: number): void {
    const delivery = this.#deliveries.get(id);
    if (delivery !== undefined && isQueued(delivery)) this.#deliveries.set(id, { ...delivery, at });
  }

  /** From now on this sends, until the function that is answered was called and has resolved. */
  deliverBy(options: Omit<CourierOptions, "outbox" | "now">): () => Promise<void> {
    const courier = new WebhookCourier({ ...options, outbox: this, now: this.#now });
    this.#courier = courier;
    courier.wake();
    return async () => {
      if (this.#courier === courier) this.#courier = undefined;
      await courier.stop();
    };
  }

  #takeForgotten(): readonly Change[] {
    const now = this.#now();
    this.#sweptAt = now;
    const over = [...this.#deliveries.values()].filter(
      ({ expiresAt }) => expiresAt + REMEMBERED_MS < now,
    );
    return this.forget(over.map(({ id }) => id));
  }

  /** News that is over makes older such news go. */
  #takeSpent({ id, isNews }: WebhookDelivery): readonly Change[] {
    return isNews === undefined ? [] : this.forget(this.#spent.add(id));
  }

  #remember(delivery: WebhookDelivery): void {
    this.#deliveries.set(delivery.id, delivery);
    if (isQueued(delivery)) this.#countWaiting(delivery.url, 1);
  }

  #forget(id: string): void {
    const delivery = this.#deliveries.get(id);
    if (delivery === undefined) return;
    this.#deliveries.delete(id);
    this.#queued.delete(id);
    this.#spent.delete(id);
    if (isQueued(delivery)) this.#countWaiting(delivery.url, -1);
  }

  #countWaiting(url: string, change: number): void {
    this.#waiting += change;
    const count = (this.#waitingByUrl.get(url) ?? 0) + change;
    if (count > 0) this.#waitingByUrl.set(url, count);
    else this.#waitingByUrl.delete(url);
  }
}
