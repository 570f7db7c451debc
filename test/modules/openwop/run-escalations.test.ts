/** Runs that wait for a word, in the operators' queue: told of, taken out of it, and never lost. */
import { EventEmitter, once } from "node:events";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { RunEscalations } from "../../../src/modules/openwop/run-escalations.ts";
import { isRefused, type Run } from "../../../src/modules/openwop/runs/run.ts";
import type { RunHost } from "../../../src/modules/openwop/runs/run-host.ts";
import { type Interrupt, openInterrupt } from "../../../src/modules/openwop/runs/run-state.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import type { Escalation } from "../../../src/state/registers/escalation.ts";
import { EscalationRegister } from "../../../src/state/registers/escalation-register.ts";
import type { Store } from "../../../src/state/store.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { openRuns, type RunServer } from "../../support/openwop-runs.ts";
import { node, workflow } from "../../support/openwop-workflows.ts";
import { PATIENCE } from "../../support/patience.ts";
import { alterStore } from "../../support/store.ts";

const AGENT = "a".repeat(64);

function waitingRun(name: string): { readonly run: Run; readonly interrupt: Interrupt } {
  const run = { runId: name, owner: { tenant: "t" }, workflow: { id: "w" } } as unknown as Run;
  const interrupt: Interrupt = {
    ...{
      key: "r:n:1",
      interruptId: `i-${name}`,
      nodeId: "agent",
      kind: "low-confidence",
      isResolved: false,
    },
    ...{
      votes: [],
      data: { agentId: "vendor.test.pack.agent" },
      requestedAt: "2030-01-01T00:00:00Z",
    },
  };
  return { run, interrupt };
}

const OWNER = { tenant: "acme", principal: `agtp:${AGENT}`, agentId: AGENT, scopes: [] };
const EVERYBODY = { owner: OWNER, sees: "all" } as const;

/** A gate that lets the run go on, has it begin again, or ends it. */
const refining = (isLoop: boolean) => {
  const actions = ["accept", "refine", "reject"];
  const flow = workflow("gated", [
    node("draft", "core.noop"),
    node("gate", "core.approvalGate", { config: { actions } }),
  ]);
  const condition = { type: "equals", left: "action", right: "refine" } as const;
  const back = { id: "back", sourceNodeId: "gate", targetNodeId: "draft", condition };
  return isLoop ? { ...flow, edges: [...flow.edges, back] } : flow;
};
const REFINED = { action: "refine", refineFeedback: { scope: "whole", text: "shorter" } };

/** The queue of a server's runs, over its store, and the events of it that are on record. */
async function queueOf(server: RunServer, shared?: EscalationRegister) {
  const escalations = shared ?? (await EscalationRegister.open(server.store));
  const onRecord: Readonly<Record<string, unknown>>[] = [];
  const faults: unknown[] = [];
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const watcher = new RunEscalations({
    ...{ host: server.host, escalations, agtpIdOf: () => AGENT, ending: ending.signal },
    ...{ policy: { operatorCertificates: [] }, attributor: { isWritable: true } },
    record: (events) => {
      onRecord.push(...events.map(({ extension }) => extension));
      return Promise.resolve([]);
    },
    onFault: (error) => void faults.push(error),
  });
  await watcher.start();
  return { watcher, escalations, onRecord, faults };
}

/** Begins a run of an agent; the interrupt that it waits for. */
async function begin(server: RunServer): Promise<{ runId: string; interruptId: string }> {
  const log = await server.host.create({ workflowId: "gated" }, OWNER);
  if (isRefused(log)) throw new Error(log.message);
  const { runId } = log.run;
  return { runId, interruptId: (await waitingAt(server, runId)).interruptId };
}

