import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NotificationDraft } from "../../../src/modules/delivery/notification.ts";
import type { NotificationLimits } from "../../../src/modules/delivery/notification-register.ts";
import {
  acceptedReceipt,
  currentReceipt,
} from "../../../src/modules/delivery/notification-views.ts";
import {
  accept,
  agent,
  DAY_MS,
  HOUR_MS,
  makeDraft,
  openDelivery,
  READER,
  SENDER,
  settle,
  TestClock,
  type TestDelivery,
  TestWebhook,
  webhook,
} from "../../support/delivery.ts";
import { makeLastingStore } from "../../support/state.ts";
import { alterStore } from "../../support/store.ts";

function setUp(limits: Partial<NotificationLimits> = {}) {
  const clock = new TestClock();
  const desk = new TestWebhook(clock);
  const store = makeLastingStore();
  const options = { store, clock, webhook: desk, limits };
  const draft = (changes: Partial<NotificationDraft> = {}) => makeDraft(clock, changes);
  return { clock, desk, store, draft, open: () => openDelivery(options) };
}

function idsIn({ register }: TestDelivery, agentId = READER): readonly string[] {
  return register.inboxOf(agentId).map(({ notification }) => notification.id);
}

const OTHER = "c".repeat(64);

describe("an inbox", () => {
  it("has what was sent to its agent, the newest first, and nobody else's", async () => {
    const { draft, open } = setUp();
    const delivery = await open();
    for (const id of ["n-1", "n-2"]) await accept(delivery.register, draft({ id }));
    await accept(delivery.register, draft({ id: "n-3", recipients: [agent("other", OTHER)] }));
    expect(idsIn(delivery)).toEqual(["n-2", "n-1"]);
    expect(idsIn(delivery, OTHER)).toEqual(["n-3"]);
    expect(idsIn(delivery, SENDER)).toEqual([]);
  });

  it("has the newest first, also where another process has told of an older one later", async () => {
    const { draft, open } = setUp();
    const [first, second] = [await open(), await open()];
    await accept(first.register, draft({ id: "n-1" }));
    await accept(second.register, draft({ id: "n-2" }));
    expect((await second.register.accept(draft({ id: "n-1" }))).kind).toBe("taken");
    expect(idsIn(second)).toEqual(["n-2", "n-1"]);
  });

  it("is there after each restart, with what its agent said", async () => {
    const { draft, open } = setUp();
    const first = await open();
    const kept = await accept(first.register, draft({ id: "n-1" }));
    await accept(first.register, draft({ id: "n-2" }));
    const said = { status: "rejected", reason: "not mine" } as const;
    const confirmation = await first.register.confirm(kept.serial, READER, said);
    await open();
    const second = await open();
    expect(second.register.inboxOf(READER)).toEqual(first.register.inboxOf(READER));
    expect(second.register.entryOf(kept.serial, READER)?.confirmation).toEqual(confirmation);
    expect(await second.register.contentOf(kept.serial)).toEqual({
      text: "the boat leaves at nine",
    });
  });

  it("does not show what has expired", async () => {
    const { clock, draft, open } = setUp();
    const delivery = await open();
    const notification = await accept(delivery.register, draft({ id: "n-1" }));
    await clock.advance(HOUR_MS - 1);
    expect(idsIn(delivery)).toEqual(["n-1"]);
    await clock.advance(1);
    expect(idsIn(delivery)).toEqual([]);
    expect(currentReceipt(notification, delivery)).toMatchObject({ state: "expired" });
  });

  it("takes so much of one sender, and so much in all", async () => {
    const { draft, open } = setUp({ perInbox: 5, perSender: 3 });
    const { register } = await open();
    const from = (sender: string) => register.accept(draft({ sender }));
    for (let n = 0; n < 3; n += 1) expect((await from(SENDER)).kind).toBe("accepted");
    expect(await from(SENDER)).toEqual({
      kind: "undelivered",
      deliveries: [{ kind: "none", name: "reader", reason: "inbox-full" }],
    });
    expect([(await from(OTHER)).kind, (await from(OTHER)).kind]).toEqual(["accepted", "accepted"]);
    expect((await from("d".repeat(64))).kind).toBe("undelivered");
  });

  it.each([{ perSender: 1 }, { perInbox: 1 }])(
    "of %j has room again for what was read, and for what has expired",
    async (limits) => {
      const { clock, draft, open } = setUp(limits);
      const { register } = await open();
      const first = await accept(register, draft());
      await register.confirm(first.serial, READER, { status: "deferred" });
      expect((await register.accept(draft())).kind).toBe("undelivered");
      await register.confirm(first.serial, READER, { status: "accepted" });
      await accept(register, draft());
      expect((await register.accept(draft())).kind).toBe("undelivered");
      await clock.advance(HOUR_MS);
      await accept(register, draft());
    },
  );

  it("has room again for what was forgotten unread, while others made room", async () => {
    const { clock, draft, open } = setUp({ perSender: 1 });
    const { register } = await open();
    await accept(register, draft({ sender: OTHER, expiresAt: clock.now() + 3 * DAY_MS }));
    await accept(register, draft({ expiresAt: clock.now() + 1 }));
    await clock.advance(DAY_MS + 2);
    await accept(register, draft({ recipients: [agent("other", OTHER)] }));
    await accept(register, draft());
  });

  it("has no room for more once what was read is deferred, until that is over", async () => {
    const { clock, draft, open } = setUp({ perSender: 1 });
    const { register } = await open();
    const first = await accept(register, draft());
    await register.confirm(first.serial, READER, { status: "accepted" });
    await register.confirm(first.serial, READER, { status: "deferred" });
    expect((await register.accept(draft())).kind).toBe("undelivered");
    await register.confirm(first.serial, READER, { status: "rejected" });
    await accept(register, draft());
    await register.confirm(first.serial, READER, { status: "deferred" });
    await clock.advance(HOUR_MS);
    await accept(register, draft());
    expect((await register.accept(draft())).kind).toBe("undelivered");
    expect((await (await open()).register.accept(draft())).kind).toBe("undelivered");
  });
});

