/** Runs that wait for a word, in the operators' queue: told of, taken out of it, and never lost. */
import { EventEmitter, once } from "node:events";
import { describe, expect, it } from "vitest";
import { RunEscalations } from "../../../src/modules/openwop/run-escalations.ts";
import type { Run } from "../../../src/modules/openwop/runs/run.ts";
import type { RunHost } from "../../../src/modules/openwop/runs/run-host.ts";
import type { Interrupt } from "../../../src/modules/openwop/runs/run-state.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import type { Escalation } from "../../../src/state/registers/escalation.ts";
import { EscalationRegister } from "../../../src/state/registers/escalation-register.ts";

const AGENT = "a".repeat(64);

function waitingRun(name: string): { readonly run: Run; readonly interrupt: Interrupt } {
  const run = { runId: name, owner: { tenant: "t" }, workflow: { id: "w" } } as unknown as Run;
  const interrupt: Interrupt = {
    ...{ interruptId: `i-${name}`, nodeId: "agent", kind: "low-confidence", isResolved: false },
    ...{
      votes: [],
      data: { agentId: "vendor.test.pack.agent" },
      requestedAt: "2030-01-01T00:00:00Z",
    },
  };
  return { run, interrupt };
}

async function open(openPerOwner: number, waiting: ReturnType<typeof waitingRun>[]) {
  const limits = { openPerOwner };
  const escalations = await EscalationRegister.open(createMemoryStore(), { limits });
  const told: string[] = [];
  const heard = new EventEmitter();
  const hear = (what: string): void => {
    told.push(what);
    heard.emit(what);
  };
  escalations.tellBy({
    tell: ({ context, status }: Escalation): Promise<void> => {
      const { runId } = (context as { openwop_run: { runId: string } }).openwop_run;
      hear(`${status} ${runId}`);
      return Promise.resolve();
    },
  });
  const logs = (): object[] =>
    waiting.map(({ run, interrupt }) => {
      return { run, state: { status: "waiting-approval", interrupts: { agent: interrupt } } };
    });
  const host = { waiting: () => Promise.resolve(logs()) } as unknown as RunHost;
  const watcher = new RunEscalations({
    ...{ host, escalations, agtpIdOf: () => AGENT },
    record: (events) => {
      for (const { extension } of events) hear(String(extension["event_type"]));
      return Promise.resolve([]);
    },
    onFault: (error) => {
      throw error;
    },
  });
  return { watcher, escalations, told, until: (what: string) => once(heard, what) };
}

describe("a run that waits for a word", () => {
  it("is told of when it begins to wait, and when it has its answer", async () => {
    const { run, interrupt } = waitingRun("one");
    const { watcher, told, until } = await open(9, []);
    const closed = until("escalation_decided");
    watcher.onInterrupt(run, interrupt);
    watcher.onInterrupt(run, interrupt);
    watcher.onAnswer(run, interrupt, { resumeValue: true, by: "agtp:somebody" });
    await closed;
    expect(told).toEqual(["pending_review one", "accepted one", "escalation_decided"]);
  });

  it("that finds no room in the queue has it as soon as another one is over", async () => {
    const [one, two] = [waitingRun("one"), waitingRun("two")];
    const waiting = [one, two];
    const { watcher, escalations, until } = await open(1, waiting);
    const [first, second] = [until("rejected one"), until("pending_review two")];
    watcher.onInterrupt(one.run, one.interrupt);
    watcher.onInterrupt(two.run, two.interrupt);
    waiting.shift();
    watcher.onAnswer(one.run, one.interrupt, undefined);
    await Promise.all([first, second]);
    expect(escalations.list().map(({ status }) => status)).toEqual(["pending_review", "rejected"]);
  });
});
