/**
 * Sends the messages of the outbox while its deployment is served: concurrently, fairly by sender, few to one URL,
 * each after its pause. A state that the store did not take is written again. On stop, it starts nothing more, gives
 * running attempts a moment and then aborts them; aborted messages are sent again by the next courier.
 */

import { FairShares } from "../../base/fair-shares.ts";
import { Tally } from "../../base/tally.ts";
import { reasonOf } from "../../base/thrown.ts";
import {
  type AttemptOutcome,
  beginAttempt,
  endAttempt,
  expire,
  isQueued,
  putOff,
  type WebhookDelivery,
  waitFor,
} from "./webhook-delivery.ts";

export interface WebhookAttempt {
  readonly id: string;
  readonly url: string;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

/** Sends a message within a bounded time; never rejects. */
export type SendWebhook = (attempt: WebhookAttempt) => Promise<AttemptOutcome>;

/** Calls back after `afterMs` milliseconds, unless the returned function is called first. */
export type Schedule = (callback: () => void, afterMs: number) => () => void;

/** The log of outcomes. */
interface CourierLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

interface CourierOutbox {
  queued(): Iterable<WebhookDelivery>;
  bodyOf(id: string): Promise<unknown>;
  /** False: this process may no longer send the message. */
  update(delivery: WebhookDelivery): Promise<boolean>;
  postpone(id: string, at: number): void;
}

/** The dependencies of a courier; tests supply their own clock. */
export interface CourierOptions {
  readonly outbox: CourierOutbox;
  readonly send: SendWebhook;
  /** False for a URL that is not configured now, so that a message with one attempt does not waste it. */
  reaches?(url: string): boolean;
  readonly log: CourierLog;
  now(): number;
  random?(): number;
  readonly schedule?: Schedule;
}

const MAX_AT_ONCE = 16;
const MAX_AT_ONCE_PER_URL = 4;
/** The most candidates noted for one sender in a round. */
const MAX_NOTED = 64;
/** The pause after an internal fault, since haste does not help against a full disk. */
const FAULT_PAUSE_MS = 30_000;
const GRACE_MS = 1000;
/** Longest timer, since those of Node.js fire at once beyond 2^31 milliseconds. */
const LONGEST_WAIT_MS = 3_600_000;

export class WebhookCourier {
  readonly #options: CourierOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #shares = new FairShares(MAX_AT_ONCE);
  readonly #runningByUrl = new Tally();
  readonly #closing = new AbortController();
  /** When the final states that the store did not take are written again. */
  #keepAgainAt = 0;
  #isStopped = false;
  #cancelTimer: () => void = () => undefined;

  constructor(options: CourierOptions) {
    this.#options = options;
  }

