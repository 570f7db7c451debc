/** Runs that two ask something of at once: each finds the same log, and nobody is left waiting. */
import { describe, expect, it, onTestFinished } from "vitest";
import { isRecord } from "../../../../src/base/json-value.ts";
import type { Run } from "../../../../src/modules/openwop/runs/run.ts";
import type { RunCaller } from "../../../../src/modules/openwop/runs/run-entry.ts";
import { RunLog } from "../../../../src/modules/openwop/runs/run-log.ts";
import type { InterruptWatcher } from "../../../../src/modules/openwop/runs/run-state.ts";
import { type Driven, executeNode } from "../../../../src/modules/openwop/runs/take-node.ts";
import {
  openWorkflowRuns,
  type WorkflowRuns,
} from "../../../../src/modules/openwop/runs/workflow-runs.ts";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import type { Store } from "../../../../src/state/store.ts";
import { CATALOG, CONCIERGE, scriptedAgents } from "../../../support/openwop-agents.ts";
import { LIMITS, openRuns } from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";
import { alterStore } from "../../../support/store.ts";

const RUN: Run = {
  ...{ runId: "run-1", workflow: workflow("w", [node("one", "core.noop")]) },
  owner: { tenant: "acme", principal: "key:1", scopes: [] },
  ...{ inputs: {}, configurable: {}, tags: [], metadata: {}, createdAt: 0 },
};
const RULES = { limits: LIMITS, redact: <Value>(value: Value): Value => value };

async function logOf(runs: WorkflowRuns): Promise<RunLog> {
  const log = await runs.keep(RUN, RULES);
  if ("kind" in log) throw new Error(`not created: ${log.code}`);
  return log;
}

interface HaltingStore {
  readonly store: Store;
  /** Such a commit was asked for. */
  readonly reached: Promise<void>;
  letThrough(): void;
}

/** A store whose commits of such values wait until they are let through. */
function haltingStore(isHalted: (value: unknown) => boolean): HaltingStore {
  const memory = createMemoryStore();
  let reach: () => void = () => undefined;
  let letThrough: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const passed = new Promise<void>((resolve) => {
    letThrough = resolve;
  });
  const store = alterStore(memory, {
    commit: async (changes, expectations) => {
      if (changes.some((change) => change.kind === "put" && isHalted(change.value))) {
        reach();
        await passed;
      }
      return memory.commit(changes, expectations);
    },
  });
  return { store, reached, letThrough };
}

describe("the log of a run", () => {
  it("is one, whoever finds the run as soon as it is kept", async () => {
    const store = createMemoryStore();
    const register = await openWorkflowRuns(store);
    const created = register.keep(RUN, RULES);
    expect(register.unfinished()).toEqual([]);
    while (register.find(RUN.runId) === undefined) await Promise.resolve();
    const found = register.log(RUN.runId, RULES);
    expect(await created).toBeInstanceOf(RunLog);
    expect(await found).toBe(await created);
  });

  it("goes on where somebody else's ends", async () => {
    const store = createMemoryStore();
    const runs = await openWorkflowRuns(store);
    const log = await logOf(runs);
    const others = await openWorkflowRuns(store);
    const other = await others.log(RUN.runId, RULES);
    await other?.append([{ type: "run.started", payload: {} }]);
    await log.append([{ type: "run.paused", payload: {} }]);
    const events = await runs.events(RUN.runId, -1, 10);
    expect(events.map(({ sequence, type }) => [sequence, type])).toEqual([
      [0, "run.started"],
      [1, "run.paused"],
    ]);
    expect(log.state.status).toBe("paused");
  });

  it.each(["before", "behind"] as const)(
    "takes in what somebody else says while it takes in what was said, %s its reading",
    async (when) => {
      const store = createMemoryStore();
      const log = await logOf(await openWorkflowRuns(store));
      let meanwhile: (() => Promise<void>) | undefined;
      const interrupt = async (now: typeof when): Promise<void> => {
        const said = meanwhile;
        if (now !== when || said === undefined) return;
        meanwhile = undefined;
        await said();
      };
      const list: Store["list"] = async (...asked) => {
        await interrupt("before");
        const page = await store.list(...asked);
        await interrupt("behind");
        return page;
      };
      const others = await openWorkflowRuns(alterStore(store, { list }));
      const other = await others.log(RUN.runId, RULES);
      if (other === undefined) throw new Error("the run is not there");
      const saySomething = async (type: "run.started" | "run.paused" | "run.resumed") => {
        await log.append([{ type, payload: {} }]);
        await others.refresh();
      };
      await saySomething("run.started");
      meanwhile = () => saySomething("run.paused");
      await other.changed(-1, { signals: [] });
      expect(meanwhile).toBeUndefined();
      await other.changed(0, { signals: [] });
      expect(other.state).toMatchObject({ status: "paused", nextSequence: 2 });
      meanwhile = () => saySomething("run.resumed");
      await saySomething("run.paused");
      await other.append([{ type: "run.completed", payload: {} }]);
      expect(meanwhile).toBeUndefined();
      expect((await others.events(RUN.runId, -1, 10)).map(({ type }) => type)).toEqual([
        "run.started",
        "run.paused",
        "run.paused",
        "run.resumed",
        "run.completed",
      ]);
      expect(other.state.status).toBe("completed");
    },
  );

  it("is not there when the run is forgotten while it is read", async () => {
    const store = createMemoryStore();
    const before = await openWorkflowRuns(store);
    const log = await logOf(before);
    await log.append([{ type: "run.cancelled", payload: { cancelledBy: "key:1" } }]);
    const register = await openWorkflowRuns(store);
    const read = register.log(RUN.runId, RULES);
    await register.forget({ retentionSeconds: -60 });
    expect(await read).toBeUndefined();
  });
});

