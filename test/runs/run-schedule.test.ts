/** Which run is executed when: no run twice at once, no owner in everybody's way. */
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type RunExecutor, RunSchedule } from "../../src/runs/run-schedule.ts";
import { HolderLostError } from "../../src/state/holders.ts";
import { StoreUnavailableError } from "../../src/state/store-fault.ts";

/** An executor whose executions end when a test says so. */
class TestExecutor implements RunExecutor {
  readonly concurrent: number;
  readonly waiting?: number;
  readonly begun: string[] = [];
  readonly running = new Map<string, () => void>();
  readonly reasons: unknown[] = [];

  constructor(concurrent: number, waiting?: number) {
    this.concurrent = concurrent;
    if (waiting !== undefined) this.waiting = waiting;
  }

  execute(runId: string, stop: AbortController): Promise<void> {
    expect(this.running.has(runId)).toBe(false);
    this.begun.push(runId);
    stop.signal.addEventListener("abort", () => {
      this.reasons.push(stop.signal.reason);
      this.end(runId);
    });
    return new Promise((resolve) => {
      this.running.set(runId, resolve);
    });
  }

  reportFault(error: unknown): never {
    throw error;
  }

  end(runId: string): void {
    const end = this.running.get(runId);
    this.running.delete(runId);
    end?.();
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const run = (runId: string, owner = runId.slice(0, 1)) => ({ runId, owner });

describe("the schedule of runs", () => {
  it("executes as many at once as it may, each owner's in turn", async () => {
    const schedule = new RunSchedule();
    const executor = new TestExecutor(3);
    for (const runId of ["a1", "a2", "a3", "b1", "b2", "c1"]) schedule.add(run(runId));
    schedule.use(executor);
    await settle();
    expect(executor.begun).toEqual(["a1", "b1", "c1"]);
    executor.end("a1");
    await settle();
    expect(executor.begun).toEqual(["a1", "b1", "c1", "a2"]);
  });

  it("leaves as much free as an owner holds", async () => {
    const schedule = new RunSchedule();
    const executor = new TestExecutor(4);
    schedule.use(executor);
    for (const runId of ["a1", "a2", "a3", "a4"]) schedule.add(run(runId));
    await settle();
    expect(executor.begun).toEqual(["a1", "a2"]);
    schedule.add(run("b1"));
    await settle();
    expect(executor.begun).toEqual(["a1", "a2", "b1"]);
  });

  it("gives all who are not known half of the places, whatever they call themselves", async () => {
    const schedule = new RunSchedule();
    const executor = new TestExecutor(4);
    schedule.use(executor);
    for (const runId of ["s1", "t1", "u1"]) schedule.add({ ...run(runId), isStranger: true });
    await settle();
    expect(executor.begun).toEqual(["s1", "t1"]);
    schedule.add(run("s1-of-somebody", "s"));
    await settle();
    expect(executor.begun).toEqual(["s1", "t1", "s1-of-somebody"]);
    executor.end("s1");
    await settle();
    expect(executor.begun).toEqual(["s1", "t1", "s1-of-somebody", "u1"]);
  });

  it("lets so many wait, of whom nobody is all", async () => {
    const schedule = new RunSchedule();
    const executor = new TestExecutor(1, 4);
    schedule.use(executor);
    const added = ["a0", "a1", "a2", "a3", "b1", "c1", "d1"].map((one) => schedule.add(run(one)));
    expect(added).toEqual([true, true, true, false, true, true, false]);
    expect(schedule.has(run("a3"))).toBe(false);
    await settle();
    for (const runId of ["a0", "a1", "b1", "c1", "a2"]) {
      executor.end(runId);
      await settle();
    }
    expect(executor.begun).toEqual(["a0", "a1", "b1", "c1", "a2"]);
  });

  it("executes a run again that was added while it was executed, and not before it has ended", async () => {
    const schedule = new RunSchedule();
    const executor = new TestExecutor(4);
    schedule.use(executor);
    schedule.add(run("a1"));
    await settle();
    schedule.add(run("a1"));
    expect(schedule.has(run("a1"))).toBe(true);
    await settle();
    expect(executor.begun).toEqual(["a1"]);
    executor.end("a1");
    await settle();
    expect(executor.begun).toEqual(["a1", "a1"]);
  });

  it("tells an execution to stop, and takes back what has not begun", async () => {
    const schedule = new RunSchedule();
    const executor = new TestExecutor(1);
    schedule.use(executor);
    schedule.add(run("a1"));
    schedule.add(run("b1"));
    await settle();
    expect(schedule.stop("b1", "no")).toBe(false);
    schedule.remove(run("b1"));
    expect(schedule.stop("a1", "because")).toBe(true);
    await settle();
    expect(executor.reasons).toEqual(["because"]);
    expect(executor.begun).toEqual(["a1"]);
    expect(schedule.has(run("b1"))).toBe(false);
  });

  it("hands what waits to the executor that comes next, once the one before it has let go", async () => {
    const schedule = new RunSchedule();
    const [before, after] = [new TestExecutor(2), new TestExecutor(2)];
    schedule.use(before);
    schedule.add(run("a1"));
    await settle();
    schedule.pause(before);
    schedule.add(run("a1"));
    schedule.add(run("b1"));
    schedule.use(after);
    schedule.pause(before);
    await settle();
    expect(after.begun).toEqual(["b1"]);
    let isIdle = false;
    const idle = schedule.idle(before).then(() => {
      isIdle = true;
    });
    await settle();
    expect(isIdle).toBe(false);
    before.end("a1");
    await idle;
    await settle();
    expect(after.begun).toEqual(["b1", "a1"]);
  });

  it("executes every run that was added, whatever was added and ended in between", async () => {
    const runIds = fc.constantFrom("a1", "a2", "a3", "b1", "b2", "c1");
    const steps = fc.array(fc.tuple(fc.constantFrom("add", "add", "end"), runIds));
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), async (all, concurrent) => {
        const schedule = new RunSchedule();
        const executor = new TestExecutor(concurrent);
        schedule.use(executor);
        for (const [step, runId] of all) {
          if (step === "add") schedule.add(run(runId));
          else executor.end(runId);
          await settle();
          expect(executor.running.size).toBeLessThanOrEqual(concurrent);
        }
        while (executor.running.size > 0) {
          for (const runId of [...executor.running.keys()]) executor.end(runId);
          await settle();
        }
        const added = all.flatMap(([step, runId]) => (step === "add" ? [runId] : []));
        expect([...new Set(executor.begun)].sort()).toEqual([...new Set(added)].sort());
      }),
      { numRuns: 100 },
    );
  });
});

