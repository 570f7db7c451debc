import { describe, expect, it } from "vitest";
import type { OutgoingMessage } from "../../../src/dispatch/module/webhook-queue.ts";
import type { WebhookAttempt } from "../../../src/modules/delivery/webhook-courier.ts";
import type { AttemptOutcome } from "../../../src/modules/delivery/webhook-delivery.ts";
import type { Holders } from "../../../src/state/holders.ts";
import {
  DAY_MS,
  HOUR_MS,
  openDelivery,
  settle,
  TestClock,
  TestWebhook,
} from "../../support/delivery.ts";
import { makeLastingStore } from "../../support/state.ts";

function setUp() {
  const clock = new TestClock();
  const webhook = new TestWebhook(clock);
  const store = makeLastingStore();
  return { clock, webhook, store, open: () => openDelivery({ store, clock, webhook }) };
}

function message(clock: TestClock, changes: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return {
    ...{ id: "m-1", url: "https://desk.example/hook", body: { n: 1 } },
    ...{ expiresAt: clock.now() + HOUR_MS },
    ...changes,
  };
}

describe("WebhookOutbox", () => {
  it("tries again until a message is taken, pausing longer each time", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start } = await open();
    webhook.fail(3);
    start();
    const begun = clock.now();
    await outbox.enqueue(message(clock));
    await clock.advance(10_000);
    expect(webhook.attempts.map(({ at }) => at - begun)).toEqual([0, 500, 1500, 3500]);
    expect(webhook.attempts.map(({ id, body }) => [id, body])).toEqual(
      Array.from({ length: 4 }, () => ["m-1", { n: 1 }]),
    );
    expect(outbox.find("m-1")).toMatchObject({ state: "delivered", attempts: 4, at: begun + 3500 });
    expect(outbox.find("m-1")).not.toHaveProperty("reason");
  });

  it("gives up when the message expires", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start, logged } = await open();
    webhook.fail(1000);
    start();
    await outbox.enqueue(message(clock, { expiresAt: clock.now() + 5000 }));
    await clock.advance(HOUR_MS);
    expect(outbox.find("m-1")).toMatchObject({
      state: "expired",
      reason: "answered with status 500",
    });
    const attempts = webhook.attempts.length;
    await clock.advance(HOUR_MS);
    expect(webhook.attempts.length).toBe(attempts);
    expect(logged.at(-1)).toMatchObject({ event: "webhook-expired", host: "desk.example" });
  });

  it("sends nothing that has expired while nothing was sent", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start } = await open();
    await outbox.enqueue(message(clock));
    await clock.advance(HOUR_MS);
    expect(outbox.find("m-1")?.state).toBe("expired");
    start();
    await clock.advance(0);
    expect(webhook.attempts).toEqual([]);
  });

  it("keeps what is to be sent at most once for a URL that the configuration has again", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox } = await open();
    const { send } = webhook;
    const { schedule } = clock;
    const log = { info: () => undefined, warn: () => undefined };
    const stop = outbox.deliverBy({ send, log, schedule, reaches: () => false });
    await outbox.keep([message(clock, { isOnce: true })], []);
    await clock.advance(HOUR_MS / 4);
    await stop();
    expect(webhook.attempts).toEqual([]);
    expect(outbox.find("m-1")).toMatchObject({
      ...{ state: "queued", attempts: 0, reason: "this server has no such webhook any more" },
    });
    outbox.deliverBy({ send, log, schedule, reaches: () => true });
    await clock.advance(HOUR_MS / 4);
    expect(outbox.find("m-1")).toMatchObject({ state: "delivered", attempts: 1 });
    expect(webhook.attempts).toHaveLength(1);
  });

  it("sends once what is to be sent at most once", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start } = await open();
    webhook.fail(1);
    start();
    await outbox.keep([message(clock, { isOnce: true })], []);
    await clock.advance(HOUR_MS / 2);
    expect(webhook.attempts).toHaveLength(1);
    expect(outbox.find("m-1")).toMatchObject({ state: "failed", attempts: 1 });
  });

  it("delivers one id once, however often it is put there", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start } = await open();
    start();
    await Promise.all([outbox.enqueue(message(clock)), outbox.enqueue(message(clock))]);
    await clock.advance(1000);
    await outbox.enqueue(message(clock));
    await clock.advance(1000);
    expect(webhook.attempts).toHaveLength(1);
  });

  it("remembers the latest of the news that was told, also in the next process", async () => {
    const { clock, webhook, store, open } = setUp();
    const { outbox, start } = await open();
    start();
    const asked = message(clock, { id: "asked" });
    await outbox.keep([asked], []);
    for (let index = 0; index < 1010; index += 1) {
      await outbox.enqueue(message(clock, { id: `m-${index}` }));
      await settle();
    }
    expect(webhook.attempts).toHaveLength(1011);
    expect(outbox.find("m-9")).toBeUndefined();
    expect(outbox.find("m-10")).toMatchObject({ state: "delivered" });
    expect(outbox.find("asked")).toMatchObject({ state: "delivered" });
    expect(await store.list("webhook-deliveries")).toHaveLength(1001);

    const next = await open();
    next.start();
    await next.outbox.enqueue(message(clock, { id: "m-1010" }));
    await settle();
    expect(await store.list("webhook-deliveries")).toHaveLength(1001);
  });

  it("logs no more of a URL than its host", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start, logged } = await open();
    webhook.fail(1);
    start();
    await outbox.enqueue(message(clock, { url: "https://desk.example/hook/t0ken?key=s3cret" }));
    await clock.advance(10_000);
    expect(logged.map(({ event }) => event)).toEqual(["webhook-postponed", "webhook-delivered"]);
    expect(JSON.stringify(logged)).not.toMatch(/t0ken|s3cret/);
  });
});

