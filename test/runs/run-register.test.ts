/** What every kind of runs is promised, whichever driver its store has. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { readEvents } from "../../src/runs/event-log.ts";
import { type EventRules, numberEvents, RunFullError } from "../../src/runs/run-kind.ts";
import { openRegister, type RunRegister } from "../../src/runs/run-register.ts";
import { HolderLostError, type Holders } from "../../src/state/holders.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import type { Store } from "../../src/state/store.ts";
import { StoreUnavailableError } from "../../src/state/store-fault.ts";
import { PATIENCE } from "../support/patience.ts";
import { draftRun, type TestEvent, type TestRun, testRunKind, UNBOUNDED } from "../support/runs.ts";
import { alterStore, openTestStore } from "../support/store.ts";

type Runs = RunRegister<TestRun, TestEvent>;

const openRuns = (store: Store, kind = testRunKind(), now?: () => number): Promise<Runs> =>
  openRegister<TestRun, TestEvent>(store, kind, now === undefined ? {} : { now });

/** Moves a run to a status, and says so. */
const move = (runs: Runs, runId: string, status: TestRun["status"], rules = UNBOUNDED) =>
  runs.advance(runId, (run) => numberEvents({ ...run, status }, [{ said: status }], rules));

describe.each(["memory", "sqlite"] as const)("runs in a store of driver %s", (driver) => {
  const openStore = (): Promise<Store> => openTestStore(driver);

  it("are found by id, by owner, by phase and by group, through a restart", async () => {
    const store = await openStore();
    const before = await openRuns(store);
    for (const [at, runId] of ["c", "a", "b"].entries()) {
      await before.add({ run: draftRun(runId, at) });
    }
    await move(before, "a", "asking");
    await move(before, "b", "done");
    for (const runs of [before, await openRuns(store)]) {
      expect(runs.find("a")).toMatchObject({ status: "asking", eventCount: 1 });
      expect(runs.ofOwner("ada").map(({ runId }) => runId)).toEqual(["c", "a", "b"]);
      expect(runs.inPhase("active", "waiting").map(({ runId }) => runId)).toEqual(["c", "a"]);
      expect(runs.inPhase("over").map(({ runId }) => runId)).toEqual(["b"]);
      expect(runs.inGroup("status", "asking").map(({ runId }) => runId)).toEqual(["a"]);
      expect(runs.inGroup("status", "none")).toEqual([]);
    }
  });

  it("number their events, and read them behind a number", async () => {
    const runs = await openRuns(await openStore());
    await runs.add(numberEvents(draftRun("a"), [{ said: "working" }], UNBOUNDED));
    await runs.add({ run: draftRun("a2") });
    for (const status of ["asking", "working", "done"] as const) await move(runs, "a", status);
    const said = await runs.events("a", 2, 10);
    expect(said).toEqual([
      { sequence: 3, said: "working" },
      { sequence: 4, said: "done" },
    ]);
    expect(await runs.events("a", -1, 1)).toEqual([{ sequence: 1, said: "working" }]);
    expect(await runs.events("a2", -1, 10)).toEqual([]);
  });

  it("read a log that is longer than a page", async () => {
    const runs = await openRuns(await openStore());
    const drafts = Array.from({ length: 1203 }, (_, at) => ({ said: String(at) }));
    await runs.add(numberEvents(draftRun("a"), drafts, UNBOUNDED));
    const said: string[] = [];
    for await (const event of readEvents(runs, "a")) said.push(event.said);
    expect(said).toEqual(drafts.map((draft) => draft.said));
  });

  it("go the ways of their status and no other", async () => {
    const runs = await openRuns(await openStore());
    await runs.add({ run: draftRun("a") });
    await move(runs, "a", "done");
    await expect(move(runs, "a", "working")).rejects.toThrow('"done" cannot become "working"');
    expect(runs.find("a")).toMatchObject({ status: "done", eventCount: 1 });
  });

  it("take one of two steps that exclude each other", async () => {
    const runs = await openRuns(await openStore());
    await runs.add({ run: draftRun("a") });
    const finish = (said: string) =>
      runs.advance("a", (run) =>
        run.status === "done"
          ? undefined
          : numberEvents({ ...run, status: "done" }, [{ said }], UNBOUNDED),
      );
    const [first, second] = await Promise.all([finish("first"), finish("second")]);
    expect([first?.status, second]).toEqual(["done", undefined]);
    expect(await runs.events("a", -1, 10)).toEqual([{ sequence: 1, said: "first" }]);
  });

  it("make room where others are over, and never where they are not", async () => {
    const kind = testRunKind({ quota: { perOwner: 2 } });
    const store = await openStore();
    const runs = await openRuns(store, kind);
    await runs.add(numberEvents(draftRun("a"), [{ said: "working" }], UNBOUNDED));
    await move(runs, "a", "done");
    await runs.add({ run: draftRun("b") });
    expect(await runs.add({ run: draftRun("c") })).toMatchObject({ kind: "added", gone: ["a"] });
    expect(await runs.add({ run: draftRun("d") })).toEqual({ kind: "full" });
    await runs.settled();
    for (const name of ["test-events", "test-beside", "test-doomed"]) {
      expect(await store.list(name)).toEqual([]);
    }
  });

  it("are forgotten in time, with their logs and all that lies beside them", async () => {
    const clock = { now: 0 };
    const store = await openStore();
    const runs = await openRuns(store, testRunKind({ keptMs: 100 }), () => clock.now);
    const beside = { kind: "put", collection: "test-beside", key: "a/1", value: 1 } as const;
    const result = { kind: "put", collection: "test-results", key: "a", value: 1 } as const;
    await runs.add({ run: draftRun("a") }, { also: [beside, result] });
    await move(runs, "a", "done");
    await runs.add({ run: draftRun("b") });
    clock.now = 1000;
    expect(runs.find("a")).toBeUndefined();
    await runs.sweep();
    expect((await store.list("test-runs")).map(({ key }) => key)).toEqual(["b"]);
    for (const name of ["test-events", "test-beside", "test-results", "test-doomed"]) {
      expect(await store.list(name)).toEqual([]);
    }
  });

  it("leave no log behind when the process ends between a run and its log", async () => {
    const store = await openStore();
    let commits = 2;
    const dying = alterStore(store, {
      commit: async (changes, expectations) => {
        if (commits === 0) throw new Error("killed");
        commits -= 1;
        return store.commit(changes, expectations);
      },
    });
    const runs = await openRuns(dying);
    await runs.add(numberEvents(draftRun("a"), [{ said: "working" }], UNBOUNDED));
    await expect(runs.delete("a")).rejects.toThrow("killed");
    expect(await store.list("test-events")).toHaveLength(1);
    await openRuns(store);
    expect(await store.list("test-events")).toEqual([]);
  });
});

