import { EventEmitter, once } from "node:events";
import { describe, expect, it } from "vitest";
import { HeldCalls } from "../../../src/handlers/mcp/held-calls.ts";
import { HeldQuestions } from "../../../src/modules/mcp-servers/held-questions.ts";
import { LiveProcesses } from "../../../src/state/live-processes.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { EscalationRegister } from "../../../src/state/registers/escalation-register.ts";

const OTHER = "another-process";

/** A question whose call is held by a process. */
async function ask(escalations: EscalationRegister, heldBy: string): Promise<string> {
  const opening = await escalations.open({
    ...{ agentId: "a1".repeat(32), context: {}, priority: "normal", fingerprint: heldBy },
    deadlineAt: Date.now() + 600_000,
    approval: {
      ...{ digest: `sha256:${heldBy}`, nonce: heldBy, payer: "p" },
      question: { schema: { type: "object" }, resume: { held: "call", heldBy } },
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
});
