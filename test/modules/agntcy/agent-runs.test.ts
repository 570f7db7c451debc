/** Places of runs that are about to begin, shared by whoever has the same store. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  type AgentRuns,
  openAgentRuns,
  type WantedRun,
} from "../../../src/modules/agntcy/runs/agent-runs.ts";
import { RunFollower } from "../../../src/modules/agntcy/runs/run-follower.ts";
import { SOLE_HOLDER } from "../../../src/state/holders.ts";
import { PATIENCE } from "../../support/patience.ts";
import { openTestStore } from "../../support/store.ts";

const BEGUN = { upstreamAgentId: "there", upstreamRunId: "theirs", deadlineAt: 9e15 };

const wanted = (runId: string, more: Partial<WantedRun> = {}): WantedRun => {
  return { runId, base: "/mail", owner: "ada", deadlineAt: 9e15, ...more };
};

async function openTwo(): Promise<readonly [AgentRuns, AgentRuns]> {
  const store = await openTestStore("memory");
  return [await openAgentRuns(store, SOLE_HOLDER), await openAgentRuns(store, SOLE_HOLDER)];
}

async function takeAll(registers: readonly AgentRuns[], most: number, more: Partial<WantedRun>) {
  const asked = registers.flatMap((register, node) =>
    Array.from({ length: most }, (_, at) =>
      register.take(wanted(`${node} ${at} ${more.owner ?? more.threadId}`, more)),
    ),
  );
  return (await Promise.all(asked)).filter((place) => place === "added").length;
}

describe("AgentRuns", () => {
  it("gives an owner as many places as it has, whichever nodes are asked at once", async () => {
    const nodes = await openTwo();
    expect(await takeAll(nodes, 40, { owner: "ada" })).toBe(64);
    expect(await nodes[0].take(wanted("of ada"))).toBe("full");
    expect(await nodes[1].take(wanted("of bob", { owner: "bob" }))).toBe("added");
  });

  it("has the places free of runs whose time is over, which nobody follows any more", async () => {
    const [here] = await openTwo();
    for (let at = 0; at < 64; at += 1) {
      const { runId } = wanted(`removed ${at}`, { base: "/removed" });
      expect(await here.take(wanted(runId, { base: "/removed" }))).toBe("added");
      await here.keep(runId, { ...BEGUN, deadlineAt: Date.now() - 1 });
    }
    expect(await here.take(wanted("next"))).toBe("added");
  });

  it("forgets a run a week after its deadline where nobody has ended it", async () => {
    const [here] = await openTwo();
    const week = 7 * 86_400_000;
    for (const [runId, deadlineAt] of [
      ["old", Date.now() - week],
      ["late", Date.now() - week + 60_000],
    ] as const) {
      expect(await here.take(wanted(runId))).toBe("added");
      await here.keep(runId, { ...BEGUN, deadlineAt });
    }
    expect(here.find("old")).toBeUndefined();
    expect(here.find("late")).toBeDefined();
  });

  it("begins one run of a thread, whichever nodes are asked at once", async () => {
    const nodes = await openTwo();
    expect(await takeAll(nodes, 3, { threadId: "thread" })).toBe(1);
    expect(await nodes[0].take(wanted("next", { threadId: "thread" }))).toBe("busy");
    expect(await nodes[1].take(wanted("other", { threadId: "other" }))).toBe("added");
  });

  it("shows a run once it has begun, and has its place free where it did not", async () => {
    const [here] = await openTwo();
    const { runId } = wanted("run");
    expect(await here.take(wanted(runId, { threadId: "thread" }))).toBe("added");
    expect([here.find(runId), here.newestOf("ada")]).toEqual([undefined, []]);
    await here.giveBack(runId);
    expect(await here.take(wanted(runId, { threadId: "thread" }))).toBe("added");
    const begun = await here.keep(runId, BEGUN);
    expect(begun).toMatchObject({ runId, ...BEGUN, status: "pending", eventCount: 1 });
    await here.giveBack(runId);
    expect([here.find(runId), here.newestOf("ada")]).toEqual([begun, [begun]]);
  });
});

describe("RunFollower", () => {
  it("gives back the places of runs that a gone process was about to begin, and none of its own", async () => {
    const store = await openTestStore("memory");
    const gone = await openAgentRuns(store, SOLE_HOLDER);
    const begun = wanted("begun");
    await gone.take(begun);
    await gone.keep(begun.runId, BEGUN);
    expect(await takeAll([gone], 70, { owner: "ada" })).toBe(63);
    expect(await gone.take(wanted("of bob", { owner: "bob", threadId: "thread" }))).toBe("added");

    const register = await openAgentRuns(store, SOLE_HOLDER);
    expect(await register.take(wanted("too many"))).toBe("full");
    const reportFault = vi.fn();
    const follower = new RunFollower({ register, log: { info: vi.fn(), warn: reportFault } });
    onTestFinished(() => follower.close());
    follower.start([]);
    await vi.waitFor(() => {
      expect(register.inPhase("active").map(({ runId }) => runId)).toEqual(["begun"]);
    }, PATIENCE);
    const ours = wanted("of cy", { owner: "cy", threadId: "thread" });
    expect(await register.take(ours)).toBe("added");
    follower.start([]);
    expect(await register.take(wanted("next", { owner: "dan", threadId: "thread" }))).toBe("busy");
    expect(await register.keep(ours.runId, BEGUN)).toMatchObject({ status: "pending" });
    expect(reportFault).not.toHaveBeenCalled();
  });
});