describe("a step", () => {
  it("is heard of by nobody where it could not be kept", async () => {
    const store = await openTestStore("memory");
    let isBroken = false;
    const breaking = alterStore(store, {
      commit: (...args) => (isBroken ? Promise.reject(new Error("full")) : store.commit(...args)),
    });
    const runs = await openRuns(breaking);
    await runs.add({ run: draftRun("a") });
    const heard: unknown[] = [];
    runs.watch((_, after) => void heard.push(after));
    isBroken = true;
    await expect(move(runs, "a", "done")).rejects.toThrow("full");
    isBroken = false;
    expect(heard).toEqual([]);
    expect(runs.find("a")?.status).toBe("working");
    expect(await runs.events("a", -1, 10)).toEqual([]);
  });

  it("is known to whoever took it before anybody else hears of it", async () => {
    const runs = await openRuns(await openTestStore("memory"));
    await runs.add({ run: draftRun("a") });
    const heard: string[] = [];
    const unwatch = runs.watch((before, after) => {
      heard.push(`${before.status} ${after?.status}`);
    });
    const waited = runs
      .until("a", () => heard.length > 1, { signals: [] })
      .then(() => heard.push("waited"));
    const step = { run: { ...draftRun("a"), status: "done" } } as const;
    await runs.advance("a", () => step, { onKept: () => heard.push("kept") });
    await waited;
    expect(heard).toEqual(["kept", "working done", "waited"]);
    unwatch();
    await runs.delete("a");
    expect(heard).toHaveLength(3);
  });

  it("is taken on runs that are there, and changes nothing where nothing is decided", async () => {
    const runs = await openRuns(await openTestStore("memory"));
    await runs.add({ run: draftRun("a") });
    expect(await move(runs, "none", "done")).toBeUndefined();
    expect(await runs.advance("a", () => undefined)).toBeUndefined();
  });
});

