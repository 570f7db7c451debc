/**
 * Carries what waits in the outbox, as long as its deployment is served: several at a time, shared by their
 * senders, few of them to one URL, each when its pause is over. What became of one is kept again where the store
 * could not. Asked to stop it begins nothing more, lets what runs end for a moment, and then breaks it off:
 * what was broken off is sent again by the next.
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

/** Sends within a bounded time; never rejects. */
export type SendWebhook = (attempt: WebhookAttempt) => Promise<AttemptOutcome>;

/** Calls back after so many milliseconds, unless what it answers is called before. */
export type Schedule = (callback: () => void, afterMs: number) => () => void;

/** Hears of what became of messages. */
interface CourierLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

interface CourierOutbox {
  queued(): Iterable<WebhookDelivery>;
  bodyOf(id: string): Promise<unknown>;
  /** False: it is not this process's to send any more. */
  update(delivery: WebhookDelivery): Promise<boolean>;
  postpone(id: string, at: number): void;
}

/** The parts that a courier works with; tests choose their own clock. */
export interface CourierOptions {
  readonly outbox: CourierOutbox;
  readonly send: SendWebhook;
  /** False for a URL that messages may not go to now; an attempt there would be the only one of some. */
  reaches?(url: string): boolean;
  readonly log: CourierLog;
  now(): number;
  random?(): number;
  readonly schedule?: Schedule;
}

const MAX_AT_ONCE = 16;
const MAX_AT_ONCE_PER_URL = 4;
/** The messages of one sender that are chosen from: as many for each of so many URLs as could begin. */
const MAX_NOTED = 64;
/** After a fault of this server: a full disk is not cured by haste. */
const FAULT_PAUSE_MS = 30_000;
const GRACE_MS = 1000;
/** Timers of Node.js fire at once beyond 2^31 milliseconds. */
const LONGEST_WAIT_MS = 3_600_000;

export class WebhookCourier {
  readonly #options: CourierOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #shares = new FairShares(MAX_AT_ONCE);
  readonly #runningByUrl = new Tally();
  readonly #closing = new AbortController();
  /** When the state of what is over is kept once more, after it could not be. */
  #keepAgainAt = 0;
  #isStopped = false;
  #cancelTimer: () => void = () => undefined;

  constructor(options: CourierOptions) {
    this.#options = options;
  }

  /** Begins what is due, and comes back for the rest by itself. */
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
    // The next that ends wakes it again.
    if (this.#shares.isFull) return;
    this.#cancelTimer = (this.#options.schedule ?? scheduleTimer)(() => this.wake(), next - at);
  }

  /** Begins as many as there are places, each for the sender whose turn it is. */
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

  /** Resolves when nothing runs any more. */
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
    // Said before it is done: after a crash it counts as tried.
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

/** News of the server itself is of nobody. */
function ownerOf({ owner = "" }: WebhookDelivery): string {
  return owner;
}

/** Notes as many of each sender as could begin at once. */
function note(due: Map<string, WebhookDelivery[]>, delivery: WebhookDelivery): void {
  const own = due.get(ownerOf(delivery)) ?? [];
  due.set(ownerOf(delivery), own);
  const toUrl = own.filter(({ url }) => url === delivery.url).length;
  if (own.length < MAX_NOTED && toUrl < MAX_AT_ONCE_PER_URL) own.push(delivery);
}

/** The rest of a URL may be a secret. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

/** Calls back after so long; the function that is answered takes that back. */
export function scheduleTimer(callback: () => void, afterMs: number): () => void {
  const timer = setTimeout(callback, afterMs);
  timer.unref();
  return () => clearTimeout(timer);
}
