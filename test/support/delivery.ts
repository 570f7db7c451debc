/** Notifications and their outbox over a store, with a clock and a way out that a test commands. */

import type { Notification, NotificationDraft } from "../../src/modules/delivery/notification.ts";
import {
  type NotificationLimits,
  NotificationRegister,
} from "../../src/modules/delivery/notification-register.ts";
import type {
  Schedule,
  SendWebhook,
  WebhookAttempt,
} from "../../src/modules/delivery/webhook-courier.ts";
import type { AttemptOutcome } from "../../src/modules/delivery/webhook-delivery.ts";
import { WebhookOutbox } from "../../src/modules/delivery/webhook-outbox.ts";
import { type Holders, SOLE_HOLDER } from "../../src/state/holders.ts";
import type { Store } from "../../src/state/store.ts";

/** A clock that a test moves; what is due is called on the way. */
export class TestClock {
  #at = Date.parse("2026-06-01T00:00:00Z");
  readonly #timers = new Map<object, { readonly at: number; readonly callback: () => void }>();

  readonly now = (): number => this.#at;

  readonly schedule: Schedule = (callback, afterMs) => {
    const timer = {};
    this.#timers.set(timer, { at: this.#at + afterMs, callback });
    return () => this.#timers.delete(timer);
  };

  /** Sets it to another time; what is due is due after as long as before. */
  step(ms: number): void {
    this.#at += ms;
    for (const [timer, { at, callback }] of this.#timers) {
      this.#timers.set(timer, { at: at + ms, callback });
    }
  }

  /** Moves on, stopping at each timer until everything that it began has ended. */
  async advance(ms: number): Promise<void> {
    const end = this.#at + ms;
    await settle();
    for (;;) {
      const due = [...this.#timers].toSorted(([, left], [, right]) => left.at - right.at)[0];
      if (due === undefined || due[1].at > end) break;
      this.#timers.delete(due[0]);
      this.#at = due[1].at;
      due[1].callback();
      await settle();
    }
    this.#at = end;
    await settle();
  }
}

/** Lets every promise that waits for nothing but others come to its end. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Answers attempts as a test says, and remembers them. */
export class TestWebhook {
  readonly attempts: (WebhookAttempt & { readonly at: number })[] = [];
  readonly #clock: TestClock;
  answer: (attempt: WebhookAttempt) => AttemptOutcome | Promise<AttemptOutcome> = () => ({
    kind: "taken",
  });

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  readonly send: SendWebhook = async (attempt) => {
    this.attempts.push({ ...attempt, at: this.#clock.now() });
    return this.answer(attempt);
  };

  /** From now on it does not take this many messages, and then all. */
  fail(times: number, reason = "answered with status 500"): void {
    let left = times;
    this.answer = () => {
      left -= 1;
      return left < 0 ? { kind: "taken" } : { kind: "failed", reason };
    };
  }
}

/** All of it, opened over a store. */
export interface TestDelivery {
  readonly outbox: WebhookOutbox;
  readonly register: NotificationRegister;
  readonly logged: readonly Readonly<Record<string, unknown>>[];
  /** Begins to send; the function that is answered ends that. */
  start(): () => Promise<void>;
}

interface DeliveryOptions {
  readonly store: Store;
  readonly clock: TestClock;
  readonly webhook?: TestWebhook;
  readonly limits?: Partial<NotificationLimits>;
  readonly holders?: Holders;
}

export async function openDelivery(options: DeliveryOptions): Promise<TestDelivery> {
  const { store, clock, limits = {}, holders = SOLE_HOLDER } = options;
  const { webhook = new TestWebhook(clock) } = options;
  const { now, schedule } = clock;
  const outbox = await WebhookOutbox.open({ store, now, holders });
  const register = await NotificationRegister.open({ store, outbox, now, limits });
  const logged: Readonly<Record<string, unknown>>[] = [];
  const note = (fields: object): void => void logged.push({ ...fields });
  const log = { info: note, warn: note };
  return {
    ...{ outbox, register, logged },
    start: () => outbox.deliverBy({ send: webhook.send, log, schedule, random: () => 1 }),
  };
}

export const HOUR_MS = 3_600_000;
export const DAY_MS: number = 24 * HOUR_MS;

export const SENDER: string = "a".repeat(64);
export const READER: string = "b".repeat(64);

/** Something for one reader, unless a test says otherwise. */
export function makeDraft(
  clock: TestClock,
  changes: Partial<NotificationDraft> = {},
): NotificationDraft {
  return {
    id: undefined,
    fingerprint: "f",
    sender: SENDER,
    senderName: "sender",
    recipient: "reader",
    recipients: [agent("reader", READER)],
    urgency: "informational",
    guarantee: "at_least_once",
    sentAt: clock.now(),
    expiresAt: clock.now() + HOUR_MS,
    content: { text: "the boat leaves at nine" },
    serverId: "test",
    ...changes,
  };
}

export function agent(name: string, agentId: string): NotificationDraft["recipients"][number] {
  return { kind: "agent", name, agentId };
}

export function webhook(name: string): NotificationDraft["recipients"][number] {
  return { kind: "webhook", name: `webhook:${name}`, url: `https://${name}.example/` };
}

/** Accepts a draft that must be accepted. */
export async function accept(
  register: NotificationRegister,
  draft: NotificationDraft,
): Promise<Notification> {
  const acceptance = await register.accept(draft);
  if (acceptance.kind !== "accepted") throw new Error(JSON.stringify(acceptance));
  return acceptance.notification;
}
