/** Loops: what is done again, how often, and what a kill and a fork make of it. */
import { describe, expect, it } from "vitest";
import type { WorkflowDefinition } from "../../../../src/modules/openwop/workflows/workflow.ts";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import { CATALOG, CONCIERGE, scriptedAgents } from "../../../support/openwop-agents.ts";
import { expectValidLog, killableStore, openRuns } from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";
import { alterStore } from "../../../support/store.ts";

const back = (from: string, to: string, condition: object) => {
  return { id: `${from}-${to}`, sourceNodeId: from, targetNodeId: to, condition } as const;
};

/** Adds one to a sum, and goes back as long as it is not what is wanted. */
function counting(until: number, settings: object = {}): WorkflowDefinition {
  const plain = workflow("counts", [
    node("start", "core.noop"),
    node("add", "core.channelWrite", {
      config: { channelName: "sum", reducer: "counter", value: 1 },
    }),
    node("look", "core.identity", { inputs: { sum: { type: "variable", variableName: "sum" } } }),
    node("end", "core.noop"),
  ]);
  const loop = back("look", "add", { type: "notEquals", left: "output.sum", right: until });
  return { ...plain, edges: [...plain.edges, loop as never], settings: { ...settings } };
}

const REVISION = workflow(
  "revises",
  [
    node("write", "core.identity", {
      inputs: { feedback: { type: "variable", variableName: "refineFeedback", optional: true } },
    }),
    node("gate", "core.approvalGate", { config: { actions: ["accept", "refine", "reject"] } }),
    node("end", "core.noop"),
  ],
  { variables: [{ name: "refineFeedback", type: "object" }] },
);
const REVISING: WorkflowDefinition = {
  ...REVISION,
  edges: [
    ...REVISION.edges,
    back("gate", "write", { type: "equals", left: "action", right: "refine" }) as never,
  ],
};