describe("the outbox of a process that was killed", () => {
  it("is continued by the next one", async () => {
    const { clock, webhook, open } = setUp();
    const first = await open();
    await first.outbox.enqueue(message(clock));
    const second = await open();
    second.start();
    await clock.advance(0);
    expect(webhook.attempts.map(({ id }) => id)).toEqual(["m-1"]);
    const third = await open();
    third.start();
    await clock.advance(HOUR_MS);
    expect(webhook.attempts).toHaveLength(1);
    expect(third.outbox.find("m-1")?.state).toBe("delivered");
  });

  it("waits as long as the first would have", async () => {
    const { clock, webhook, open } = setUp();
    webhook.fail(4);
    const first = await open();
    const stop = first.start();
    await first.outbox.enqueue(message(clock));
    await clock.advance(2000);
    await stop();
    expect(webhook.attempts).toHaveLength(3);
    const second = await open();
    second.start();
    await clock.advance(1000);
    expect(webhook.attempts).toHaveLength(3);
    await clock.advance(1000);
    expect(webhook.attempts).toHaveLength(4);
  });

  it("does not send again what may have been sent, if once was to be enough", async () => {
    const { clock, webhook, open } = setUp();
    const first = await open();
    webhook.answer = () => new Promise(() => undefined);
    first.start();
    await first.outbox.keep([message(clock, { isOnce: true })], []);
    await clock.advance(0);
    expect(webhook.attempts).toHaveLength(1);
    const second = await open();
    second.start();
    await clock.advance(1000);
    expect(webhook.attempts).toHaveLength(1);
    expect(second.outbox.find("m-1")).toMatchObject({ state: "failed", attempts: 1 });
  });

  it("sends what nobody had begun to, also if once was to be enough", async () => {
    const { clock, webhook, open } = setUp();
    await (await open()).outbox.keep([message(clock, { isOnce: true })], []);
    const second = await open();
    second.start();
    await clock.advance(0);
    expect(webhook.attempts).toHaveLength(1);
    expect(second.outbox.find("m-1")?.state).toBe("delivered");
  });

  it("has nothing that its sender was not told of", async () => {
    const { clock, store, webhook, open } = setUp();
    const first = await open();
    first.start();
    store.fault = new Error("the disk is full");
    await expect(first.outbox.enqueue(message(clock))).rejects.toThrow("the disk is full");
    store.fault = undefined;
    await clock.advance(1000);
    expect(webhook.attempts).toEqual([]);
    expect((await open()).outbox.find("m-1")).toBeUndefined();
    await first.outbox.enqueue(message(clock));
    await clock.advance(0);
    expect(webhook.attempts).toHaveLength(1);
  });

  it("forgets what is long over", async () => {
    const { clock, store, open } = setUp();
    const first = await open();
    await first.outbox.enqueue(message(clock));
    await clock.advance(HOUR_MS + 2 * DAY_MS + 1);
    await first.outbox.enqueue(message(clock, { id: "m-2", expiresAt: clock.now() + 1 }));
    expect(first.outbox.find("m-1")).toBeUndefined();
    const keys = (await store.list("webhook-bodies")).map(({ key }) => key);
    expect(keys).toEqual(["m-2"]);
    await clock.advance(3 * DAY_MS);
    await open();
    expect(await store.list("webhook-deliveries")).toEqual([]);
    expect(await store.list("webhook-bodies")).toEqual([]);
  });
});

