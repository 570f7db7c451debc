/** Runs that several nodes see, and one of them executes. */
import { describe, expect, it } from "vitest";
import { numberEvents } from "../../src/runs/run-kind.ts";
import { openRegister, type RunRegister } from "../../src/runs/run-register.ts";
import { HolderLostError, type Holders } from "../../src/state/holders.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import type { Store } from "../../src/state/store.ts";
import { draftRun, type TestEvent, type TestRun, testRunKind, UNBOUNDED } from "../support/runs.ts";

type Runs = RunRegister<TestRun, TestEvent>;

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