/** The interrupt that a run waits for, once it waits. */
async function waitingAt(server: RunServer, runId: string): Promise<Interrupt> {
  const log = await server.host.find(runId, EVERYBODY);
  if (isRefused(log)) throw new Error(log.message);
  await log.atRest({ signals: [] });
  const interrupt = openInterrupt(log.state);
  if (interrupt === undefined) throw new Error(`the run is ${log.state.status}`);
  return interrupt;
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
  const known = [...waiting];
  const logOf = async (runId: string) => {
    const { run, interrupt } = known.find((one) => one.run.runId === runId) ?? {};
    return { run, state: { status: "waiting-approval", interrupts: { agent: interrupt } } };
  };
  const host = {
    waiting: () => waiting.map(({ run: { runId } }) => ({ runId })),
    endOfWait: () => Date.now() + 3_600_000,
    ...{ attend: logOf, find: logOf, catchUp: () => Promise.resolve() },
  } as unknown as RunHost;
  const watcher = new RunEscalations({
    ...{ host, escalations, agtpIdOf: () => AGENT, ending: new AbortController().signal },
    ...{ policy: { operatorCertificates: [] }, attributor: { isWritable: true } },
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
    const waiting = waitingRun("one");
    const { run, interrupt } = waiting;
    const { watcher, told, until } = await open(9, [waiting]);
    const closed = until("escalation_decided");
    watcher.onInterrupt(run, interrupt);
    watcher.onInterrupt(run, interrupt);
    watcher.onAnswer(run, interrupt, { isAccepted: true, by: "agtp:somebody" });
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

  it("that finds no room has it soon after the agent's own escalation is over", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const two = waitingRun("two");
    const { watcher, escalations, told } = await open(1, [two]);
    const opening = await escalations.open({
      ...{ agentId: AGENT, priority: "normal", reason: "scope_limit", fingerprint: "its own" },
      ...{ context: { openwop_run: { runId: "none" } }, deadlineAt: Date.now() + 3_600_000 },
    });
    if (opening.kind !== "opened") throw new Error(`it is ${opening.kind}`);
    watcher.onInterrupt(two.run, two.interrupt);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(told).toEqual(["pending_review none"]);
    const { escalationId } = opening.escalation;
    const decision = {
      status: "accepted",
      authority: "operator",
      attestationId: "a",
      at: 1,
    } as const;
    await escalations.decide(escalationId, decision);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toContain("pending_review two");
  });
});

// OpenWOP "interrupt" approval
describe("a gate for something long", () => {
  it("is in the queue, with everything but what is long", async () => {
    const draft = { type: "variable", variableName: "draft" } as const;
    const gate = node("gate", "core.approvalGate", {
      inputs: { draft },
      config: { title: "Send?" },
    });
    const limits = { bytes: 64 * 1_048_576 };
    const server = await openRuns({ workflows: [workflow("gated", [gate])], limits });
    const { watcher, escalations } = await queueOf(server);
    const inputs = { draft: "x".repeat(5_000_000) };
    const log = await server.host.create({ workflowId: "gated", inputs }, OWNER);
    if (isRefused(log)) throw new Error(log.message);
    const { data } = await waitingAt(server, log.run.runId);
    expect(data).toMatchObject({ artifactData: inputs });
    await watcher.lookAgain();
    const [escalation] = escalations.list();
    expect(escalation?.context).toMatchObject({ title: "Send?", artifactData_omitted: true });
    expect(escalation?.context).not.toHaveProperty("artifactData");
  });
});

