import { describe, expect, it } from "vitest";
import { escalationView, type Opening } from "../../../src/state/registers/escalation.ts";
import { makeLastingStore } from "../../support/state.ts";
import { openTestStore } from "../../support/store.ts";
import { openRegisters, wish, word } from "../../support/tasks.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const DAY = 24 * 3_600_000;

/** A call that waits to be approved. */
function call(agentId: string, fingerprint: string): ReturnType<typeof wish> {
  const approval = { digest: "sha256:0", nonce: "n", payer: agentId };
  const { taskId: _, ...asked } = wish(agentId, "", { fingerprint, approval });
  return asked;
}

function idOfOpened(opening: Opening): string {
  if (opening.kind !== "opened") throw new Error(`it was ${opening.kind}`);
  return opening.escalation.escalationId;
}

async function openFresh(limits = {}) {
  const store = makeLastingStore();
  const clock = { at: 0 };
  const { escalations } = await openRegisters(store, clock, limits);
  const idOf = async (...args: Parameters<typeof wish>) => {
    const opening = await escalations.open(wish(...args));
    if (opening.kind === "full") throw new Error("there is no room");
    return opening.escalation.escalationId;
  };
  return { store, clock, escalations, idOf };
}

// AGTP "ESCALATE"
describe("EscalationRegister", () => {
  it("has the task of the agent wait, and nobody else's", async () => {
    const { escalations, idOf } = await openFresh();
    const id = await idOf(ALICE, "t-1");
    expect(escalations.pauseOf(ALICE, "t-1")).toMatchObject({ escalationId: id });
    expect(escalations.pauseOf(ALICE, "t-2")).toBeUndefined();
    expect(escalations.pauseOf(BOB, "t-1")).toBeUndefined();
  });

  it("answers the same wish with the same escalation, and another with what the task waits for", async () => {
    const { escalations, idOf } = await openFresh();
    const id = await idOf(ALICE, "t-1");
    const again = await escalations.open(wish(ALICE, "t-1", { deadlineAt: 2_000 }));
    expect(again).toMatchObject({ kind: "repeated", escalation: { escalationId: id } });
    const other = await escalations.open(wish(ALICE, "t-1", { fingerprint: "g" }));
    expect(other).toMatchObject({ kind: "waiting", escalation: { escalationId: id } });
  });

  it("takes one of two wishes that come at once", async () => {
    const { escalations } = await openFresh();
    const wishes = ["f", "g"].map((fingerprint) => wish(ALICE, "t-1", { fingerprint }));
    const openings = await Promise.all(wishes.map((one) => escalations.open(one)));
    expect(openings.map(({ kind }) => kind)).toEqual(["opened", "waiting"]);
  });

  it("takes one of two wishes that come to two processes at once, and shows it to both", async () => {
    const store = makeLastingStore();
    const clock = { at: 0 };
    const [one, other] = [await openRegisters(store, clock), await openRegisters(store, clock)];
    const openings = await Promise.all([
      one.escalations.open(wish(ALICE, "t-1", { fingerprint: "f" })),
      other.escalations.open(wish(ALICE, "t-1", { fingerprint: "g" })),
    ]);
    expect(openings.map(({ kind }) => kind).toSorted()).toEqual(["opened", "waiting"]);
    const [first, second] = openings.map((one) => one.kind !== "full" && one.escalation);
    expect(second).toEqual(first);
  });

  it("takes a question on once, whoever asks it and whatever became of it", async () => {
    const store = makeLastingStore();
    const clock = { at: 0 };
    const [one, other] = [await openRegisters(store, clock), await openRegisters(store, clock)];
    const { taskId: _, ...question } = wish(ALICE, "t-1");
    const ask = ({ escalations }: typeof one) =>
      escalations.open(question, { keptOutBy: () => true });
    const openings = await Promise.all([ask(one), ask(other), ask(one)]);
    const kinds = openings.map(({ kind }) => kind).toSorted();
    expect(kinds).toEqual(["opened", "repeated", "repeated"]);
    const { escalationId = "" } = one.escalations.list()[0] ?? {};
    await one.escalations.decide(escalationId, word("rejected"));
    expect(await ask(other)).toMatchObject({
      ...{ kind: "repeated", escalation: { escalationId } },
    });
    expect(other.escalations.list()).toHaveLength(1);
  });

  it("lets the task go on when it is accepted, and not before", async () => {
    const { escalations, idOf } = await openFresh();
    const id = await idOf(ALICE, "t-1");
    await escalations.decide(id, word("deferred"));
    expect(escalations.pauseOf(ALICE, "t-1")).toMatchObject({ status: "deferred" });
    await escalations.decide(id, word("accepted"));
    expect(escalations.pauseOf(ALICE, "t-1")).toBeUndefined();
  });

  it.each(["rejected", "expired"])("keeps the task waiting when it is %s", async (end) => {
    const { escalations, idOf, clock } = await openFresh();
    const id = await idOf(ALICE, "t-1");
    if (end === "rejected") await escalations.decide(id, word("rejected"));
    else clock.at = 1_000;
    expect(escalations.pauseOf(ALICE, "t-1")).toMatchObject({ status: end });
    const anew = await escalations.open(wish(ALICE, "t-1", { deadlineAt: 5_000 }));
    expect(anew.kind).toBe("opened");
    expect(escalations.pauseOf(ALICE, "t-1")).toMatchObject({ status: "pending_review" });
  });

  it("repeats what was decided, and decides nothing twice", async () => {
    const { escalations, idOf } = await openFresh();
    const id = await idOf(ALICE, "t-1");
    await escalations.decide(id, word("accepted", { attestationId: "att-first" }));
    const again = await escalations.decide(id, word("accepted", { attestationId: "att-second" }));
    const decision = { attestationId: "att-first" };
    expect(again).toMatchObject({ kind: "repeated", escalation: { decision } });
    expect((await escalations.decide(id, word("rejected"))).kind).toBe("conflict");
    expect((await escalations.decide("esc-0", word("accepted"))).kind).toBe("unknown");
  });

  it("takes one of two decisions that come at once", async () => {
    const { escalations, idOf } = await openFresh();
    const id = await idOf(ALICE, "t-1");
    const words = [word("accepted"), word("rejected"), word("accepted")];
    const outcomes = await Promise.all(words.map((one) => escalations.decide(id, one)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["decided", "conflict", "repeated"]);
  });

  it("decides nothing after the deadline, whether it was swept or not", async () => {
    const { escalations, idOf, clock } = await openFresh();
    const id = await idOf(ALICE, "t-1");
    clock.at = 1_000;
    expect((await escalations.decide(id, word("accepted"))).kind).toBe("conflict");
    expect(await escalations.sweep()).toMatchObject([{ escalationId: id, status: "expired" }]);
    expect(await escalations.sweep()).toEqual([]);
    expect((await escalations.decide(id, word("accepted"))).kind).toBe("conflict");
  });

  it("changes nothing that it cannot store", async () => {
    const { escalations, idOf, store } = await openFresh();
    const id = await idOf(ALICE, "t-1");
    store.fault = new Error("the disk is full");
    await expect(escalations.decide(id, word("accepted"))).rejects.toThrow("full");
    await expect(escalations.open(wish(ALICE, "t-2"))).rejects.toThrow("full");
    expect(escalations.pauseOf(ALICE, "t-1")).toMatchObject({ status: "pending_review" });
    expect(escalations.pauseOf(ALICE, "t-2")).toBeUndefined();
    store.fault = undefined;
    expect((await escalations.decide(id, word("accepted"))).kind).toBe("decided");
  });

  it("takes no more than an agent may wait for, and has room again when one is decided", async () => {
    const { escalations, idOf } = await openFresh({ openPerOwner: 2 });
    const id = await idOf(ALICE, "t-1");
    await idOf(ALICE, "t-2");
    expect((await escalations.open(wish(ALICE, "t-3"))).kind).toBe("full");
    expect((await escalations.open(wish(BOB, "t-3"))).kind).toBe("opened");
    await escalations.decide(id, word("accepted"));
    expect((await escalations.open(wish(ALICE, "t-3"))).kind).toBe("opened");
  });

  it("forgets what is over for a month", async () => {
    const { escalations, idOf, clock } = await openFresh();
    const id = await idOf(ALICE, "t-1");
    await escalations.decide(id, word("rejected", { at: 500 }));
    clock.at = 30 * DAY + 500;
    await escalations.sweep();
    expect(escalations.find(id)).toBeDefined();
    clock.at = 30 * DAY + 501;
    await escalations.sweep();
    expect(escalations.find(id)).toBeUndefined();
    expect(escalations.pauseOf(ALICE, "t-1")).toBeUndefined();
  });

  it("is the same for the next process, in every driver", async () => {
    for (const driver of ["memory", "sqlite"] as const) {
      const store = await openTestStore(driver);
      const clock = { at: 0 };
      const first = await openRegisters(store, clock);
      const ids: string[] = [];
      for (const task of ["t-1", "t-2", "t-3"]) {
        const opening = await first.escalations.open(wish(ALICE, task));
        if (opening.kind === "opened") ids.push(opening.escalation.escalationId);
      }
      const [accepted = "", rejected = "", open = ""] = ids;
      await first.escalations.decide(accepted, word("accepted"));
      await first.escalations.decide(rejected, word("rejected"));
      const next = await openRegisters(store, clock);
      expect(next.escalations.list()).toEqual(first.escalations.list());
      expect(next.escalations.pauseOf(ALICE, "t-1")).toBeUndefined();
      expect(next.escalations.pauseOf(ALICE, "t-2")).toMatchObject({ status: "rejected" });
      expect((await next.escalations.decide(open, word("accepted"))).kind).toBe("decided");
    }
  });

  it("holds no task by what was escalated before, in the next process and in another", async () => {
    const store = makeLastingStore();
    const clock = { at: 0 };
    const first = await openRegisters(store, clock);
    for (const status of ["rejected", "accepted"] as const) {
      const id = idOfOpened(await first.escalations.open(wish(ALICE, "t-1")));
      await first.escalations.decide(id, word(status));
    }
    const held = first.escalations.list().map((one) => escalationView(one)["task_paused"]);
    expect(held).toEqual([false, false]);
    const next = await openRegisters(store, clock);
    expect(next.escalations.pauseOf(ALICE, "t-1")).toBeUndefined();
  });

  it("finds the call's own approval that is waited for, whatever the clocks of the nodes say", async () => {
    const store = makeLastingStore();
    const ahead = await openRegisters(store, { at: 10 });
    const node = await openRegisters(store, { at: 0 });
    const rejected = idOfOpened(await ahead.escalations.open(call(ALICE, "f")));
    await ahead.escalations.decide(rejected, word("rejected"));
    const awaited = idOfOpened(await node.escalations.open(call(ALICE, "f")));
    const next = await openRegisters(store, { at: 10 });
    const again = await next.escalations.open(call(ALICE, "f"));
    expect(again).toMatchObject({ kind: "repeated", escalation: { escalationId: awaited } });
  });

  it("does without what was escalated before, sooner than without what let a task go on", async () => {
    const { escalations, idOf } = await openFresh({ perOwner: 2 });
    const rejected = await idOf(ALICE, "t-1");
    await escalations.decide(rejected, word("rejected"));
    const accepted = await idOf(ALICE, "t-1");
    await escalations.decide(accepted, word("accepted"));
    await idOf(ALICE, "t-2");
    expect(escalations.find(rejected)).toBeUndefined();
    expect(escalations.find(accepted)).toBeDefined();
  });

  it("tells of the end of one whose task escalates again before anybody looked", async () => {
    const { escalations, idOf, clock } = await openFresh();
    const expired = await idOf(ALICE, "t-1");
    clock.at = 1_000;
    await escalations.open(wish(ALICE, "t-1", { deadlineAt: 2_000 }));
    const swept = await escalations.sweep();
    expect(swept.map(({ escalationId }) => escalationId)).toEqual([expired]);
  });

  it("takes nothing for an escalation that is none", async () => {
    const store = makeLastingStore();
    const values = [null, 7, [], {}, { escalationId: "esc-1" }];
    const place = { kind: "put", collection: "escalations" } as const;
    await store.commit(values.map((value, index) => ({ ...place, key: `k${index}`, value })));
    const { escalations } = await openRegisters(store, { at: 0 });
    expect(escalations.list()).toEqual([]);
  });
});