describe("the outbox under load", () => {
  it("sends few at a time to one URL, and several in all", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start } = await open();
    const release: (() => void)[] = [];
    webhook.answer = () =>
      new Promise<AttemptOutcome>((resolve) => {
        release.push(() => resolve({ kind: "taken" }));
      });
    start();
    for (let n = 0; n < 40; n += 1) {
      const url = `https://${n % 8 < 4 ? "slow" : `desk-${n % 8}`}.example/`;
      await outbox.enqueue(message(clock, { id: `m-${n}`, url }));
    }
    await settle();
    const hosts = (attempts: readonly WebhookAttempt[]) => attempts.map(({ url }) => url);
    expect(webhook.attempts).toHaveLength(16);
    expect(hosts(webhook.attempts).filter((url) => url.includes("slow"))).toHaveLength(4);
    while (release.length > 0) {
      for (const one of release.splice(0)) one();
      await settle();
    }
    expect(new Set(webhook.attempts.map(({ id }) => id)).size).toBe(40);
    expect(webhook.attempts).toHaveLength(40);
  });

  // Each of twelve has a lot to say, and every attempt takes as long as the webhook likes.
  it.each([
    ["one URL for all", () => "https://desk.example/hook"],
    ["many URLs", (n: number) => `https://desk-${n % 40}.example/hook`],
  ])(
    "sends a message of another agent next, however much twelve have to send: %s",
    async (_, urlOf) => {
      const { clock, webhook, open } = setUp();
      const { outbox, start } = await open();
      const release: (() => void)[] = [];
      webhook.answer = () =>
        new Promise<AttemptOutcome>((resolve) => {
          release.push(() => resolve({ kind: "taken" }));
        });
      start();
      for (let n = 0; n < 480; n += 1) {
        const owner = `agent ${n % 12}`;
        await outbox.keep([message(clock, { id: `m-${n}`, url: urlOf(n), owner })], []);
      }
      await settle();
      for (let ended = 0; ended < 20; ended += 1) {
        release.shift()?.();
        await settle();
      }
      await outbox.keep([message(clock, { id: "small", url: urlOf(7), owner: "ina" })], []);
      const before = webhook.attempts.length;
      release.shift()?.();
      await settle();
      expect(webhook.attempts.slice(before).map(({ id }) => id)).toContain("small");
      while (release.length > 0) {
        for (const one of release.splice(0)) one();
        await settle();
      }
      expect(webhook.attempts).toHaveLength(481);
    },
  );

  it("leaves places free for others, however many URLs one agent sends to", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start } = await open();
    webhook.answer = () => new Promise(() => undefined);
    start();
    const own = Array.from({ length: 40 }, (_, n) =>
      message(clock, { id: `m-${n}`, url: `https://desk-${n}.example/`, owner: "greedy" }),
    );
    await outbox.keep(own, []);
    await settle();
    expect(webhook.attempts).toHaveLength(8);
    await outbox.keep([message(clock, { id: "small", owner: "ina" })], []);
    await settle();
    expect(webhook.attempts.at(-1)?.id).toBe("small");
  });

  it("takes so many for one URL", async () => {
    const { clock, open } = setUp();
    const { outbox } = await open();
    const { url } = message(clock);
    const many = Array.from({ length: 1000 }, (_, n) => message(clock, { id: `m-${n}` }));
    await outbox.keep(many, []);
    expect(outbox.hasRoom(url)).toBe(false);
    expect(outbox.hasRoom("https://other.example/")).toBe(true);
  });

  it("does not send again what was taken, though it cannot keep that", async () => {
    const { clock, store, webhook, open } = setUp();
    const { outbox, start } = await open();
    start();
    webhook.answer = () => {
      store.fault = new Error("the disk is full");
      return { kind: "taken" };
    };
    await outbox.keep([message(clock), message(clock, { id: "m-2", isOnce: true })], []);
    await clock.advance(1000);
    store.fault = undefined;
    await clock.advance(HOUR_MS / 2);
    expect(webhook.attempts.map(({ id }) => id)).toEqual(["m-1", "m-2"]);
    expect(outbox.find("m-1")?.state).toBe("delivered");
  });

  it("keeps what was taken once the store can, and gives its place back", async () => {
    const { clock, store, webhook, open } = setUp();
    const { outbox, start } = await open();
    const many = Array.from({ length: 1000 }, (_, n) => message(clock, { id: `m-${n}` }));
    await outbox.keep(many, []);
    store.fault = new Error("the disk is full");
    start();
    await clock.advance(60_000);
    expect(webhook.attempts).toHaveLength(1000);
    store.fault = undefined;
    const takenAt = outbox.find("m-1")?.at;
    await clock.advance(60_000);
    expect(outbox.hasRoom(message(clock).url)).toBe(true);
    const next = await open();
    expect(next.outbox.find("m-1")).toMatchObject({ state: "delivered", at: takenAt });
    next.start();
    await clock.advance(60_000);
    expect(webhook.attempts).toHaveLength(1000);
  });

  it("comes back later to what it cannot keep the state of", async () => {
    const { clock, store, webhook, open } = setUp();
    const { outbox, start, logged } = await open();
    start();
    webhook.answer = () => {
      store.fault = new Error("the disk is full");
      return { kind: "failed", reason: "no" };
    };
    await outbox.enqueue(message(clock));
    await clock.advance(1000);
    expect(logged.at(-1)).toMatchObject({ event: "webhook-fault", reason: "the disk is full" });
    store.fault = undefined;
    webhook.answer = () => ({ kind: "taken" });
    await clock.advance(60_000);
    expect(outbox.find("m-1")?.state).toBe("delivered");
  });
});