// OpenWOP "workflow-definition" EdgeCondition, "run-options" maxLoopIterations
describe("a loop", () => {
  it("does again what it leads back to, until its condition does not hold", async () => {
    const server = await openRuns({ workflows: [counting(3)] });
    const runId = await server.run("counts");
    const snapshot = await server.until(runId, "completed", "failed");
    expect(snapshot).toMatchObject({ status: "completed", variables: { sum: 3 } });
    const events = await server.events(runId);
    expectValidLog(events);
    const started = events.filter(({ type }) => type === "node.started");
    expect(started.map(({ nodeId }) => nodeId)).toEqual([
      ...["start", "add", "look", "add", "look", "add", "look", "end"],
    ]);
  });

  it.each([
    ["the workflow's own limit", counting(9, { maxLoopbackIterations: 2 }), {}, {}, 2],
    ["the published default", counting(9), {}, {}, 5],
    ["what the run asks for", counting(9), { maxLoopIterations: 1 }, {}, 1],
    [
      "no more than the host's limit",
      counting(99, { maxLoopbackIterations: 50 }),
      { maxLoopIterations: 60 },
      { loopIterations: 3 },
      3,
    ],
  ])("is taken as often as %s allows", async (_, flow, configurable, limits, limit) => {
    const server = await openRuns({ workflows: [flow], limits });
    const runId = await server.run("counts", { configurable });
    const snapshot = await server.until(runId, "failed", "completed");
    expect(snapshot).toMatchObject({
      ...{ status: "failed", error: { code: "loop_limit_exceeded" } },
      variables: { sum: limit + 1 },
    });
    const events = await server.events(runId);
    expectValidLog(events);
    expect(events.slice(-3)).toMatchObject([
      { type: "workflow.loopback-limit", payload: { nodeId: "look", limit } },
      {
        type: "cap.breached",
        payload: { kind: "loop-iterations", limit, observed: limit + 1, nodeId: "look" },
      },
      { type: "run.failed" },
    ]);
  });

  it("counts among the nodes that a run executes", async () => {
    const server = await openRuns({ workflows: [counting(9)] });
    const configurable = { recursionLimit: 5, maxLoopIterations: 9 };
    const runId = await server.run("counts", { configurable });
    const snapshot = await server.until(runId, "failed", "completed");
    expect(snapshot).toHaveProperty("error.code", "recursion_limit_exceeded");
  });

  it("is counted whatever its edge and its nodes are called", async () => {
    const { nodes, edges, ...counts } = counting(99);
    const named = (id: string): string => (id === "add" ? "toString" : id);
    const workflows = [
      {
        ...counts,
        nodes: nodes.map((one) => ({ ...one, id: named(one.id) })),
        edges: edges.map((edge) => ({
          ...edge,
          ...{ sourceNodeId: named(edge.sourceNodeId), targetNodeId: named(edge.targetNodeId) },
          id: edge.id === "look-add" ? "constructor" : edge.id,
        })),
      },
    ];
    const server = await openRuns({ workflows });
    const runId = await server.run("counts");
    const snapshot = await server.until(runId, "failed", "completed");
    expect(snapshot).toHaveProperty("error.code", "loop_limit_exceeded");
  });

  it("takes what was asked for back to its author, whose gate asks once more", async () => {
    const server = await openRuns({ workflows: [REVISING] });
    const runId = await server.run("revises");
    const first = await server.until(runId, "waiting-approval");
    const refineFeedback = { scope: "whole", text: "shorter" };
    const path = `/v1/runs/${runId}/interrupts/gate`;
    const asked = { resumeValue: { action: "refine", refineFeedback } };
    expect((await server.post(path, asked)).status).toBe(200);
    const second = await server.until(runId, "waiting-approval");
    expect(second.interrupt["interruptId"]).not.toBe(first.interrupt["interruptId"]);
    expect(second).toMatchObject({
      nodeStates: { write: { outputs: { feedback: refineFeedback } } },
    });
    expect((await server.post(path, { resumeValue: { action: "accept" } })).status).toBe(200);
    expect((await server.until(runId, "completed", "failed")).status).toBe("completed");
    expectValidLog(await server.events(runId));
  });

  it("takes no answer for the question that its gate asks once it is kept", async () => {
    const store = createMemoryStore();
    let hold: { readonly isOpen: Promise<void>; reached(): void } | undefined;
    const held = alterStore(store, {
      get: async (collection, key) => {
        const holding = collection === "openwop-held-results" ? hold : undefined;
        if (holding !== undefined) {
          hold = undefined;
          holding.reached();
          await holding.isOpen;
        }
        return store.get(collection, key);
      },
    });
    const server = await openRuns({ workflows: [REVISING], store: held });
    const runId = await server.run("revises");
    const first = await server.until(runId, "waiting-approval");
    const path = `/v1/runs/${runId}/interrupts/gate`;
    let open = (): void => undefined;
    const isOpen = new Promise<void>((resolve) => {
      open = resolve;
    });
    const isReached = new Promise<void>((resolve) => {
      hold = { isOpen, reached: resolve };
    });
    const late = server.post(path, { resumeValue: { action: "accept" } });
    await isReached;
    const refineFeedback = { scope: "whole", text: "shorter" };
    await server.post(path, { resumeValue: { action: "refine", refineFeedback } });
    let second = await server.until(runId, "waiting-approval");
    while (second.interrupt["interruptId"] === first.interrupt["interruptId"]) {
      second = await server.until(runId, "waiting-approval");
    }
    open();
    expect(await late).toMatchObject({
      ...{ status: 409, body: { error: "interrupt_already_resolved" } },
    });
    const { body } = await server.get(`/v1/runs/${runId}`);
    expect(body).toMatchObject({ status: "waiting-approval" });
    expect(body.interrupt["interruptId"]).toBe(second.interrupt["interruptId"]);
  });

  it("does not take a rejection back that no edge leads back for", async () => {
    const server = await openRuns({ workflows: [REVISING] });
    const runId = await server.run("revises");
    await server.until(runId, "waiting-approval");
    await server.post(`/v1/runs/${runId}/interrupts/gate`, { resumeValue: { action: "reject" } });
    const snapshot = await server.until(runId, "failed", "completed");
    expect(snapshot).toHaveProperty("error.code", "approval_rejected");
  });

  it("within another begins to count anew each time that one is taken", async () => {
    const count = (id: string, channelName: string, more: object = {}) =>
      node(id, "core.channelWrite", {
        config: { channelName, reducer: "counter", value: 1, ...more },
      });
    const look = (id: string, name: string) =>
      node(id, "core.identity", { inputs: { [name]: { type: "variable", variableName: name } } });
    const plain = workflow("nested", [
      count("outer", "rounds"),
      node("reset", "core.channelWrite", {
        config: { channelName: "steps", reducer: "replace", value: 0 },
      }),
      count("inner", "steps"),
      look("steps?", "steps"),
      look("rounds?", "rounds"),
    ]);
    const edges = [
      ...plain.edges,
      back("steps?", "inner", { type: "notEquals", left: "steps", right: 3 }),
      back("rounds?", "outer", { type: "notEquals", left: "rounds", right: 3 }),
    ];
    const flow = { ...plain, edges, settings: { maxLoopbackIterations: 2 } } as WorkflowDefinition;
    const server = await openRuns({ workflows: [flow] });
    const runId = await server.run("nested");
    expect(await server.until(runId, "completed", "failed")).toMatchObject({
      ...{ status: "completed", variables: { rounds: 3, steps: 3 } },
    });
  });

  it("keeps what each of its rounds comes to if the word is yes", async () => {
    let turns = 0;
    const executor = scriptedAgents(() => {
      turns += 1;
      const unsure = { kind: "low-confidence", threshold: 0.7, observed: 0.1 } as const;
      return Promise.resolve({ ...unsure, decision: {}, result: { turn: turns } });
    });
    const plain = workflow("asks", [node("ask", "core.agent", { agent: { agentId: CONCIERGE } })]);
    const again = back("ask", "ask", { type: "equals", left: "result.turn", right: 1 });
    const flow = { ...plain, edges: [again as never] };
    const server = await openRuns({ executor, catalog: CATALOG, workflows: [flow] });
    const runId = await server.run("asks");
    const path = (id: string): string => `/v1/runs/${id}/interrupts/ask`;
    await server.until(runId, "waiting-approval");
    await server.post(path(runId), { resumeValue: true });
    await server.until(runId, "waiting-approval");
    const suspended = (await server.events(runId)).findIndex(
      ({ type }) => type === "node.suspended",
    );
    const fork = { mode: "branch", fromSeq: suspended + 1 };
    const { body } = await server.post(`/v1/runs/${runId}:fork`, fork);
    await server.until(body.runId, "waiting-approval");
    await server.post(path(body.runId), { resumeValue: true });
    await server.until(body.runId, "waiting-approval", "completed");
    const done = (await server.events(body.runId)).find(({ type }) => type === "node.completed");
    expect(done?.payload).toMatchObject({ outputs: { result: { turn: 1 } } });
    await server.post(path(runId), { resumeValue: true });
    const snapshot = await server.until(runId, "completed");
    expect(snapshot).toMatchObject({ outputs: { result: { turn: 2 } } });
  });

  it("goes on where a process was killed, and is replayed as it went", async () => {
    for (let commits = 2; commits <= 14; commits += 3) {
      const disk = createMemoryStore();
      const store = killableStore(disk);
      const first = await openRuns({ workflows: [counting(3)], store, isStarted: false });
      const runId = await first.run("counts");
      store.killAfter(commits);
      first.host.start();
      await Promise.race([store.died, first.until(runId, "completed").catch(() => undefined)]);
      store.kill();
      await first.close();
      const next = await openRuns({ workflows: [counting(3)], store: disk });
      const { variables } = await next.until(runId, "completed", "failed");
      expect(variables, `after ${commits} commits`).toEqual({ sum: 3 });
      const { body } = await next.post(`/v1/runs/${runId}:fork`, { mode: "replay" });
      await next.until(body.runId, "completed");
      const types = async (id: string) => (await next.events(id)).map(({ type }) => type);
      expect(await types(body.runId)).toEqual(await types(runId));
    }
  });
});
