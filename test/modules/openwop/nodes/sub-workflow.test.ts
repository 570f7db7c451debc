/** Runs that begin others: their values to and fro, their ends, their bounds, and a kill between any two. */
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import type { Store } from "../../../../src/state/store.ts";
import {
  CATALOG,
  CONCIERGE,
  ordinaryTurn,
  scriptedAgents,
} from "../../../support/openwop-agents.ts";
import {
  expectValid,
  expectValidLog,
  killableStore,
  OTHER_KEY,
  openRuns,
  type RunServer,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";

const call = (workflowId: string, more: object = {}) =>
  node("call", "core.subWorkflow", { config: { workflowId, ...more } });

const CHILD = workflow("child", [node("n1", "core.noop"), node("n2", "core.noop")], {
  variables: [
    { name: "childResult", type: "string", defaultValue: "child-completed" },
    { name: "given", type: "string", defaultValue: "baked-in" },
  ],
});
const PARENT = workflow(
  "parent",
  [
    node("start", "core.noop"),
    call("child", {
      ...{ waitForCompletion: true, onChildFailure: "fail-parent" },
      inputMapping: { given: "ours" },
      outputMapping: { outcome: "childResult" },
    }),
    node("end", "core.identity", {
      inputs: { outcome: { type: "variable", variableName: "outcome", optional: true } },
    }),
  ],
  { variables: [{ name: "ours", type: "string" }] },
);
const GATED_CHILD = workflow("child", [node("gate", "core.approvalGate")]);
const PLAIN_PARENT = workflow("parent", [call("child")]);

async function childOf(server: RunServer, runId: string): Promise<string> {
  for (let after = -1; ; ) {
    const { body } = await server.get(
      `/v1/runs/${runId}/events/poll?lastSequence=${after}&timeout=5`,
    );
    const found = body.events.find(({ type }) => type === "node.dispatched");
    if (found !== undefined) return String(found.payload["childRunId"]);
    if (body.isComplete) throw new Error(JSON.stringify(body.events.at(-1)));
    after = body.events.at(-1)?.sequence ?? after;
  }
}

// OpenWOP "node-packs" core.subWorkflow, RFC 0022 §B
describe("a sub-workflow", () => {
  it("is a run of its own, whose variables come back", async () => {
    const server = await openRuns({ workflows: [PARENT, CHILD] });
    const runId = await server.run("parent", { inputs: { ours: "prd-1" } });
    const parent = await server.until(runId, "completed", "failed");
    expect(parent).toMatchObject({
      status: "completed",
      variables: { outcome: "child-completed" },
    });
    expect(parent).toMatchObject({ outputs: { outcome: "child-completed" } });
    const events = await server.events(runId);
    expectValidLog(events);
    const done = events.find(({ type, nodeId }) => type === "node.completed" && nodeId === "call");
    expect(done?.payload["outputs"]).toMatchObject({
      ...{ childStatus: "completed", outputMappingSkipped: false },
    });
    const childId = await childOf(server, runId);
    const child = (await server.get(`/v1/runs/${childId}`)).body;
    expectValid(child, "run-snapshot");
    expect(child).toMatchObject({
      ...{ status: "completed", parentRunId: runId, parentNodeId: "call", childDepth: 1 },
      variables: { given: "prd-1" },
    });
    expectValidLog(await server.events(childId));
    expect((await server.get(`/v1/runs/${childId}`, { key: OTHER_KEY })).status).toBe(404);
  });

  it("is given no default for what its parent has not set", async () => {
    const server = await openRuns({ workflows: [PARENT, CHILD] });
    const runId = await server.run("parent");
    await server.until(runId, "completed");
    const child = (await server.get(`/v1/runs/${await childOf(server, runId)}`)).body;
    expect(child["variables"]).toEqual({ childResult: "child-completed" });
  });

  it("has no default for that in its forks either", async () => {
    const server = await openRuns({ workflows: [PARENT, CHILD] });
    const parentId = await server.run("parent");
    await server.until(parentId, "completed");
    for (const body of [{ mode: "replay" }, { mode: "branch", fromSeq: 1 }]) {
      let runId = await childOf(server, parentId);
      for (const which of ["a fork", "a fork of that"]) {
        runId = (await server.post(`/v1/runs/${runId}:fork`, body)).body.runId;
        const { variables } = await server.until(runId, "completed");
        expect(variables, which).toEqual({ childResult: "child-completed" });
      }
    }
  });

  it("is held to the options that the protocol knows, and to no others", async () => {
    const server = await openRuns({ workflows: [PLAIN_PARENT, CHILD] });
    const configurable = { recursionLimit: 9, reasoningVerbosity: "off", colour: "blue" };
    const runId = await server.run("parent", { configurable });
    await server.until(runId, "completed");
    const child = (await server.get(`/v1/runs/${await childOf(server, runId)}`)).body;
    expect(child["configurable"]).toEqual({ recursionLimit: 9, reasoningVerbosity: "off" });
  });

  it("fails its parent, unless that goes on without it", async () => {
    const failing = workflow("child", [node("fail", "core.fail", { config: { code: "torn" } })]);
    const mapping = { outputMapping: { outcome: "childResult" } };
    const kept = workflow("goes-on", [call("child", { onChildFailure: "continue", ...mapping })]);
    const server = await openRuns({ workflows: [PLAIN_PARENT, kept, failing] });
    const failed = await server.until(await server.run("parent"), "failed");
    expect(failed).toMatchObject({
      error: {
        code: "subworkflow_child_failed",
        details: { childStatus: "failed", error: { code: "torn" } },
      },
    });
    const went = await server.until(await server.run("goes-on"), "completed", "failed");
    expect(went).toMatchObject({
      ...{ status: "completed", variables: {} },
      outputs: { childStatus: "failed", outputMappingSkipped: true },
    });
  });

  it("takes no place of its parent's, even where there is one place", async () => {
    const middle = workflow("middle", [call("child")]);
    const top = workflow("top", [call("middle")]);
    const server = await openRuns({ workflows: [top, middle, CHILD], limits: { concurrent: 1 } });
    const runId = await server.run("top");
    expect((await server.until(runId, "completed", "failed")).status).toBe("completed");
  });

  it("may wait for somebody, and has its parent wait", async () => {
    const server = await openRuns({ workflows: [PLAIN_PARENT, GATED_CHILD] });
    const runId = await server.run("parent");
    const childId = await childOf(server, runId);
    await server.until(childId, "waiting-approval");
    expect((await server.get(`/v1/runs/${runId}`)).body).toMatchObject({
      ...{ status: "running", nodeStates: { call: { status: "running", childRunId: childId } } },
    });
    await server.post(`/v1/runs/${childId}/interrupts/gate`, { resumeValue: { action: "accept" } });
    expect((await server.until(runId, "completed", "failed")).status).toBe("completed");
  });

  it("is cancelled with its parent, at any depth, and takes no word any more", async () => {
    const middle = workflow("middle", [call("child")]);
    const top = workflow("top", [call("middle")]);
    const server = await openRuns({ workflows: [top, middle, GATED_CHILD] });
    const runId = await server.run("top");
    const middleId = await childOf(server, runId);
    const childId = await childOf(server, middleId);
    await server.until(childId, "waiting-approval");
    await server.post(`/v1/runs/${runId}/cancel`, { reason: "enough" });
    for (const [id, parentRunId] of [
      [middleId, runId],
      [childId, middleId],
    ] as const) {
      const events = await server.events(id);
      expectValidLog(events);
      expect(events.at(-1)).toMatchObject({
        type: "run.cancelled",
        payload: { reason: "parent-cancelled", parentRunId },
      });
    }
    const path = `/v1/runs/${childId}/interrupts/gate`;
    expect((await server.post(path, { resumeValue: { action: "accept" } })).status).toBe(422);
  });

  it("does not outlive a parent that failed before it could wait", async () => {
    const slow = workflow("child", [node("wait", "core.delay", { config: { ms: 60_000 } })]);
    const server = await openRuns({
      workflows: [PLAIN_PARENT, slow],
      limits: { events: 2 },
    });
    const runId = await server.run("parent");
    const parent = await server.until(runId, "failed", "completed");
    expect(parent).toHaveProperty("error.code", "event_limit_exceeded");
    const [child] = server.register.childrenOf(runId);
    expect((await server.until(child?.runId ?? "", "cancelled", "completed")).status).toBe(
      "cancelled",
    );
  });

  it("that is cancelled alone fails its parent", async () => {
    const server = await openRuns({ workflows: [PLAIN_PARENT, GATED_CHILD] });
    const runId = await server.run("parent");
    const childId = await childOf(server, runId);
    await server.post(`/v1/runs/${childId}/cancel`);
    const snapshot = await server.until(runId, "failed", "completed");
    expect(snapshot).toHaveProperty("error.details.childStatus", "cancelled");
  });

  it("ends before its parent is paused", async () => {
    const server = await openRuns({
      workflows: [workflow("parent", [call("child"), node("end", "core.noop")]), GATED_CHILD],
    });
    const runId = await server.run("parent");
    const childId = await childOf(server, runId);
    await server.until(childId, "waiting-approval");
    const cut = await server.post(`/v1/runs/${runId}:pause`, { drainPolicy: "immediate" });
    expect(cut.status).toBe(409);
    expect((await server.post(`/v1/runs/${runId}:pause`)).status).toBe(202);
    await server.post(`/v1/runs/${childId}/interrupts/gate`, { resumeValue: { action: "accept" } });
    await server.until(runId, "paused");
    await server.post(`/v1/runs/${runId}:resume`);
    expect((await server.until(runId, "completed", "failed")).status).toBe("completed");
  });
});

describe("the bounds of sub-workflows", () => {
  it("are how deep they are nested", async () => {
    const flows = [0, 1, 2, 3].map((at) => workflow(`w${at}`, [call(`w${at + 1}`)]));
    const server = await openRuns({
      workflows: [...flows, workflow("w4", [node("n", "core.noop")])],
      limits: { depth: 3 },
    });
    const snapshot = await server.until(await server.run("w0"), "failed", "completed");
    expect(JSON.stringify(snapshot["error"])).toContain("recursion_limit_exceeded");
    expect((await server.until(await server.run("w1"), "failed", "completed")).status).toBe(
      "completed",
    );
  });

  it("are how many one run begins", async () => {
    const calls = [1, 2, 3].map((at) => ({ ...call("child"), id: `call${at}` }));
    const server = await openRuns({
      workflows: [workflow("parent", calls), CHILD],
      limits: { children: 2 },
    });
    const snapshot = await server.until(await server.run("parent"), "failed", "completed");
    expect(snapshot).toMatchObject({
      ...{ status: "failed", error: { code: "recursion_limit_exceeded", details: { limit: 2 } } },
    });
  });

  it("are advertised", async () => {
    const server = await openRuns({ limits: { depth: 3, children: 7, loopIterations: 5 } });
    const { body } = await server.get("/.well-known/openwop", { key: null });
    expectValid(body, "capabilities");
    expect(body).toMatchObject({
      limits: { maxLoopIterations: 5 },
      subWorkflow: { inputMapping: true },
      extensions: { agtpd: { subWorkflow: { maxDepth: 3, maxRuns: 7 } } },
    });
  });
});

describe("a run that waits for another", () => {
  async function lives(commits: number, disk: Store) {
    const store = killableStore(disk);
    const first = await openRuns({ workflows: [PARENT, CHILD], store, isStarted: false });
    const runId = await first.run("parent", { inputs: { ours: "x" } });
    store.killAfter(commits);
    first.host.start();
    await Promise.race([store.died, first.until(runId, "completed").catch(() => undefined)]);
    store.kill();
    await first.close();
    return { runId, next: await openRuns({ workflows: [PARENT, CHILD], store: disk }) };
  }

  it("goes on wherever a process was killed, and begins it once", async () => {
    for (let commits = 0; commits <= 16; commits += 1) {
      const { runId, next } = await lives(commits, createMemoryStore());
      const snapshot = await next.until(runId, "completed", "failed");
      expect(snapshot, `after ${commits} commits`).toMatchObject({
        ...{ status: "completed", variables: { outcome: "child-completed" } },
      });
      expectValidLog(await next.events(runId));
      expect(next.register.childrenOf(runId)).toHaveLength(1);
    }
  });

  it("takes its child along where a process was killed after it was cancelled", async () => {
    const disk = createMemoryStore();
    const store = killableStore(disk);
    const first = await openRuns({ workflows: [PLAIN_PARENT, GATED_CHILD], store });
    const runId = await first.run("parent");
    const childId = await childOf(first, runId);
    await first.until(childId, "waiting-approval");
    store.killAfter(1);
    await first.post(`/v1/runs/${runId}/cancel`);
    await first.close();
    const next = await openRuns({ workflows: [PLAIN_PARENT, GATED_CHILD], store: disk });
    expect((await next.get(`/v1/runs/${runId}`)).body.status).toBe("cancelled");
    expect((await next.until(childId, "cancelled")).status).toBe("cancelled");
  });

  it("is replayed without beginning anything", async () => {
    let turns = 0;
    const executor = scriptedAgents((turn) => {
      turns += 1;
      return ordinaryTurn(turn);
    });
    const child = workflow("child", [
      node("agent", "core.agent", { agent: { agentId: CONCIERGE } }),
    ]);
    const workflows = [PLAIN_PARENT, child];
    const server = await openRuns({ executor, catalog: CATALOG, workflows });
    const runId = await server.run("parent");
    await server.until(runId, "completed");
    const { body } = await server.post(`/v1/runs/${runId}:fork`, { mode: "replay" });
    expect((await server.until(body.runId, "completed", "failed")).status).toBe("completed");
    expect(turns).toBe(1);
    expect(server.register.childrenOf(body.runId)).toEqual([]);
    const branch = await server.post(`/v1/runs/${runId}:fork`, { mode: "branch", fromSeq: 0 });
    expect((await server.until(branch.body.runId, "completed", "failed")).status).toBe("completed");
    expect(turns).toBe(2);
  });
});