describe("what an earlier process did not get to", () => {
  it("is looked for without the logs of runs that have their answer", async () => {
    const disk = createMemoryStore();
    const workflows = [refining(false)];
    const server = await openRuns({ store: disk, workflows });
    const queue = await queueOf(server);
    for (let count = 0; count < 3; count += 1) {
      const { runId } = await begin(server);
      await queue.watcher.lookAgain();
      const answer = { resumeValue: { action: "accept" }, by: "key:desk" };
      await server.host.answer(runId, "gate", answer, EVERYBODY);
      await server.until(runId, "completed");
    }
    await queue.watcher.lookAgain();
    const read: string[] = [];
    const store = alterStore(disk, {
      list: (collection, options) => {
        if (collection === "openwop-run-events") read.push(String(options?.prefix));
        return disk.list(collection, options);
      },
    });
    const next = await queueOf(await openRuns({ store, workflows }));
    expect(next.escalations.list().map(({ status }) => status)).toEqual([
      ...["accepted", "accepted", "accepted"],
    ]);
    expect(read).toEqual([]);
  });

  it("is taken up though one run cannot be read, and of that one once it can", async () => {
    const disk = createMemoryStore();
    const server = await openRuns({ store: disk, workflows: [refining(false)] });
    const queue = await queueOf(server);
    const [bad, answered] = [await begin(server), await begin(server)];
    await queue.watcher.lookAgain();
    const other = await openRuns({ store: disk, workflows: [refining(false)] });
    const by = "key:desk";
    const resumeValue = { action: "accept" };
    for (const { runId } of [bad, answered]) {
      await other.host.answer(runId, "gate", { resumeValue, by }, EVERYBODY);
    }
    const late = await begin(other);
    let isBroken = true;
    const store = alterStore(disk, {
      list: async (collection, options) => {
        const isBad = options?.prefix?.startsWith(bad.runId) === true;
        if (isBroken && isBad) throw new Error("the log of a run has a gap");
        return disk.list(collection, options);
      },
    });
    const next = await queueOf(await openRuns({ store, workflows: [refining(false)] }));
    const standing = (): Record<string, string | undefined> => {
      const byRun = next.escalations.list().map(({ context, status }) => {
        const { runId } = (context as { openwop_run: { runId: string } }).openwop_run;
        return [runId, status] as const;
      });
      return Object.fromEntries(byRun);
    };
    expect(next.faults).not.toEqual([]);
    expect(standing()).toEqual({
      ...{ [bad.runId]: "pending_review", [answered.runId]: "accepted" },
      [late.runId]: "pending_review",
    });
    isBroken = false;
    await vi.waitFor(() => expect(standing()[bad.runId]).toBe("accepted"), PATIENCE);
  });
});

/** A store that others write to, whom nobody hears of by itself. */
function sharedStore(): Store {
  return alterStore(createMemoryStore(), { watch: () => undefined });
}

describe("a queue that has heard of a question, and not of its run", () => {
  it("leaves it to people, and the run to itself", async () => {
    const store = sharedStore();
    const workflows = [refining(false)];
    const behind = await openRuns({ store, workflows, isStarted: false });
    const server = await openRuns({ store, workflows });
    const { watcher } = await queueOf(server);
    const { runId } = await begin(server);
    await watcher.lookAgain();
    expect(behind.register.find(runId)).toBeUndefined();
    const { escalations } = await queueOf(behind);
    expect(escalations.list().map(({ status }) => status)).toEqual(["pending_review"]);
  });
});

describe("a run that is ended on another node", () => {
  const workflows = [refining(false)];

  it("is asked about no more, where that was heard of only after it was asked about", async () => {
    const store = sharedStore();
    const server = await openRuns({ store, workflows });
    const { runId } = await begin(server);
    const other = await openRuns({ store, workflows, isStarted: false });
    await other.host.cancel(runId, undefined, EVERYBODY);
    expect(server.host.isWaiting(runId)).toBe(true);
    const { escalations } = await queueOf(server);
    expect(escalations.list().map(({ status }) => status)).toEqual(["rejected"]);
  });

  it("is asked about no more, where that node has not heard that it is asked about", async () => {
    const store = sharedStore();
    const other = await openRuns({ store, workflows, isStarted: false });
    const { watcher } = await queueOf(other);
    const server = await openRuns({ store, workflows });
    const { runId } = await begin(server);
    await queueOf(server);
    await other.register.refresh();
    await other.host.cancel(runId, undefined, EVERYBODY);
    await watcher.lookAgain();
    const [escalation] = (await EscalationRegister.open(store)).list();
    expect(escalation?.status).toBe("rejected");
  });
});

