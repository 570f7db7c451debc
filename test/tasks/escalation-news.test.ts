import { describe, expect, it } from "vitest";
import type { WebhookMessage } from "../../src/delivery/webhook-queue.ts";
import { EscalationNews } from "../../src/tasks/escalation-news.ts";
import type { EscalationRegister } from "../../src/tasks/escalation-register.ts";
import { makeLastingStore } from "../support/state.ts";
import { openRegisters, wish, word } from "../support/tasks.ts";

const ALICE = "a".repeat(64);
const URL = "https://ops.example/agtp";

async function openNews({ url = URL, isBroken = false, hasQueue = true } = {}) {
  const store = makeLastingStore();
  const later = Date.now() + 60_000;
  const { escalations } = await openRegisters(store, { at: Date.now() });
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
    onFault: (error) => faults.push(error),
  });
  const open = async (task: string) => {
    const opening = await escalations.open(wish(ALICE, task, { deadlineAt: later }));
    if (opening.kind !== "opened") throw new Error(opening.kind);
    return opening.escalation;
  };
  return { escalations, sent, faults, queue, news, open, later };
}

async function decided(escalations: EscalationRegister, id: string) {
  const outcome = await escalations.decide(id, word("accepted", { at: Date.now() }));
  if (outcome.kind !== "decided") throw new Error(outcome.kind);
  return outcome.escalation;
}

describe("EscalationNews", () => {
  it("tells people what is asked, until when, and what was decided", async () => {
    const { escalations, news, open, sent, later } = await openNews();
    const escalation = await open("t-1");
    const { escalationId } = escalation;
    await news.opened(escalation);
    await news.closed("escalation.decided", await decided(escalations, escalationId));
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
    const escalation = await open("t-1");
    await news.opened(escalation);
    await news.catchUp();
    expect(sent).toEqual([]);
    expect(escalations.find(escalation.escalationId)?.isAnnounced).toBe(false);
  });

  it("catches up on what could not be told, the oldest first, and tells nothing twice", async () => {
    const { news, open, sent, queue, faults, escalations } = await openNews({ isBroken: true });
    const [one, two, three] = [await open("t-1"), await open("t-2"), await open("t-3")];
    await news.opened(one);
    expect(faults).toHaveLength(1);
    await decided(escalations, two.escalationId);
    queue.isBroken = false;
    await news.catchUp();
    await news.catchUp();
    const ids = [one, three].map(({ escalationId }) => `${escalationId}.escalation.opened`);
    expect(sent.map(({ id }) => id)).toEqual(ids);
  });
});
