/** Agents over HTTP: the inventory, dispatch by the shortcut and by a pinned node, the suite's seams. */
import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { AgentOutcome } from "../../../../src/modules/openwop/agent-executor.ts";
import {
  BOOKER,
  CATALOG,
  CONCIERGE,
  ordinaryTurn,
  scriptedAgents,
} from "../../../support/openwop-agents.ts";
import {
  expectValid,
  expectValidLog,
  lastingStore,
  OTHER_KEY,
  openRuns,
  READER_KEY,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";

const WITH_AGENTS = { catalog: CATALOG, executor: scriptedAgents(ordinaryTurn) };

describe("the inventory", () => {
  it("is closed, sorted and complete", async () => {
    const server = await openRuns(WITH_AGENTS);
    const { body } = await server.get("/v1/agents");
    expectValid(body, "agent-inventory-response");
    expect(body).toMatchObject({ total: 2, agents: [{ agentId: BOOKER }, { agentId: CONCIERGE }] });
    const one = await server.get(`/v1/agents/${CONCIERGE}`);
    expectValid(one.body, "agent-inventory-response", "AgentInventoryEntry");
    const discovery = await server.get("/.well-known/openwop", { key: null });
    expectValid(discovery.body, "capabilities");
    expect(discovery.body).toHaveProperty("agents.manifestRuntime", {
      ...{ supported: true, handoffValidation: true, installScope: "host" },
    });
  });

  it("is each tenant's own, and for keys that may read it", async () => {
    const server = await openRuns(WITH_AGENTS);
    const theirs = await server.get("/v1/agents", { key: OTHER_KEY });
    expect(theirs.body).toEqual({ agents: [], total: 0 });
    const hidden = await server.get(`/v1/agents/${CONCIERGE}`, { key: OTHER_KEY });
    const absent = await server.get("/v1/agents/core.no.such", { key: OTHER_KEY });
    expect([hidden.status, hidden.text]).toEqual([404, absent.text]);
    expect((await server.get("/v1/agents", { key: READER_KEY })).status).toBe(403);
    expect((await server.get("/v1/agents", { key: null })).status).toBe(401);
  });

  it("lists packs and exports manifests", async () => {
    const server = await openRuns(WITH_AGENTS);
    const { body } = await server.get("/v1/packs");
    expect(body).toMatchObject({
      packs: [{ name: "core.openwop.desk", agents: [{ agentId: BOOKER }, { agentId: CONCIERGE }] }],
    });
    const exported = await server.get("/v1/packs/export");
    expect(exported.body).toMatchObject({ manifests: [{ agentId: BOOKER }, {}] });
  });
});

describe("dispatching an agent", () => {
  it("is a run of one node, the same as when the node is written down", async () => {
    const task = { text: "a room" };
    const server = await openRuns(WITH_AGENTS);
    const { body } = await server.post("/v1/runs", { agentId: CONCIERGE, inputs: { task } });
    const snapshot = await server.until(body.runId, "completed");
    expectValid(snapshot, "run-snapshot");
    expect(snapshot).toMatchObject({
      agent: { agentId: CONCIERGE, modelClass: "code", sourceManifestId: CONCIERGE },
      outputs: { result: { reply: "booked", task } },
    });
    const path = `/v1/workflows/${String(snapshot["workflowId"])}`;
    const written = await server.get(path);
    expect(written.body).toMatchObject({ nodes: [{ agent: { agentId: CONCIERGE } }] });
    const events = await server.events(body.runId);
    expectValidLog(events);
    const again = await openRuns({ ...WITH_AGENTS, workflows: [written.body as never] });
    const runId = await again.run(String(snapshot["workflowId"]), { inputs: { task } });
    await again.until(runId, "completed");
    const types = (await again.events(runId)).map(({ type }) => type);
    expect(types).toEqual(events.map(({ type }) => type));
  });

  it("goes on with the agent that it is handed to, in the same node", async () => {
    const turns: (readonly [string, unknown])[] = [];
    const executor = scriptedAgents(async ({ agentId, task }): Promise<AgentOutcome> => {
      turns.push([agentId, task]);
      const result = { from: agentId };
      if (agentId === BOOKER) return { kind: "completed", result };
      return { kind: "completed", result, handoffTo: BOOKER };
    });
    const server = await openRuns({ catalog: CATALOG, executor });
    const { body } = await server.post("/v1/runs", { agentId: CONCIERGE, inputs: { task: 1 } });
    const snapshot = await server.until(body.runId, "completed");
    expect(snapshot).toHaveProperty("outputs.result.from", BOOKER);
    expect(turns).toEqual([
      [CONCIERGE, 1],
      [BOOKER, { from: CONCIERGE }],
    ]);
  });

  it("ends when agents only hand each other on", async () => {
    const executor = scriptedAgents(async ({ agentId }) => ({
      ...{ kind: "completed", result: {} },
      handoffTo: agentId === BOOKER ? CONCIERGE : BOOKER,
    }));
    const server = await openRuns({ catalog: CATALOG, executor });
    const { body } = await server.post("/v1/runs", { agentId: CONCIERGE });
    const snapshot = await server.until(body.runId, "failed");
    expect(snapshot).toHaveProperty("error.code", "handoff_limit_exceeded");
  });

  it("waits for a word, comes to the held result, and shows it to nobody before", async () => {
    const executor = scriptedAgents(async ({ agentId, emit }) => {
      const decision = { book: true };
      await emit({ type: "agent.decided", payload: { agentId, decision, confidence: 0.2 } });
      const result = { reply: "held back" };
      return { kind: "low-confidence", threshold: 0.7, observed: 0.2, decision, result };
    });
    const server = await openRuns({ catalog: CATALOG, executor });
    const { body } = await server.post("/v1/runs", { agentId: CONCIERGE });
    await server.until(body.runId, "waiting-approval");
    const shown = [
      (await server.get(`/v1/runs/${body.runId}`)).text,
      JSON.stringify(await server.events(body.runId)),
    ];
    for (const text of shown) expect(text).not.toContain("held back");
    const path = `/v1/runs/${body.runId}/interrupts/agent`;
    await server.post(path, { resumeValue: { approved: true } });
    const snapshot = await server.until(body.runId, "completed");
    expect(snapshot).toHaveProperty("outputs", {
      result: { reply: "held back" },
      decision: { book: true },
    });
    const completed = (await server.events(body.runId)).find(
      ({ type }) => type === "node.completed",
    );
    expect(completed?.payload).toHaveProperty("agent.agentId", CONCIERGE);
  });

  describe("that hands on and is not sure", () => {
    const turns: (readonly [string, unknown])[] = [];
    const executor = scriptedAgents(async ({ agentId, task, emit }): Promise<AgentOutcome> => {
      turns.push([agentId, task]);
      const decision = { by: agentId };
      await emit({ type: "agent.decided", payload: { agentId, decision } });
      if (agentId === BOOKER) return { kind: "completed", result: { reply: "booked" } };
      const handoff = { toAgentId: BOOKER, reason: "it books" };
      const doubt = { threshold: 0.7, observed: 0.2, decision, handoff };
      return { kind: "low-confidence", ...doubt, result: { wants: "a room" } };
    });

    async function answer(resumeValue: unknown, ...ends: readonly string[]) {
      const store = lastingStore();
      const server = await openRuns({ catalog: CATALOG, executor, store });
      const { body } = await server.post("/v1/runs", { agentId: CONCIERGE, inputs: { task: 1 } });
      await server.until(body.runId, "waiting-approval");
      expect(turns.splice(0)).toEqual([[CONCIERGE, 1]]);
      await server.post(`/v1/runs/${body.runId}/interrupts/agent`, { resumeValue });
      const snapshot = await server.until(body.runId, ...ends);
      expectValid(snapshot, "run-snapshot");
      const events = await server.events(body.runId);
      expectValidLog(events);
      const types = events.map(({ type }) => type);
      return { snapshot, events, types, turns: turns.splice(0), server, runId: body.runId };
    }

    it("does so when the word is yes, with what it came to as the task", async () => {
      const { snapshot, events, types, turns, server, runId } = await answer(true, "completed");
      expect(turns).toEqual([[BOOKER, { wants: "a room" }]]);
      expect(snapshot).toHaveProperty("outputs", { result: { reply: "booked" } });
      expect(types.slice(4)).toEqual([
        ...["interrupt.resolved", "agent.decided", "agent.handoff", "agent.decided"],
        ...["node.completed", "run.completed"],
      ]);
      expect(events.find(({ type }) => type === "agent.handoff")?.payload).toMatchObject({
        ...{ fromAgentId: CONCIERGE, toAgentId: BOOKER, reason: "it books" },
      });
      const fork = await server.post(`/v1/runs/${runId}:fork`, { mode: "replay" });
      await server.until(fork.body.runId, "completed");
      expect((await server.events(fork.body.runId)).map(({ type }) => type)).toEqual(types);
    });

    it("does so after a kill as well, while the next agent has done nothing", async () => {
      let isGone = true;
      let reached = (): void => undefined;
      const inTurn = new Promise<void>((resolve) => {
        reached = resolve;
      });
      const stuck = scriptedAgents((turn) => {
        if (!isGone || turn.agentId !== BOOKER) return executor.takeTurn(turn);
        reached();
        return new Promise(() => undefined);
      });
      const store = lastingStore();
      const before = await openRuns({ catalog: CATALOG, executor: stuck, store });
      const { body } = await before.post("/v1/runs", { agentId: CONCIERGE });
      await before.until(body.runId, "waiting-approval");
      await before.post(`/v1/runs/${body.runId}/interrupts/agent`, { resumeValue: true });
      await inTurn;
      isGone = false;
      const after = await openRuns({ catalog: CATALOG, executor: stuck, store });
      const snapshot = await after.until(body.runId, "completed", "failed");
      expect(snapshot).toHaveProperty("outputs", { result: { reply: "booked" } });
      expect(turns.splice(0).at(-1)).toEqual([BOOKER, { wants: "a room" }]);
    });

    it.each([
      [{ decision: "I do it" }, "completed"],
      [{ rejected: true }, "failed"],
    ])("does not when the word is %j", async (word, end) => {
      const { types, turns } = await answer(word, end);
      expect(turns).toEqual([]);
      expect(types).not.toContain("agent.handoff");
    });
  });
});

describe("a workflow that requires an agent", () => {
  const gated = workflow("conformance-agent-pack-handoff", [node("n", "core.noop")], {
    metadata: { requiresAgentId: CONCIERGE },
  });
  const options = { ...WITH_AGENTS, workflows: [gated] };

  it("runs when its inputs are a task of the agent", async () => {
    const server = await openRuns(options);
    const runId = await server.run(gated.id, { inputs: { text: "x" } });
    expect((await server.until(runId, "completed", "failed")).status).toBe("completed");
  });

  it.each([
    [{}, "handoff_task_schema_violation"],
    [{ scenario: "mock-return-violation", text: "x" }, "handoff_return_schema_violation"],
  ])("fails before any node for %j", async (inputs, code) => {
    const server = await openRuns(options);
    const runId = await server.run(gated.id, { inputs });
    await server.until(runId, "failed");
    const events = await server.events(runId);
    expectValidLog(events);
    const failed = events.find(({ type }) => type === "node.failed");
    expect(failed?.payload).toHaveProperty("error.code", code);
  });

  it("is advertised only where the agent is installed", async () => {
    const fixturesOf = async (more: object): Promise<readonly string[] | undefined> => {
      const server = await openRuns({ workflows: [gated], ...more });
      return (await server.get("/.well-known/openwop", { key: null })).body.fixtures;
    };
    expect(await fixturesOf(WITH_AGENTS)).toEqual([gated.id]);
    expect(await fixturesOf({})).toBeUndefined();
  });
});

describe("the suite's seams", () => {
  const DISPATCH = `/v1/host/sample/agents/${CONCIERGE}/dispatch`;
  const TOOLS = "/v1/host/sample/toolhooks/invoke";

  it("are not there unless conformance is asked for", async () => {
    const server = await openRuns({ ...WITH_AGENTS, isConformance: false });
    for (const path of [DISPATCH, TOOLS]) expect((await server.post(path)).status).toBe(404);
    const { body } = await server.get("/.well-known/openwop", { key: null });
    for (const member of ["conformance", "fixtures"]) expect(body).not.toHaveProperty(member);
  });

  it("take one turn of an agent", async () => {
    const server = await openRuns(WITH_AGENTS);
    const body = { task: {}, validateHandoff: false, availableTools: [] };
    const reply = await server.post(DISPATCH, body);
    expect(reply.body).toMatchObject({ agentId: CONCIERGE, status: "completed", toolSurface: [] });
    const types = reply.body.events.map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(["agent.reasoned", "agent.decided"]));
    for (const event of reply.body.events) expect(event).toHaveProperty("agentId", CONCIERGE);
    const unsure = await server.post(DISPATCH, { ...body, simulateConfidence: 0.1 });
    expect(unsure.body.status).toBe("escalated");
    const unknown = await server.post("/v1/host/sample/agents/core.no.such/dispatch", body);
    expect([unknown.status, unknown.body.error]).toEqual([404, "agent_not_found"]);
  });

  it("judge a tool call, failing closed", async () => {
    const server = await openRuns(WITH_AGENTS);
    const call = { principal: "core.system", toolName: "web.search", args: { q: "boats" } };
    const invoke = (more: object) => server.post(TOOLS, { ...call, ...more });
    const ok = await invoke({});
    expect(ok.body).toMatchObject({
      // RFC 0064: of the arguments themselves, in canonical form.
      toolCalled: { argsHash: hash("sha256", '{"q":"boats"}'), principal: "core.system" },
      toolReturned: { status: "ok", durationMs: 0 },
    });
    const forbidden = (await invoke({ requiredScopes: ["db:write"] })).body;
    expect(forbidden).toHaveProperty("toolReturned.status", "forbidden");
    expect(forbidden).not.toHaveProperty("toolReturned.durationMs");
    const odd = (await invoke({ requiredScopes: "db:write" })).body;
    expect(odd).toHaveProperty("toolReturned.status", "forbidden");
    const limited = (await invoke({ simulateRateLimitExhausted: true })).body;
    expect(limited).toHaveProperty("toolReturned.status", "rate_limited");
    const failed = (await invoke({ simulateToolError: true })).body;
    expect(failed).toMatchObject({
      toolReturned: { status: "error", error: { code: "tool_error" } },
    });
    const unreadable = await invoke({ args: { q: "\ud800" } });
    expect([unreadable.status, unreadable.body.error]).toEqual([400, "validation_error"]);
  });
});