describe("an outbox of which a node is gone", () => {
  it("is sent by another node, though that could not take all of it over at once", async () => {
    const { clock, webhook, store } = setUp();
    const gone = new Set<string>();
    const watchers: (() => void)[] = [];
    const node = (self: string): Holders => ({
      self,
      isGone: (process) => gone.has(process),
      watch: (onGone) => {
        watchers.push(onGone);
        return () => undefined;
      },
    });
    const left = await openDelivery({ store, clock, webhook, holders: node("a") });
    await left.outbox.keep([message(clock), message(clock, { id: "m-2" })], []);
    const { outbox, start, logged } = await openDelivery({
      store,
      clock,
      webhook,
      holders: node("b"),
    });
    start();
    gone.add("a");
    store.fault = new Error("the disk is full");
    for (const onGone of watchers) onGone();
    await settle();
    expect(logged).toMatchObject([{ event: "webhook-fault", reason: "the disk is full" }]);
    store.fault = undefined;
    await clock.advance(60_000);
    expect(webhook.attempts.map(({ id }) => id)).toEqual(["m-1", "m-2"]);
    expect(outbox.find("m-2")?.state).toBe("delivered");
  });
});

describe("what another node has taken over", () => {
  it("is sent by the first once it is its own again, though that could not keep its state before", async () => {
    const { clock, webhook, store } = setUp();
    const gone = new Set<string>();
    const watchers = new Map<string, () => void>();
    const node = (self: string): Holders => ({
      self,
      isGone: (process) => gone.has(process),
      watch: (onGone) => {
        watchers.set(self, onGone);
        return () => undefined;
      },
    });
    const over = { store, clock, webhook };
    const first = await openDelivery({ ...over, holders: node("a") });
    const second = await openDelivery({ ...over, holders: node("b") });
    await first.outbox.keep([message(clock)], []);
    await second.outbox.refresh();
    const end = second.start();
    webhook.fail(1);
    gone.add("a");
    watchers.get("b")?.();
    await settle();
    await first.outbox.refresh();
    first.outbox.postpone("m-1", clock.now());
    gone.delete("a");
    gone.add("b");
    await end();
    first.start();
    watchers.get("a")?.();
    await clock.advance(60_000);
    expect(first.outbox.find("m-1")?.state).toBe("delivered");
  });
});

describe("an outbox whose clock steps back", () => {
  it("waits no longer than for a pause, not until the clock has caught up", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start } = await open();
    webhook.fail(1);
    start();
    await outbox.enqueue(message(clock, { expiresAt: clock.now() + DAY_MS }));
    await clock.advance(100);
    clock.step(-DAY_MS);
    await clock.advance(1_000);
    expect(outbox.find("m-1")).toMatchObject({ state: "delivered", attempts: 2 });
  });
});

describe("an outbox that stops sending", () => {
  it("waits for what is being sent, and sends nothing more", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start } = await open();
    const stop = start();
    let release = (): void => undefined;
    webhook.answer = () =>
      new Promise((resolve) => {
        release = () => resolve({ kind: "taken" });
      });
    await outbox.enqueue(message(clock));
    await settle();
    const stopped = stop();
    await outbox.enqueue(message(clock, { id: "m-2" }));
    release();
    await stopped;
    expect(outbox.find("m-1")?.state).toBe("delivered");
    await clock.advance(HOUR_MS / 2);
    expect(webhook.attempts).toHaveLength(1);
    expect(outbox.find("m-2")?.state).toBe("queued");
  });

  it("breaks off what does not end, and leaves it to the next", async () => {
    const { clock, webhook, open } = setUp();
    const { outbox, start } = await open();
    webhook.answer = ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve({ kind: "failed", reason: "broken off" }));
      });
    const stop = start();
    await outbox.enqueue(message(clock));
    await settle();
    await stop();
    expect(outbox.find("m-1")).toMatchObject({ state: "queued", attempts: 0 });
    webhook.answer = () => ({ kind: "taken" });
    start();
    await clock.advance(0);
    expect(outbox.find("m-1")?.state).toBe("delivered");
  });
});