  /** Starts due messages, and schedules itself for the rest. */
  wake(): void {
    if (this.#isStopped) return;
    this.#cancelTimer();
    const { outbox, now } = this.#options;
    const at = now();
    let next = at + LONGEST_WAIT_MS;
    if (this.#shares.isFull) return;
    const due = new Map<string, WebhookDelivery[]>();
    for (const delivery of outbox.queued()) {
      const wait = waitFor(isQueued(delivery) ? delivery : { at: this.#keepAgainAt }, at);
      if (wait > 0) next = Math.min(next, at + wait);
      else if (!this.#running.has(delivery.id) && this.#isUrlFree(delivery)) note(due, delivery);
    }
    this.#begin(due);
    // The next attempt to end wakes it again.
    if (this.#shares.isFull) return;
    this.#cancelTimer = (this.#options.schedule ?? scheduleTimer)(() => this.wake(), next - at);
  }

  /** Fills the free places, one message for each sender in turn. */
  #begin(due: Map<string, WebhookDelivery[]>): void {
    for (let owner = this.#shares.next(due.keys()); owner !== undefined; ) {
      const own = due.get(owner) ?? [];
      const at = own.findIndex((one) => this.#isUrlFree(one));
      const [delivery] = at === -1 ? [] : own.splice(at, 1);
      if (delivery === undefined || own.length === 0) due.delete(owner);
      if (delivery !== undefined) this.#run(delivery);
      owner = this.#shares.next(due.keys());
    }
  }

  #isUrlFree({ url }: WebhookDelivery): boolean {
    return this.#runningByUrl.of(url) < MAX_AT_ONCE_PER_URL;
  }

  /** Stops the courier; resolves once no attempt is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    if (this.#running.size === 0) return;
    const grace = scheduleTimer(() => this.#closing.abort(new Error("closing")), GRACE_MS);
    await Promise.all(this.#running.values());
    grace();
  }

  #run(delivery: WebhookDelivery): void {
    const { id, url } = delivery;
    const { outbox, log, now } = this.#options;
    const release = this.#shares.take(ownerOf(delivery));
    const done = this.#carry(delivery)
      .catch((error: unknown) => {
        this.#keepAgainAt = now() + FAULT_PAUSE_MS;
        outbox.postpone(id, this.#keepAgainAt);
        const fields = { event: "webhook-fault", delivery_id: id, reason: reasonOf(error) };
        log.warn(fields, "the state of a webhook message cannot be kept");
      })
      .then(() => {
        release();
        this.#running.delete(id);
        this.#runningByUrl.remove(url);
        this.wake();
      });
    this.#running.set(id, done);
    this.#runningByUrl.add(url);
  }

  async #carry(delivery: WebhookDelivery): Promise<void> {
    const { outbox, send, now, random = Math.random } = this.#options;
    if (!isQueued(delivery)) return void (await outbox.update(delivery));
    const late = expire(delivery, now());
    if (!isQueued(late)) return this.#settle(late, undefined);
    const { id, url } = delivery;
    if (delivery.isOnce && this.#options.reaches?.(url) === false) {
      return this.#settle(putOff(delivery, now()), undefined);
    }
    const body = await outbox.bodyOf(id);
    const begun = beginAttempt(delivery);
    if (body === undefined) {
      const failed = { kind: "failed", reason: "the message is not in the store" } as const;
      return this.#settle({ ...begun, state: "failed", at: now(), reason: failed.reason }, failed);
    }
    // Stored before sending, so that it counts as tried after a crash.
    if (begun.isOnce && !(await outbox.update(begun))) return;
    const { signal } = this.#closing;
    const outcome = await send({ id, url, body, signal });
    if (signal.aborted && outcome.kind === "failed" && !begun.isOnce) return;
    await this.#settle(endAttempt(begun, outcome, { now: now(), random: random() }), outcome);
  }

  async #settle(delivery: WebhookDelivery, outcome: AttemptOutcome | undefined): Promise<void> {
    const { outbox, log } = this.#options;
    const { id, url, state, attempts, at, reason } = delivery;
    const fields = { delivery_id: id, host: hostOf(url), attempts };
    const detail = outcome?.kind === "failed" ? outcome.detail : undefined;
    const failure = { ...fields, reason, ...(detail === undefined ? {} : { detail }) };
    switch (state) {
      case "delivered":
        log.info({ event: "webhook-delivered", ...fields }, "a webhook took a message");
        break;
      case "queued": {
        const failed = {
          event: "webhook-postponed",
          ...failure,
          retry_at: new Date(at).toISOString(),
        };
        log.warn(failed, "a webhook did not take a message");
        break;
      }
      case "failed":
        log.warn({ event: "webhook-failed", ...failure }, "a webhook message was given up");
        break;
      case "expired":
        log.warn({ event: "webhook-expired", ...failure }, "a webhook message was given up");
        break;
    }
    await outbox.update(delivery);
  }
}

/** The owner of a message; the server's own news have none. */
function ownerOf({ owner = "" }: WebhookDelivery): string {
  return owner;
}

/** Notes only as many messages of each sender as could start at once. */
function note(due: Map<string, WebhookDelivery[]>, delivery: WebhookDelivery): void {
  const own = due.get(ownerOf(delivery)) ?? [];
  due.set(ownerOf(delivery), own);
  const toUrl = own.filter(({ url }) => url === delivery.url).length;
  if (own.length < MAX_NOTED && toUrl < MAX_AT_ONCE_PER_URL) own.push(delivery);
}

/** Logs get only the host, because the rest of a URL may be secret. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

/** Calls back after `afterMs` milliseconds; the returned function cancels that. */
export function scheduleTimer(callback: () => void, afterMs: number): () => void {
  const timer = setTimeout(callback, afterMs);
  timer.unref();
  return () => clearTimeout(timer);
}
