/** Places of runs that are about to begin, shared by whoever has the same store. */
import { describe, expect, it } from "vitest";
import {
  type AgentRuns,
  openAgentRuns,
  type WantedRun,
} from "../../../src/modules/agntcy/runs/agent-runs.ts";
import { openTestStore } from "../../support/store.ts";

const BEGUN = { upstreamAgentId: "there", upstreamRunId: "theirs", deadlineAt: 9e15 };

const wanted = (runId: string, more: Partial<WantedRun> = {}): WantedRun => {
  return { runId, base: "/mail", owner: "ada", deadlineAt: 9e15, ...more };
};

async function openTwo(): Promise<readonly [AgentRuns, AgentRuns]> {
  const store = await openTestStore("memory");
  return [await openAgentRuns(store), await openAgentRuns(store)];
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