describe("cancelling a run", () => {
  it("tells whoever was told that it waits, when it begins to wait meanwhile", async () => {
    const isSuspension = (value: unknown): boolean =>
      isRecord(value) && value["type"] === "node.suspended";
    const { store, reached, letThrough } = haltingStore(isSuspension);
    const executor = scriptedAgents(async ({ agentId, emit }) => {
      const decision = { book: true };
      await emit({ type: "agent.decided", payload: { agentId, decision, confidence: 0.2 } });
      return { kind: "low-confidence", threshold: 0.7, observed: 0.2, decision, result: {} };
    });
    const told: string[] = [];
    const watcher: InterruptWatcher = {
      onInterrupt: (_, { interruptId }) => void told.push(`waiting ${interruptId}`),
      onAnswer: (_, { interruptId }) => void told.push(`over ${interruptId}`),
      onDoubt: () => undefined,
    };
    const server = await openRuns({ catalog: CATALOG, executor, store, watcher });
    const { body } = await server.post("/v1/runs", { agentId: CONCIERGE });
    await reached;
    const overseer: RunCaller = { owner: RUN.owner, sees: "all" };
    const cancelled = server.host.cancel(body.runId, undefined, overseer);
    await server.get(`/v1/runs/${body.runId}`);
    letThrough();
    await cancelled;
    expect(told.filter((one) => one.startsWith("over"))).toHaveLength(1);
    expect(told.at(-1)).toMatch(/^over /);
  });
});

describe("executing a node", () => {
  it("does not begin when the run is stopped while what it needs is read", async () => {
    const stop = new AbortController();
    const stopped = { kind: "cancelled", by: "key:1" };
    const interrupts = { one: { interruptId: "i-1", nodeId: "one" } };
    const state = { nodes: { one: { handedTo: CONCIERGE } }, interrupts };
    let executions = 0;
    const type = {
      execute: () => {
        executions += 1;
        return Promise.reject(new Error("nobody hears of this"));
      },
    };
    const driven = {
      ...{ log: { run: RUN, state }, signal: stop.signal },
      parts: {
        types: new Map([["core.agent", type]]),
        register: { now: () => 0, pendingResult: async () => stop.abort(stopped) },
      },
    } as unknown as Driven;
    const executed = executeNode(driven, node("one", "core.agent"), {});
    await expect(executed).rejects.toBe(stopped);
    expect(executions).toBe(0);
  });
});

describe("events of a run that many listen to", () => {
  it("are read once for all who want the same at once, and again for who comes later", async () => {
    const memory = createMemoryStore();
    let readings = 0;
    const store = alterStore(memory, {
      list: (collection, options) => {
        if (options?.prefix === `${RUN.runId}/`) readings += 1;
        return memory.list(collection, options);
      },
    });
    const log = await logOf(await openWorkflowRuns(store));
    await log.append([{ type: "run.started", payload: {} }]);
    readings = 0;
    const pages = await Promise.all(Array.from({ length: 50 }, () => log.events(-1)));
    expect(readings).toBe(1);
    expect(new Set(pages).size).toBe(1);
    expect(pages[0]?.map(({ type }) => type)).toEqual(["run.started"]);
    await Promise.all([log.events(0), log.events(-1)]);
    expect(readings).toBe(3);
    await log.append([{ type: "node.started", payload: {}, nodeId: "one" }]);
    expect(await log.events(-1)).toHaveLength(2);
  });

  it("are read a megabyte at a time where they are long, in turns of their own", async () => {
    const memory = createMemoryStore();
    const readings: number[] = [];
    const turns: number[] = [];
    let turn = 0;
    const count = (): void => {
      turn += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    onTestFinished(() => clearImmediate(next));
    const store = alterStore(memory, {
      list: async (collection, options) => {
        const page = await memory.list(collection, options);
        if (options?.prefix !== `${RUN.runId}/` || page.length === 0) return page;
        readings.push(page.length);
        turns.push(turn);
        return page;
      },
    });
    const log = await logOf(await openWorkflowRuns(store));
    const text = "x".repeat(300_000);
    await log.append([{ type: "run.started", payload: { text } }]);
    for (let nth = 0; nth < 7; nth += 1) {
      await log.append([{ type: "node.started", payload: { text }, nodeId: `n${nth}` }]);
    }
    const first = await log.page(-1);
    expect(first.events).toHaveLength(3);
    expect(first.isComplete).toBe(false);
    readings.length = 0;
    turns.length = 0;
    const all: number[] = [];
    for await (const { sequence } of log.eventsBehind(-1)) all.push(sequence);
    expect(all).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(readings).toEqual([2, 2, 2, 2]);
    expect(new Set(turns).size).toBe(4);
  });
});