describe("a run whose adding has no answer", () => {
  const undecided = () => new StoreUnavailableError("undecided", new Error("the line was cut"));

  /** A store that does not say what became of a commit, which is made or is not. */
  async function openLossy(isMade: boolean, meanwhile: (runs: Runs) => Promise<void>) {
    const store = createMemoryStore();
    let isLossy = false;
    const runs = await openRuns(
      alterStore(store, {
        commit: async (...args) => {
          const outcome = isLossy && !isMade ? undefined : await store.commit(...args);
          if (isLossy) await meanwhile(runs);
          if (isLossy || outcome === undefined) throw undecided();
          return outcome;
        },
      }),
    );
    const taken: string[] = [];
    const never = () => Promise.reject(new Error("nobody enqueues it"));
    const executor = { concurrent: 1, execute: never, reportFault: () => undefined };
    runs.executeBy(executor, (left) => {
      taken.push(...left.filter((run) => runs.isUnattended(run)).map(({ runId }) => runId));
    });
    await runs.add({ run: draftRun("before") });
    isLossy = true;
    await expect(runs.add({ run: draftRun("a") })).rejects.toThrow(StoreUnavailableError);
    isLossy = false;
    return { runs, taken };
  }

  it.each([
    ["told of it later", () => Promise.resolve()],
    ["told of it before", (runs: Runs) => runs.refresh()],
  ])("is taken up by who is %s, and no other is", async (_, meanwhile) => {
    const { runs, taken } = await openLossy(true, meanwhile);
    await runs.refresh();
    await vi.waitFor(() => expect(taken).toEqual(["a"]), PATIENCE);
    await runs.refresh();
    await nextTurn();
    expect(taken).toEqual(["a"]);
  });

  it("is nobody's where it was not kept", async () => {
    const { runs, taken } = await openLossy(false, () => Promise.resolve());
    await runs.refresh();
    await nextTurn();
    expect([runs.find("a"), taken]).toEqual([undefined, []]);
  });
});

describe("a wait", () => {
  const ended = new AbortController();
  ended.abort();

  it.each([
    ["nobody waits any more", { signals: [ended.signal] }],
    ["its time is over", { signals: [], timeoutMs: 1 }],
    ["it has no time", { signals: [], timeoutMs: 0 }],
  ])("ends when %s", async (_, wait) => {
    const runs = await openRuns(await openTestStore("memory"));
    await runs.add({ run: draftRun("a") });
    await runs.until("a", () => false, wait);
    expect(runs.find("a")?.status).toBe("working");
  });

  it("ends when the run is gone", async () => {
    const runs = await openRuns(await openTestStore("memory"));
    await runs.add({ run: draftRun("a") });
    const gone = runs.until("a", () => runs.find("a") === undefined, { signals: [] });
    await runs.delete("a");
    await gone;
  });
});

describe("numbering events", () => {
  const rules = (whenFull: "refuse" | "drop"): EventRules<{ readonly said: string }> => ({
    ...{ first: 0, most: 2, mostBytes: 1000, whenFull },
    isNeeded: ({ said }, count) => said === "end" && count < 4,
  });
  const drafts = (...said: readonly string[]) => said.map((one) => ({ said: one }));

  it("refuses a group that there is no room for, unless one of it is needed", () => {
    const { run } = numberEvents({}, drafts("one"), rules("refuse"));
    expect(() => numberEvents(run, drafts("two", "three"), rules("refuse"))).toThrow(RunFullError);
    const { events } = numberEvents(run, drafts("two", "three", "end"), rules("refuse"));
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    const long = drafts("x".repeat(1000));
    expect(() => numberEvents({}, long, rules("refuse"))).toThrow(RunFullError);
  });

  it("drops what there is no room for, and says so", () => {
    const { run, events } = numberEvents({}, drafts("one", "two", "x", "end", "end", "end"), {
      ...rules("drop"),
    });
    expect(events.map(({ sequence, said }) => [sequence, said])).toEqual([
      [0, "one"],
      [1, "two"],
      [2, "end"],
      [3, "end"],
    ]);
    expect(run).toMatchObject({ eventCount: 4, isTruncated: true });
    expect(numberEvents({}, drafts("one"), rules("drop")).run).not.toHaveProperty("isTruncated");
  });
});