describe("a run whose store does not say that it has its answer", () => {
  it("is asked about no more once the store can be read", async () => {
    const disk = createMemoryStore();
    const fault = { isLossy: false, isAway: false };
    const lost = () => new StoreUnavailableError("undecided", new Error("the line was cut"));
    const store = alterStore(disk, {
      watch: () => undefined,
      commit: async (...args) => {
        const outcome = await disk.commit(...args);
        if (fault.isLossy) throw lost();
        return outcome;
      },
      changes: (...args) => (fault.isAway ? Promise.reject(lost()) : disk.changes(...args)),
    });
    const server = await openRuns({ store, workflows: [refining(false)] });
    const { watcher, escalations, faults } = await queueOf(server);
    const { runId } = await begin(server);
    await watcher.lookAgain();
    Object.assign(fault, { isLossy: true, isAway: true });
    const answer = { resumeValue: { action: "accept" }, by: "key:desk" };
    await expect(server.host.answer(runId, "gate", answer, EVERYBODY)).rejects.toThrow(
      StoreUnavailableError,
    );
    await vi.waitFor(() => expect(faults).toHaveLength(1), PATIENCE);
    expect(escalations.list()).toMatchObject([{ status: "pending_review" }]);
    Object.assign(fault, { isLossy: false, isAway: false });
    await vi.waitFor(
      () => expect(escalations.list()).toMatchObject([{ status: "accepted" }]),
      PATIENCE,
    );
  });
});

describe("the queues of two deployments", () => {
  it("open one escalation of a run between them, and leave none open when it is answered", async () => {
    const server = await openRuns({ workflows: [refining(false)] });
    const before = await queueOf(server);
    const after = await queueOf(server, before.escalations);
    const { runId } = await begin(server);
    await Promise.all([before.watcher.lookAgain(), after.watcher.lookAgain()]);
    const by = "key:desk";
    await server.host.answer(runId, "gate", { resumeValue: REFINED, by }, EVERYBODY);
    await Promise.all([before.watcher.lookAgain(), after.watcher.lookAgain()]);
    expect(before.escalations.list().map(({ status }) => status)).toEqual(["rejected"]);
  });
});

// OpenWOP "interrupt" approval
describe("a gate that is to be refined", () => {
  it.each([
    ["and has the run fail", false],
    ["and has it begin again", true],
  ])("was not approved, %s: the same is on record before and after a kill", async (_, isLoop) => {
    const workflows = [refining(isLoop)];
    const told: unknown[] = [];
    for (const isKilled of [false, true]) {
      const disk = createMemoryStore();
      const server = await openRuns({ store: disk, workflows });
      const queue = await queueOf(server);
      const { runId, interruptId } = await begin(server);
      await queue.watcher.lookAgain();
      expect(queue.escalations.list()).toHaveLength(1);
      // A killed process answers the run, and tells nobody.
      const answering = isKilled ? await openRuns({ store: disk, workflows }) : server;
      const by = "key:desk";
      await answering.host.answer(runId, "gate", { resumeValue: REFINED, by }, EVERYBODY);
      if (isLoop) {
        const next = await waitingAt(answering, runId);
        expect(next.interruptId).not.toBe(interruptId);
      } else await answering.until(runId, "failed");
      const after = isKilled ? await queueOf(await openRuns({ store: disk, workflows })) : queue;
      await after.watcher.lookAgain();
      const [escalation] = after.escalations.list().toReversed();
      told.push({ ...escalation?.decision, at: 0, attestationId: "" });
      expect(after.onRecord).toMatchObject([
        { event_type: "escalation_decided", escalation_status: "rejected" },
      ]);
    }
    expect(told[0]).toMatchObject({ status: "rejected", reason: "answered by key:desk" });
    expect(told[1]).toEqual(told[0]);
  });
});

describe("a fork of a run that waits", () => {
  it("has a question of its own, and its end leaves that of its source open", async () => {
    const server = await openRuns({ workflows: [refining(false)] });
    const { watcher, escalations } = await queueOf(server);
    const { runId } = await begin(server);
    const log = await server.host.fork(runId, { mode: "replay" }, EVERYBODY);
    if (isRefused(log)) throw new Error(log.message);
    await waitingAt(server, log.run.runId);
    await watcher.lookAgain();
    const stand = (): readonly unknown[] =>
      escalations
        .list()
        .map(({ context, status }) => {
          const { openwop_run: about } = context as { readonly openwop_run: { runId: string } };
          return [about.runId === runId ? "source" : "fork", status];
        })
        .toSorted();
    expect(stand()).toEqual([
      ["fork", "pending_review"],
      ["source", "pending_review"],
    ]);
    await server.host.cancel(log.run.runId, undefined, EVERYBODY);
    await watcher.lookAgain();
    expect(stand()).toEqual([
      ["fork", "rejected"],
      ["source", "pending_review"],
    ]);
  });
});
