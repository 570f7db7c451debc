import { EventEmitter, once } from "node:events";
import { describe, expect, it } from "vitest";
import { HeldCalls } from "../../../src/handlers/mcp/held-calls.ts";
import { withdrawal } from "../../../src/modules/mcp-servers/definition-watch.ts";
import { HeldQuestions } from "../../../src/modules/mcp-servers/held-questions.ts";
import { SOLE_HOLDER } from "../../../src/state/holders.ts";
import { LiveProcesses } from "../../../src/state/live-processes.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { EscalationRegister } from "../../../src/state/registers/escalation-register.ts";
import type { FeedWatcher } from "../../../src/state/store.ts";
import { alterStore } from "../../support/store.ts";

const OTHER = "another-process";

/** A question whose call is held by a process. */
async function ask(
  escalations: EscalationRegister,
  heldBy: string,
  held = "call",
): Promise<string> {
  const opening = await escalations.open({
    ...{ agentId: "a1".repeat(32), context: {}, priority: "normal", fingerprint: heldBy },
    deadlineAt: Date.now() + 600_000,
    approval: {
      ...{ digest: `sha256:${heldBy}`, nonce: heldBy, payer: "p" },
      question: { schema: { type: "object" }, resume: { held, heldBy } },
    },
  });
  if (opening.kind !== "opened") throw new Error("it was not opened");
  return opening.escalation.escalationId;
}

describe("questions that are held", () => {
  it("are left to the process that holds them, and closed once that one is gone", async () => {
    const escalations = await EscalationRegister.open(createMemoryStore());
    const own = await ask(escalations, "self");
    // The newer one is looked at first.
    const others = await ask(escalations, OTHER);
    const holders = new LiveProcesses("self");
    const heard = new EventEmitter();
    const questions = new HeldQuestions({
      ...{ escalations, holders, servers: [{ held: new HeldCalls() }] },
      record: (events) => {
        heard.emit("closed", events.length);
        return Promise.resolve([]);
      },
      onFault: (error) => {
        throw error;
      },
    });
    const statuses = () => [own, others].map((id) => escalations.find(id)?.status);
    holders.look()(new Set(["self", OTHER]));
    const ownClosed = once(heard, "closed");
    questions.start();
    await ownClosed;
    expect(statuses()).toEqual(["rejected", "pending_review"]);
    const othersClosed = once(heard, "closed");
    holders.look()(new Set(["self"]));
    expect(await othersClosed).toEqual([1]);
    expect(statuses()).toEqual(["rejected", "rejected"]);
    questions.stop();
  });

  it("are closed at once where their call is gone by the time that they are kept", async () => {
    const escalations = await EscalationRegister.open(createMemoryStore());
    const heard = new EventEmitter();
    const questions = new HeldQuestions({
      ...{ escalations, holders: SOLE_HOLDER, servers: [{ held: new HeldCalls() }] },
      record: (events) => {
        heard.emit("closed", events.length);
        return Promise.resolve([]);
      },
      onFault: (error) => {
        throw error;
      },
    });
    questions.start();
    const closed = once(heard, "closed");
    const id = await ask(escalations, "self", "lost");
    expect(await closed).toEqual([1]);
    expect(escalations.find(id)?.status).toBe("rejected");
    questions.stop();
  });

  it("have their calls ended where they wait, at whichever node operators give no answer", async () => {
    const store = createMemoryStore();
    const feeds: FeedWatcher[] = [];
    const watched = alterStore(store, { watch: (_, feed) => void feeds.push(feed) });
    const here = await EscalationRegister.open(watched);
    const held = new HeldCalls();
    const { signal } = new AbortController();
    let reply: Promise<unknown> = Promise.resolve();
    const outcome = await held.begin(
      (ended) => {
        reply = held.question({ message: "Which room?" });
        return new Promise((_, reject) => {
          ended.addEventListener("abort", () => reject(new Error("it was ended")));
        });
      },
      "caller",
      { signal },
    );
    if (!("id" in outcome)) throw new Error("it does not wait");
    const questions = new HeldQuestions({
      ...{ escalations: here, holders: new LiveProcesses("self"), servers: [{ held }] },
      record: () => Promise.resolve([]),
      onFault: (error) => {
        throw error;
      },
    });
    questions.start();
    const escalationId = await ask(here, "self", outcome.id);
    const there = await EscalationRegister.open(store);
    await there.decide(escalationId, withdrawal("nobody knows", there.now()));
    expect(held.has(outcome.id)).toBe(true);
    for (const feed of feeds) {
      feed.ask();
      await feed.take({ upTo: 0, changed: undefined });
    }
    expect(await reply).toEqual({ action: "decline" });
    expect(held.has(outcome.id)).toBe(false);
    questions.stop();
  });
});