/** A node that thinks of others as gone where the test says so. */
function openNode(store: Store, self: string, gone: ReadonlySet<string>): Promise<Runs> {
  const holders: Holders = {
    self,
    isGone: (process) => gone.has(process),
    watch: () => () => undefined,
  };
  return openRegister<TestRun, TestEvent>(store, testRunKind(), { holders });
}

async function openNodes() {
  const store = createMemoryStore();
  const gone = new Set<string>();
  return { store, gone, a: await openNode(store, "a", gone), b: await openNode(store, "b", gone) };
}

const step = (runs: Runs, status: TestRun["status"], isHolders: boolean) =>
  runs.advance("r", (run) => numberEvents({ ...run, status }, [{ said: status }], UNBOUNDED), {
    isHolders,
  });

describe("a run of several nodes", () => {
  it("is executed by the node that took it on, and by no other while that serves", async () => {
    const { a, b } = await openNodes();
    await a.add({ run: draftRun("r") });
    await b.refresh();
    expect([await a.claim("r"), await b.claim("r")]).toEqual([true, false]);
    await expect(step(b, "done", true)).rejects.toThrow(HolderLostError);
    expect(a.find("r")?.status).toBe("working");
  });

  it("takes what is asked for on any node, and stays with its own", async () => {
    const { a, b } = await openNodes();
    await a.add({ run: draftRun("r") });
    await b.refresh();
    await step(b, "asking", false);
    expect(await b.claim("r")).toBe(false);
    await a.refresh();
    expect(a.find("r")?.status).toBe("asking");
  });

  it("has no events on a node that does not know yet where it stands", async () => {
    const { a, b } = await openNodes();
    await a.add({ run: { ...draftRun("r"), eventCount: 0 } });
    await b.refresh();
    await step(a, "done", true);
    expect([b.find("r")?.status, await b.events("r", 0, 10)]).toEqual(["working", []]);
    await b.refresh();
    expect(b.find("r")?.status).toBe("done");
    expect(await b.events("r", 0, 10)).toEqual([{ sequence: 1, said: "done" }]);
  });

  it("goes on where its answer came in", async () => {
    const { a, b } = await openNodes();
    await a.add({ run: draftRun("r") });
    await step(a, "asking", true);
    await b.refresh();
    await step(b, "working", false);
    expect(await b.claim("r")).toBe(true);
    await expect(step(a, "done", true)).rejects.toThrow(HolderLostError);
    expect(await a.claim("r")).toBe(false);
  });

  it("is taken over once from a node that is gone, whose later writes are refused", async () => {
    const { store, gone, a, b } = await openNodes();
    const c = await openNode(store, "c", gone);
    await a.add({ run: draftRun("r") });
    await Promise.all([b.refresh(), c.refresh()]);
    gone.add("a");
    const taken = await Promise.all([b.claim("r"), c.claim("r")]);
    expect(taken.filter(Boolean)).toHaveLength(1);
    // It does not know yet that it was thought gone.
    expect(a.isOurs(draftRun("r"))).toBe(true);
    await expect(step(a, "done", true)).rejects.toThrow(HolderLostError);
    const [winner] = taken[0] === true ? [b] : [c];
    await step(winner, "done", true);
    await a.refresh();
    expect(a.find("r")).toMatchObject({ status: "done", eventCount: 1 });
    expect(await winner.claim("r")).toBe(false);
  });
});
