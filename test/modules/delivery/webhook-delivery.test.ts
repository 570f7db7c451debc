import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  beginAttempt,
  endAttempt,
  expire,
  isQueued,
  readDelivery,
  recover,
  scatteredPause,
  type WebhookDelivery,
} from "../../../src/modules/delivery/webhook-delivery.ts";

const QUEUED: WebhookDelivery = {
  ...{ id: "m-1", url: "https://desk.example/", expiresAt: 100_000, isOnce: false },
  ...{ state: "queued", attempts: 0, at: 0 },
};

describe("scatteredPause", () => {
  it("doubles, and stops growing at a quarter of an hour", () => {
    const pauses = [1, 2, 3, 4, 12, 13, 1000].map((attempts) => scatteredPause(attempts, 1));
    expect(pauses).toEqual([500, 1000, 2000, 4000, 900_000, 900_000, 900_000]);
  });

  it("is spread over its second half", () => {
    expect([scatteredPause(1, 0), scatteredPause(1, 0.5)]).toEqual([250, 375]);
  });
});

describe("readDelivery", () => {
  it("reads what was stored, and nothing else", () => {
    expect(readDelivery(JSON.parse(JSON.stringify(QUEUED)))).toEqual(QUEUED);
    for (const key of Object.keys(QUEUED)) {
      expect(readDelivery({ ...QUEUED, [key]: null }), key).toBeUndefined();
    }
    for (const value of [null, 7, "m-1", [], { ...QUEUED, state: "lost" }]) {
      expect(readDelivery(value)).toBeUndefined();
    }
  });
});

type Step =
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "attempt"; readonly isTaken: boolean; readonly ms: number }
  | { readonly kind: "crash"; readonly isSending: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 60_000 }) }),
  fc.record({
    kind: fc.constant("attempt" as const),
    isTaken: fc.boolean(),
    ms: fc.integer({ min: 0, max: 10_000 }),
  }),
  fc.record({ kind: fc.constant("crash" as const), isSending: fc.boolean() }),
);

/** What the courier and the outbox do with a message, without either. */
class Run {
  delivery: WebhookDelivery;
  now = 0;
  /** When attempts began; only what is sent at most once is in the store before that. */
  readonly sent: number[] = [];
  taken = 0;

  constructor(isOnce: boolean) {
    this.delivery = { ...QUEUED, isOnce };
  }

  take(step: Step, random: number): void {
    if (step.kind === "pass") this.now += step.ms;
    if (step.kind === "crash") this.#crash(step.isSending);
    if (step.kind === "attempt") this.#attempt(step, random);
    this.delivery = expire(this.delivery, this.now);
  }

  get isDue(): boolean {
    const { delivery, now } = this;
    return isQueued(expire(delivery, now)) && delivery.at <= now;
  }

  #crash(isSending: boolean): void {
    if (isSending && this.isDue) {
      this.sent.push(this.now);
      if (this.delivery.isOnce) this.delivery = beginAttempt(this.delivery);
    }
    this.delivery = recover(this.delivery);
  }

  #attempt({ isTaken, ms }: Extract<Step, { kind: "attempt" }>, random: number): void {
    if (!this.isDue) return;
    this.sent.push(this.now);
    const begun = beginAttempt(this.delivery);
    this.now += ms;
    if (isTaken) this.taken += 1;
    const outcome = isTaken
      ? ({ kind: "taken" } as const)
      : ({ kind: "failed", reason: "no" } as const);
    this.delivery = endAttempt(begun, outcome, { now: this.now, random });
  }
}

// AGTP "NOTIFY" delivery_guarantee
describe("a message, whatever happens to it", () => {
  const steps = fc.array(step, { maxLength: 60 });
  const random = fc.double({ min: 0, max: 1, noNaN: true });

  it("is sent at most once if that was asked for, and never after its expiry", () => {
    fc.assert(
      fc.property(fc.boolean(), steps, random, (isOnce, taken, chance) => {
        const run = new Run(isOnce);
        for (const one of taken) run.take(one, chance);
        if (isOnce) expect(run.sent.length).toBeLessThanOrEqual(1);
        for (const at of run.sent) expect(at).toBeLessThan(QUEUED.expiresAt);
      }),
    );
  });

  it("is delivered exactly when it was taken, and stays what it has become", () => {
    fc.assert(
      fc.property(fc.boolean(), steps, steps, random, (isOnce, before, after, chance) => {
        const run = new Run(isOnce);
        for (const one of before) run.take(one, chance);
        expect(run.delivery.state === "delivered").toBe(run.taken > 0);
        const settled = isQueued(run.delivery) ? undefined : run.delivery;
        for (const one of after) run.take(one, chance);
        if (settled !== undefined) expect(run.delivery).toEqual(settled);
        expect(run.taken).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("is tried again before its expiry until it is taken, unless it is sent at most once", () => {
    fc.assert(
      fc.property(steps, random, (taken, chance) => {
        const run = new Run(false);
        for (const one of taken) run.take(one, chance);
        const { state, at, expiresAt } = run.delivery;
        expect(state).not.toBe("failed");
        if (state === "queued") expect(at).toBeLessThanOrEqual(expiresAt);
        while (isQueued(run.delivery)) {
          run.take({ kind: "pass", ms: Math.max(1, run.delivery.at - run.now) }, chance);
          run.take({ kind: "attempt", isTaken: true, ms: 0 }, chance);
        }
        expect(["delivered", "expired"]).toContain(run.delivery.state);
      }),
    );
  });
});