describe("a run that the store could not keep", () => {
  it("is executed again, later each time, until it could", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const begunAt: number[] = [];
    const schedule = new RunSchedule();
    schedule.use({
      concurrent: 1,
      execute: async () => {
        begunAt.push(Date.now());
        if (begunAt.length < 4) throw fullDisk();
      },
      reportFault: fail,
    });
    schedule.add(run("a1"));
    await vi.advanceTimersByTimeAsync(60_000);
    const [first = 0] = begunAt;
    expect(begunAt.map((at) => at - first)).toEqual([0, 500, 1_500, 3_500]);
    expect(schedule.has(run("a1"))).toBe(false);
    // Another fault of it begins with the shortest pause.
    begunAt.length = 2;
    schedule.add(run("a1"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect((begunAt[3] ?? 0) - (begunAt[2] ?? 0)).toBe(500);
  });

  it("keeps nobody else from being executed meanwhile", async () => {
    const begun: string[] = [];
    const schedule = new RunSchedule();
    schedule.use({
      concurrent: 1,
      execute: async (runId) => {
        begun.push(runId);
        if (runId === "a1") throw fullDisk();
      },
      reportFault: fail,
    });
    for (const runId of ["a1", "b1", "a2"]) schedule.add(run(runId));
    await settle();
    await settle();
    expect(begun).toEqual(["a1", "b1", "a2"]);
  });
});

function fullDisk(): StoreUnavailableError {
  return new StoreUnavailableError("full", new Error("the disk is full"));
}

function fail(error: unknown): never {
  throw error;
}

describe("an execution that failed", () => {
  it("is reported unless the store or another node is why, and is forgotten where it is not for later", async () => {
    const reported: unknown[] = [];
    const forgotten: string[] = [];
    const bug = new Error("a bug");
    const faults: Readonly<Record<string, Error>> = {
      ...{ a1: bug, b1: fullDisk(), c1: new HolderLostError() },
    };
    const schedule = new RunSchedule();
    schedule.use({
      concurrent: 10,
      execute: async (runId) => {
        const fault = faults[runId];
        if (fault !== undefined) throw fault;
      },
      reportFault: (error, runId) => reported.push([runId, error]),
      forget: (runId) => forgotten.push(runId),
    });
    for (const runId of ["a1", "b1", "c1", "d1"]) schedule.add(run(runId));
    await settle();
    expect(reported).toEqual([["a1", bug]]);
    expect(forgotten.sort()).toEqual(["a1", "c1", "d1"]);
  });
});
