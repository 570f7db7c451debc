/** Questions of runs on two nodes, of which one hears late of what the other has done. */
import { describe, expect, it, onTestFinished } from "vitest";
import { InterruptDesk } from "../../../src/modules/agntcy/interrupts/interrupt-desk.ts";
import type { RemoteAgent } from "../../../src/modules/agntcy/remote-agent.ts";
import { type AgentRuns, openAgentRuns } from "../../../src/modules/agntcy/runs/agent-runs.ts";
import { SOLE_HOLDER } from "../../../src/state/holders.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { EscalationRegister } from "../../../src/state/registers/escalation-register.ts";
import type { Store } from "../../../src/state/store.ts";
import { alterStore } from "../../support/store.ts";

const AGENT = {
  ...{ base: "/mail", manifest: { name: "mail", specs: { interrupts: [] } } },
} as unknown as RemoteAgent;

async function openDesk(store: Store, register: AgentRuns): Promise<EscalationRegister> {
  const escalations = await EscalationRegister.open(store);
  const desk = new InterruptDesk({
    ...{ register, escalations, approvals: new Map(), policy: { operatorCertificates: [] } },
    onFault: (error) => {
      throw error;
    },
  });
  onTestFinished(() => desk.close());
  desk.start({ agents: [AGENT], record: () => Promise.resolve([]) });
  await desk.settled();
  return escalations;
}

describe("a desk that has heard of a question, and not that its run asks it", () => {
  it("leaves it to people", async () => {
    // Others write to it, and nobody hears of that by itself.
    const store = alterStore(createMemoryStore(), { watch: () => undefined });
    const runs = await openAgentRuns(store, SOLE_HOLDER);
    const place = { runId: "r", base: "/mail", owner: "ada", deadlineAt: 9e15 };
    await runs.take(place);
    await runs.keep("r", { upstreamAgentId: "a", upstreamRunId: "u", deadlineAt: 9e15 });
    const behind = await openAgentRuns(store, SOLE_HOLDER);
    const interrupt = { interruptId: "i", type: "approval" };
    await runs.change("r", { status: "interrupted", interrupt }, { expected: ["pending"] });
    await openDesk(store, runs);
    expect(behind.find("r")).toMatchObject({ status: "pending" });
    const escalations = await openDesk(store, behind);
    expect(escalations.list().map(({ status }) => status)).toEqual(["pending_review"]);
  });
});
