import { describe, expect, it } from "vitest";
import type { WebhookMessage } from "../../../src/dispatch/module/webhook-queue.ts";
import { EscalationNews } from "../../../src/modules/tasks/escalation-news.ts";
import type { EscalationRegister } from "../../../src/state/registers/escalation-register.ts";
import { makeLastingStore } from "../../support/state.ts";
import { openRegisters, wish, word } from "../../support/tasks.ts";

const ALICE = "a".repeat(64);
const URL = "https://ops.example/agtp";

async function openNews({
  url = URL,
  isBroken = false,
  hasQueue = true,
  store = makeLastingStore(),
} = {}) {
  const clock = { at: Date.now() };
  const later = clock.at + 60_000;
  const { escalations } = await openRegisters(store, clock);
  const sent: WebhookMessage[] = [];
  const faults: unknown[] = [];
  const queue = {
    isBroken,
    async enqueue(message: WebhookMessage): Promise<void> {
      if (this.isBroken) throw new Error("the outbox is full");
      sent.push(message);
    },
  };
  const news = new EscalationNews({
    escalations,
    queue: hasQueue ? queue : undefined,
    url: url === "" ? undefined : url,
    serverId: "agents.example",
    onUntold: (error, count) => faults.push([error, count]),
  });
  const open = async (task: string) => {
    const opening = await escalations.open(wish(ALICE, task, { deadlineAt: later }));
    if (opening.kind !== "opened") throw new Error(opening.kind);
    return opening.escalation;
  };
  return { escalations, sent, faults, queue, news, open, later, clock, store };
}

async function decided(escalations: EscalationRegister, id: string) {
  const outcome = await escalations.decide(id, word("accepted", { at: Date.now() }));
  if (outcome.kind !== "decided") throw new Error(outcome.kind);
  return outcome.escalation;
}

describe("EscalationNews", () => {
  it("tells people what is asked, until when, and what was decided, each once", async () => {
    const { escalations, news, open, sent, later } = await openNews();
    escalations.tellBy(news);
    const { escalationId } = await open("t-1");
    await decided(escalations, escalationId);
    await news.catchUp();
    const common = { at: expect.any(String), server_id: "agents.example" };
    expect(sent).toMatchObject([
      {
        id: `${escalationId}.escalation.opened`,
        url: URL,
        expiresAt: later,
        body: {
          type: "escalation.opened",
          ...common,
          escalation: { escalation_id: escalationId, task_id: "t-1", context: { q: "?" } },
        },
      },
      {
        id: "att-accepted",
        url: URL,
        body: { type: "escalation.decided", ...common, escalation: { status: "accepted" } },
      },
    ]);
  });

  it.each([{ url: "" }, { hasQueue: false }])("tells nobody with %j", async (options) => {
    const { news, open, sent, escalations } = await openNews(options);
    escalations.tellBy(news);
    const { escalationId } = await open("t-1");
    await news.catchUp();
    expect(sent).toEqual([]);
    expect(escalations.find(escalationId)).not.toHaveProperty("toldId");
  });

  it("catches up on what could not be told, the oldest first, and tells nothing twice", async () => {
    const { news, open, sent, queue, faults, escalations } = await openNews({ isBroken: true });
    const stop = escalations.tellBy(news);
    const one = await open("t-1");
    expect(faults).toHaveLength(1);
    // As if the process had ended between the commit and the outbox.
    stop();
    const [two, three] = [await open("t-2"), await open("t-3")];
    await decided(escalations, two.escalationId);
    queue.isBroken = false;
    await news.catchUp();
    await news.catchUp();
    expect(sent.map(({ id }) => id)).toEqual([
      `${one.escalationId}.escalation.opened`,
      "att-accepted",
      `${three.escalationId}.escalation.opened`,
    ]);
  });

  it("says once how many cannot be told, and once more only after all were", async () => {
    const { news, open, faults, queue } = await openNews({ isBroken: true });
    for (const task of ["t-1", "t-2", "t-3"]) await open(task);
    for (let run = 0; run < 3; run += 1) await news.catchUp();
    expect(faults).toEqual([[new Error("the outbox is full"), 3]]);
    queue.isBroken = false;
    await news.catchUp();
    queue.isBroken = true;
    const another = await open("t-4");
    await news.catchUp();
    await news.tell(another);
    expect(faults.slice(1)).toEqual([[new Error("the outbox is full"), 1]]);
  });

  it("tells that nobody has decided in time, and nothing that is long over", async () => {
    const { news, sent, clock, escalations } = await openNews();
    const hour = 3_600_000;
    for (const [task, since] of [
      ["long", 30],
      ["just", 2],
    ] as const) {
      clock.at = Date.now() - (since + 1) * hour;
      await escalations.open(wish(ALICE, task, { deadlineAt: Date.now() - since * hour }));
    }
    clock.at = Date.now();
    await news.catchUp();
    expect(sent).toMatchObject([
      { body: { type: "escalation.expired", escalation: { task_id: "just", status: "expired" } } },
    ]);
  });

  it("goes by what an earlier version has told", async () => {
    const { open, sent, store } = await openNews();
    const escalation = await open("t-1");
    const value = { ...escalation, isAnnounced: true };
    const { escalationId: key } = escalation;
    await store.commit([{ kind: "put", collection: "escalations", key, value }]);
    const again = await openNews({ store });
    await again.news.catchUp();
    expect([...sent, ...again.sent]).toEqual([]);
    await decided(again.escalations, key);
    await again.news.catchUp();
    expect(again.sent.map(({ id }) => id)).toEqual(["att-accepted"]);
  });
});
