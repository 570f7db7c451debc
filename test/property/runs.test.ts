/**
 * Runs of two processes over one store, random operations, commits that fail before or after they are
 * made, and processes that end between the store and their view: logs have no gap and no double, no run
 * leaves the ways of its status, and nothing is left of a run that is gone.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { numberEvents } from "../../src/runs/run-kind.ts";
import { openRegister, type RunRegister } from "../../src/runs/run-register.ts";
import type { Store } from "../../src/state/store.ts";
import { type CommitFault, failingStore } from "../support/hearing-nodes.ts";
import { draftRun, type TestEvent, type TestRun, testRunKind, UNBOUNDED } from "../support/runs.ts";
import { openTestStore } from "../support/store.ts";

interface Operation {
  readonly kind: "add" | "ask" | "answer" | "finish" | "delete" | "restart" | "refresh" | "sweep";
  readonly process: 0 | 1;
  readonly runId: string;
  readonly fault: CommitFault;
  /** Begun together with the one after it. */
  readonly isConcurrent: boolean;
}

const RUN_IDS = ["A", "B", "C", "D", "E", "a", "b", "c", "d", "e", "f"];

const OPERATION: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom(
    ...(["add", "add", "ask", "answer", "ask", "answer", "finish", "delete"] as const),
    ...(["restart", "refresh", "sweep"] as const),
  ),
  process: fc.constantFrom(0, 1),
  runId: fc.constantFrom(...RUN_IDS),
  fault: fc.constantFrom("none", "none", "none", "before", "after"),
  isConcurrent: fc.boolean(),
});

/** The ways of a status: those of the kind, written down once more. */
const WAYS: Readonly<Record<string, string>> = {
  ask: "working asking",
  answer: "asking working",
  finish: "working done",
};

class Process {
  readonly #store: Store;
  runs!: RunRegister<TestRun, TestEvent>;
  /** Of the next commit. */
  fault: CommitFault = "none";
  /** Ids are given once: no run comes back. */
  readonly #given: Set<string>;
  /** The steps that it was told of, by run. */
  readonly taken = new Map<string, number>();
  readonly heard: [TestRun, TestRun | undefined][] = [];

  constructor(store: Store, given: Set<string>) {
    this.#given = given;
    this.#store = failingStore(store, this);
  }

  async start(): Promise<void> {
    const kind = testRunKind({ quota: { perOwner: 3 }, keptMs: 1 });
    this.runs = await openRegister<TestRun, TestEvent>(this.#store, kind, { now: () => 0 });
    this.runs.watch((before, after) => void this.heard.push([before, after]));
  }

  async do({ kind, runId, fault }: Operation): Promise<void> {
    const { runs } = this;
    switch (kind) {
      case "add":
        if (this.#given.has(runId)) return;
        this.#given.add(runId);
        this.fault = fault;
        await runs.add(numberEvents(draftRun(runId), [{ said: "begun" }], UNBOUNDED));
        return;
      case "delete":
        this.fault = fault;
        return runs.delete(runId);
      case "restart":
        return this.start();
      case "refresh":
        return runs.refresh();
      case "sweep":
        return runs.sweep();
      default:
        return this.#step(kind, runId, fault);
    }
  }

  async #step(kind: "ask" | "answer" | "finish", runId: string, fault: CommitFault): Promise<void> {
    const [from, to] = String(WAYS[kind]).split(" ");
    this.fault = fault;
    const taken = await this.runs.advance(runId, (run) => {
      if (run.status !== from) return undefined;
      const status = to as TestRun["status"];
      return numberEvents({ ...run, status }, [{ said: `${from} ${to}` }], UNBOUNDED);
    });
    if (taken !== undefined) this.taken.set(runId, (this.taken.get(runId) ?? 0) + 1);
  }
}

async function play(
  driver: "memory" | "sqlite",
  operations: readonly Operation[],
): Promise<{ readonly store: Store; readonly processes: readonly [Process, Process] }> {
  const store = await openTestStore(driver);
  const given = new Set<string>();
  const processes = [new Process(store, given), new Process(store, given)] as const;
  for (const one of processes) await one.start();
  let running: Promise<unknown>[] = [];
  for (const operation of operations) {
    running.push(processes[operation.process].do(operation).catch(() => undefined));
    if (operation.isConcurrent && operation.kind !== "restart") continue;
    await Promise.all(running);
    running = [];
  }
  await Promise.all(running);
  for (const one of processes) {
    one.fault = "none";
    await one.runs.refresh();
    await one.runs.settled();
  }
  return { store, processes };
}

async function logsOf(store: Store): Promise<ReadonlyMap<string, readonly TestEvent[]>> {
  const logs = new Map<string, TestEvent[]>();
  for (const { key, value } of await store.list("test-events")) {
    const [runId = ""] = key.split("/");
    logs.set(runId, [...(logs.get(runId) ?? []), value as TestEvent]);
  }
  return logs;
}

describe.each([
  ["memory", 300],
  ["sqlite", 20],
] as const)("runs of two processes in a store of driver %s", (driver, numRuns) => {
  it("have logs without gap and double, and nothing is left of those that are gone", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(OPERATION, { maxLength: 40 }), async (operations) => {
        const { store, processes } = await play(driver, operations);
        const kept = (await store.list("test-runs")).map(({ value }) => value as TestRun);
        const logs = await logsOf(store);
        expect([...logs.keys()].sort()).toEqual(kept.map(({ runId }) => runId).sort());
        for (const { runId, status, eventCount } of kept) {
          const log = logs.get(runId) ?? [];
          expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, at) => at + 1));
          expect(log).toHaveLength(eventCount ?? 0);
          let at = "working";
          for (const { said } of log.slice(1)) {
            const [from, to = ""] = said.split(" ");
            expect(from).toBe(at);
            at = to;
          }
          expect(status).toBe(at);
        }
        for (const { runs } of processes) {
          const views = RUN_IDS.flatMap((runId) => runs.find(runId) ?? []);
          expect(views).toEqual(kept);
          expect(await store.list("test-doomed")).toEqual([]);
        }
      }),
      { numRuns },
    );
  });

  it("lose no step that was acknowledged, and take none twice", async () => {
    const steps = OPERATION.filter(({ kind, fault }) => kind !== "delete" && fault !== "after");
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 40 }), async (operations) => {
        const ids = operations.map((one) => ({ ...one, runId: "a" }));
        const { processes, store } = await play(driver, ids);
        const taken = processes.reduce((sum, one) => sum + (one.taken.get("a") ?? 0), 0);
        const log = (await logsOf(store)).get("a") ?? [];
        expect(Math.max(0, log.length - 1)).toBe(taken);
      }),
      { numRuns },
    );
  });

  it("are told of in the order in which they were moved on", async () => {
    const operations = OPERATION.filter(({ kind }) => kind !== "delete" && kind !== "restart");
    await fc.assert(
      fc.asyncProperty(fc.array(operations, { maxLength: 40 }), async (all) => {
        const { processes } = await play(driver, all);
        for (const { heard } of processes) {
          const counts = new Map<string, number>();
          for (const [before, after] of heard) {
            const known = counts.get(before.runId) ?? before.eventCount;
            expect(before.eventCount).toBe(known);
            if (after === undefined) counts.delete(before.runId);
            else {
              expect(after.eventCount ?? 0).toBeGreaterThan(before.eventCount ?? 0);
              counts.set(before.runId, after.eventCount ?? 0);
            }
          }
        }
      }),
      { numRuns },
    );
  });
});