describe("a notification", () => {
  it("is not there for anybody if it could not be kept", async () => {
    const { store, draft, open } = setUp();
    const delivery = await open();
    store.fault = new Error("the disk is full");
    const recipients = [agent("reader", READER), webhook("desk")];
    await expect(delivery.register.accept(draft({ id: "n-1", recipients }))).rejects.toThrow();
    store.fault = undefined;
    expect(delivery.register.find(SENDER, "n-1")).toBeUndefined();
    expect(idsIn(delivery)).toEqual([]);
    expect([...delivery.outbox.queued()]).toEqual([]);
    await accept(delivery.register, draft({ id: "n-1", recipients }));
    expect(idsIn(delivery)).toEqual(["n-1"]);
  });

  it("tells its sender the truth about each recipient", async () => {
    const { clock, desk, draft, open } = setUp();
    const delivery = await open();
    desk.fail(1);
    delivery.start();
    const notification = await accept(
      delivery.register,
      draft({
        recipients: [
          agent("reader", READER),
          webhook("desk"),
          { kind: "nobody", name: "ghost", reason: "recipient-not-found" },
        ],
      }),
    );
    const ghost = { recipient: "ghost", state: "failed", reason: "recipient-not-found" };
    expect(acceptedReceipt(notification)).toMatchObject({
      state: "partial",
      delivered: false,
      receipts: [
        { recipient: "reader", agent_id: READER, state: "delivered" },
        { recipient: "webhook:desk", state: "queued" },
        ghost,
      ],
    });
    await clock.advance(0);
    expect(currentReceipt(notification, delivery)["receipts"]).toEqual([
      expect.objectContaining({ state: "delivered" }),
      {
        recipient: "webhook:desk",
        state: "queued",
        attempts: 1,
        next_attempt_at: "2026-06-01T00:00:00.500Z",
        reason: "answered with status 500",
      },
      ghost,
    ]);
    await clock.advance(1000);
    await delivery.register.confirm(notification.serial, READER, { status: "accepted" });
    expect(currentReceipt(notification, delivery)["receipts"]).toEqual([
      {
        recipient: "reader",
        agent_id: READER,
        state: "delivered",
        delivered_at: "2026-06-01T00:00:00.000Z",
        confirmation: { status: "accepted", at: "2026-06-01T00:00:01.000Z" },
      },
      {
        recipient: "webhook:desk",
        state: "delivered",
        attempts: 2,
        delivered_at: "2026-06-01T00:00:00.500Z",
      },
      ghost,
    ]);
  });

  it("is delivered to a webhook once its process was killed after the answer", async () => {
    const { clock, desk, draft, open } = setUp();
    const first = await open();
    const notification = await accept(first.register, draft({ recipients: [webhook("desk")] }));
    const second = await open();
    second.start();
    await clock.advance(0);
    expect(desk.attempts).toHaveLength(1);
    expect(desk.attempts[0]?.body).toEqual({
      type: "notification",
      delivery_id: `${notification.serial}:desk`,
      notification_id: notification.serial,
      server_id: "test",
      sender: { agent_id: SENDER, name: "sender" },
      recipient: "webhook:desk",
      urgency: "informational",
      delivery_guarantee: "at_least_once",
      sent_at: "2026-06-01T00:00:00.000Z",
      expires_at: "2026-06-01T01:00:00.000Z",
      content: { text: "the boat leaves at nine" },
    });
    expect(currentReceipt(notification, second)).toMatchObject({ state: "delivered" });
  });

  it("is remembered for a day beyond its expiry, and then leaves nothing behind", async () => {
    const { clock, store, draft, open } = setUp();
    const first = await open();
    const recipients = [agent("reader", READER), webhook("desk")];
    const { serial } = await accept(first.register, draft({ id: "n-1", recipients }));
    await first.register.confirm(serial, READER, { status: "accepted" });
    await clock.advance(HOUR_MS + DAY_MS);
    expect((await open()).register.find(SENDER, "n-1")?.serial).toBe(serial);
    await clock.advance(1);
    expect((await open()).register.find(SENDER, "n-1")).toBeUndefined();
    await clock.advance(DAY_MS);
    await open();
    for (const collection of [
      ...["notifications", "notification-confirmations"],
      ...["webhook-deliveries", "webhook-bodies"],
    ]) {
      expect(await store.list(collection), collection).toEqual([]);
    }
  });
});

describe("an id that was forgotten", () => {
  it("can be used again, also before the register was swept", async () => {
    const { clock, store, draft, open } = setUp();
    const { register } = await open();
    await clock.advance(30_000);
    const first = await accept(register, draft({ id: "n-1", expiresAt: clock.now() + 1 }));
    await accept(register, draft({ expiresAt: clock.now() + 3 * DAY_MS }));
    await clock.advance(DAY_MS + 2);
    await accept(register, draft({ expiresAt: clock.now() + 3 * DAY_MS }));
    await accept(register, draft({ id: "n-2", expiresAt: clock.now() + 1 }));
    await clock.advance(DAY_MS + 2);
    expect(register.find(SENDER, "n-1")).toBeUndefined();
    expect(register.find(SENDER, "n-2")).toBeUndefined();
    expect(register.sentBy(SENDER)).toHaveLength(2);
    const again = await accept(register, draft({ id: "n-2" }));
    expect(again.serial).not.toBe(first.serial);
    expect(register.find(SENDER, "n-2")).toBe(again);
    expect(await store.list("notifications")).toHaveLength(3);
  });
});

describe("an id that two processes over one store take", () => {
  it("is the first one's, and the second hears what was sent by it", async () => {
    const { draft, open } = setUp();
    const [one, other] = [await open(), await open()];
    const first = await accept(one.register, draft({ id: "n-1", content: { text: "first" } }));
    const second = await other.register.accept(draft({ id: "n-1", content: { text: "second" } }));
    expect(second).toEqual({ kind: "taken", notification: first });
    expect(await other.register.contentOf(first.serial)).toEqual({ text: "first" });
    expect(idsIn(other)).toEqual(["n-1"]);
    expect((await other.register.accept(draft({ id: "n-1", sender: OTHER }))).kind).toBe(
      "accepted",
    );
  });

  it("is exactly one's where both come at once, and whoever asks meanwhile is told so", async () => {
    const { draft, open, store } = setUp();
    const [one, other] = [await open(), await open()];
    const both = [one, other].map(({ register }) => register.accept(draft({ id: "n-1" })));
    const early = other.register.find(SENDER, "n-1");
    const isSettled = early && other.register.settled(early);
    const kinds = (await Promise.all(both)).map(({ kind }) => kind);
    expect(kinds).toEqual(["accepted", "taken"]);
    expect(await isSettled).toBe(false);
    expect(await store.list("notifications")).toHaveLength(1);
  });

  it("is delivered once, also where a process hears of the name before the notification", async () => {
    const { clock, draft, open, store } = setUp();
    const one = await open();
    let tell = (): void => undefined;
    let told: Promise<void> | undefined;
    const late = alterStore(store, {
      changes: async (after, collection) => {
        if (collection === "notifications") await told;
        return store.changes(after, collection);
      },
    });
    const other = await openDelivery({ store: late, clock });
    const first = await accept(one.register, draft({ id: "n-1" }));
    told = new Promise((resolve) => {
      tell = resolve;
    });
    const second = other.register.accept(draft({ id: "n-1" }));
    await settle();
    const third = other.register.accept(draft({ id: "n-1" }));
    await settle();
    tell();
    const taken = { kind: "taken", notification: first };
    expect(await Promise.all([second, third])).toEqual([taken, taken]);
    expect(await store.list("notifications")).toHaveLength(1);
  });

  it("is taken although the notification that had it is lost", async () => {
    const { draft, open, store } = setUp();
    const first = await accept((await open()).register, draft({ id: "n-1" }));
    await store.commit([{ kind: "delete", collection: "notifications", key: first.serial }]);
    const { register } = await open();
    const again = await accept(register, draft({ id: "n-1" }));
    expect(register.find(SENDER, "n-1")).toBe(again);
  });

  it("is free again for both once it was forgotten", async () => {
    const { clock, draft, open, store } = setUp();
    const [one, other] = [await open(), await open()];
    await accept(one.register, draft({ id: "n-1" }));
    await clock.advance(HOUR_MS + DAY_MS + 1);
    const again = await accept(other.register, draft({ id: "n-1" }));
    expect(await one.register.accept(draft({ id: "n-1" }))).toEqual({
      kind: "taken",
      notification: again,
    });
    await clock.advance(HOUR_MS + DAY_MS + 1);
    await open();
    expect(await store.list("notification-names")).toEqual([]);
  });
});

describe("what a sender has sent", () => {
  it("makes room once it is done with, unless the sender may repeat it", async () => {
    const { clock, draft, open } = setUp({ perSenderKept: 3 });
    const { register } = await open();
    const first = await accept(register, draft());
    await accept(register, draft({ id: "named" }));
    await accept(register, draft());
    expect(await register.accept(draft())).toEqual({ kind: "full" });
    for (const { notification } of register.inboxOf(READER)) {
      await register.confirm(notification.serial, READER, { status: "accepted" });
    }
    await accept(register, draft());
    expect(register.find(SENDER, first.serial)).toBeUndefined();
    expect(register.find(SENDER, "named")).toBeDefined();
    await accept(register, draft());
    expect(await register.accept(draft())).toEqual({ kind: "full" });
    await clock.advance(HOUR_MS);
    await accept(register, draft());
  });

  it("is found by its sender alone", async () => {
    const { draft, open } = setUp();
    const { register } = await open();
    await accept(register, draft({ id: "n-1" }));
    expect(register.find(READER, "n-1")).toBeUndefined();
    expect(register.sentBy(READER)).toEqual([]);
    expect(register.sentBy(SENDER)).toHaveLength(1);
  });
});

type Step =
  | { readonly kind: "send"; readonly id: string; readonly to: string; readonly forMs: number }
  | { readonly kind: "confirm"; readonly status: "accepted" | "rejected" | "deferred" }
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "restart" };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("send" as const),
    id: fc.constantFrom("n-1", "n-2", "n-3", "n-4"),
    to: fc.constantFrom(READER, OTHER),
    forMs: fc.integer({ min: 1, max: 2 * HOUR_MS }),
  }),
  fc.record({
    kind: fc.constant("confirm" as const),
    status: fc.constantFrom("accepted" as const, "rejected" as const, "deferred" as const),
  }),
  fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: DAY_MS }) }),
  fc.record({ kind: fc.constant("restart" as const) }),
);

// AGTP "NOTIFY": an id is delivered once while it is remembered, and nothing is shown expired.
describe("whatever is sent, read and lost", () => {
  it("inboxes have each id once, before its expiry, and survive every restart", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { clock, draft, open } = setUp();
        let delivery = await open();
        for (const one of steps) {
          const { register } = delivery;
          if (one.kind === "pass") await clock.advance(one.ms);
          if (one.kind === "send" && register.find(SENDER, one.id) === undefined) {
            const { id, to, forMs } = one;
            const expiresAt = clock.now() + forMs;
            await accept(register, draft({ id, expiresAt, recipients: [agent("one", to)] }));
          }
          if (one.kind === "confirm") {
            const [entry] = register.inboxOf(READER);
            if (entry !== undefined) {
              await register.confirm(entry.notification.serial, READER, { status: one.status });
            }
          }
          if (one.kind === "restart") {
            const before = [READER, OTHER].map((id) => register.inboxOf(id));
            delivery = await open();
            const after = [READER, OTHER].map((id) => delivery.register.inboxOf(id));
            expect(after).toEqual(before);
          }
          for (const agentId of [READER, OTHER]) {
            const shown = delivery.register.inboxOf(agentId);
            const ids = shown.map(({ notification }) => notification.id);
            expect(new Set(ids).size).toBe(ids.length);
            for (const { notification } of shown) {
              expect(notification.expiresAt).toBeGreaterThan(clock.now());
            }
          }
        }
      }),
      { numRuns: 40 },
    );
  });
});
