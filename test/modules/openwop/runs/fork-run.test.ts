/** Forks: replays that tell again what was recorded, branches that go their own way. */
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import {
  CATALOG,
  CONCIERGE,
  ordinaryTurn,
  scriptedAgents,
} from "../../../support/openwop-agents.ts";
import {
  expectValidLog,
  openRuns,
  type RunEventLike,
  type RunServer,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";
import { alterStore } from "../../../support/store.ts";

async function fork(server: RunServer, runId: string, body: object): Promise<string> {
  const { status, body: forked } = await server.post(`/v1/runs/${runId}:fork`, body);
  expect(status, JSON.stringify(forked)).toBe(201);
  expect(forked).toMatchObject({ ...body, sourceRunId: runId, status: "pending" });
  expect(forked.runId).not.toBe(runId);
  return forked.runId;
}

/** All but what names this very run and moment. */
function shape(events: readonly RunEventLike[]): readonly object[] {
  return events.map(({ type, nodeId, payload, sequence }) => ({ type, nodeId, payload, sequence }));
}

const REPLAY = { mode: "replay", fromSeq: 0 };

describe("a replay", () => {
  it.each([
    ["conformance-noop", {}],
    ["conformance-multi-node", {}],
    ["conformance-failure", {}],
    ["conformance-agent-reasoning", {}],
    ["conformance-agent-reasoning-streaming", {}],
    ["conformance-delay", { inputs: { delayMs: 30 } }],
  ])("of %s says the same as its source, and as every other", async (workflowId, more) => {
    const server = await openRuns();
    const runId = await server.run(workflowId, more);
    const source = await server.until(runId, "completed", "failed");
    const forks = [await fork(server, runId, REPLAY), await fork(server, runId, REPLAY)];
    for (const forked of forks) {
      const snapshot = await server.until(forked, "completed", "failed");
      expect(snapshot).toMatchObject({
        ...{ status: source.status, variables: source["variables"], parentRunId: runId },
      });
      const events = await server.events(forked);
      expectValidLog(events);
      expect(shape(events)).toEqual(shape(await server.events(runId)));
      expect(events.map(({ eventId }) => eventId)).not.toContain(
        (await server.events(runId))[0]?.eventId,
      );
    }
  });

  it("reads long events of its source a few at a time", async () => {
    const memory = createMemoryStore();
    let isCounting = "";
    let most = 0;
    const store = alterStore(memory, {
      list: async (collection, options) => {
        const page = await memory.list(collection, options);
        if (options?.prefix === `${isCounting}/`) most = Math.max(most, page.length);
        return page;
      },
    });
    const echo = (name: string) =>
      node(name, "core.identity", { inputs: { text: { type: "variable", variableName: "text" } } });
    const long = workflow("long", ["a", "b", "c", "d"].map(echo), {
      variables: [{ name: "text", type: "string", required: true }],
    });
    const server = await openRuns({ store, workflows: [long] });
    const runId = await server.run("long", { inputs: { text: "x".repeat(300_000) } });
    await server.until(runId, "completed");
    isCounting = runId;
    const forked = await fork(server, runId, REPLAY);
    await server.until(forked, "completed");
    isCounting = "";
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(6);
    expect(shape(await server.events(forked))).toEqual(shape(await server.events(runId)));
  });

  it("keeps calls and their returns together", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-agent-reasoning");
    await server.until(runId, "completed");
    const forked = await fork(server, runId, REPLAY);
    await server.until(forked, "completed");
    const events = await server.events(forked);
    const called = events.find(({ type }) => type === "agent.toolCalled");
    const returned = events.find(({ type }) => type === "agent.toolReturned");
    expect(returned?.causationId).toBe(called?.eventId);
  });

  it("takes no turn of an agent again", async () => {
    let turns = 0;
    const executor = scriptedAgents((turn) => {
      turns += 1;
      return ordinaryTurn(turn);
    });
    const server = await openRuns({ executor, catalog: CATALOG });
    const task = { text: "a room" };
    const created = await server.post("/v1/runs", { agentId: CONCIERGE, inputs: { task } });
    await server.until(created.body.runId, "completed");
    const forked = await fork(server, created.body.runId, REPLAY);
    await server.until(forked, "completed");
    expect(turns).toBe(1);
    expect(shape(await server.events(forked))).toEqual(
      shape(await server.events(created.body.runId)),
    );
  });

  it("fails closed where an effect was cut off and nothing of it is recorded", async () => {
    const executor = scriptedAgents(() => new Promise(() => undefined));
    const server = await openRuns({ executor, catalog: CATALOG });
    const created = await server.post("/v1/runs", { agentId: CONCIERGE });
    const { runId } = created.body;
    await server.until(runId, "running");
    await server.get(`/v1/runs/${runId}/events/poll?lastSequence=0`);
    await server.post(`/v1/runs/${runId}/cancel`);
    const forked = await fork(server, runId, REPLAY);
    const snapshot = await server.until(forked, "failed");
    expect(snapshot).toHaveProperty("error.code", "replay_source_missing");
    expectValidLog(await server.events(forked));
  });

  it("takes no turn that its source has not taken, even after a word of its own", async () => {
    let turns = 0;
    const executor = scriptedAgents((turn) => {
      turns += 1;
      return ordinaryTurn(turn);
    });
    const decider = node("decider", "core.conformance.mock-agent", {
      config: { mockConfidence: 0.1 },
    });
    const asking = node("ask", "core.agent", { agent: { agentId: CONCIERGE } });
    const workflows = [workflow("asks", [decider, asking])];
    const server = await openRuns({ executor, catalog: CATALOG, workflows });
    const runId = await server.run("asks");
    await server.until(runId, "waiting-approval");
    const forked = await fork(server, runId, REPLAY);
    await server.until(forked, "waiting-approval");
    await server.post(`/v1/runs/${forked}/interrupts/decider`, { resumeValue: true });
    const snapshot = await server.until(forked, "failed", "completed");
    expect(snapshot).toHaveProperty("error.code", "replay_source_missing");
    expect(turns).toBe(0);
  });

  it("ends when the run that it was taken of is gone before it was copied", async () => {
    const server = await openRuns({ isStarted: false, limits: { perOwner: 2 } });
    server.host.start();
    const runId = await server.run("conformance-noop");
    await server.until(runId, "completed");
    server.host.close();
    const forked = await fork(server, runId, REPLAY);
    await server.run("conformance-noop");
    expect((await server.get(`/v1/runs/${runId}`)).status).toBe(404);
    await server.register.settled();
    server.host.start();
    const snapshot = await server.until(forked, "failed");
    expect(snapshot).toHaveProperty("error.code", "replay_source_missing");
    expectValidLog(await server.events(forked));
  });

  it("ends when the beginning of its source is deleted already", async () => {
    const store = createMemoryStore();
    let isGone = false;
    const halved = alterStore(store, {
      list: async (collection, range) => {
        const entries = await store.list(collection, range);
        const isLost = isGone && collection === "openwop-run-events" && range?.after === undefined;
        return isLost ? entries.slice(3) : entries;
      },
    });
    const server = await openRuns({ store: halved });
    const runId = await server.run("conformance-multi-node");
    await server.until(runId, "completed");
    server.host.close();
    const forked = await fork(server, runId, REPLAY);
    isGone = true;
    server.host.start();
    const snapshot = await server.until(forked, "failed", "completed");
    expect(snapshot).toHaveProperty("error.code", "replay_source_missing");
  });

  it("is given the word that its source was given", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-agent-low-confidence");
    await server.until(runId, "waiting-approval");
    await server.post(`/v1/runs/${runId}/interrupts/decider`, { resumeValue: true });
    await server.until(runId, "completed");
    const forked = await fork(server, runId, REPLAY);
    await server.until(forked, "completed");
    expect(shape(await server.events(forked))).toEqual(shape(await server.events(runId)));
  });

  it("of a run that waits waits for a word of its own", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-agent-low-confidence");
    await server.until(runId, "waiting-approval");
    const forked = await fork(server, runId, REPLAY);
    await server.until(forked, "waiting-approval");
    const path = `/v1/runs/${forked}/interrupts/decider`;
    expect((await server.post(path, { resumeValue: true })).status).toBe(200);
    await server.until(forked, "completed");
    expect((await server.get(`/v1/runs/${runId}`)).body.status).toBe("waiting-approval");
  });

  it("begins at the beginning unless told otherwise", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-noop");
    await server.until(runId, "completed");
    const forked = await fork(server, runId, { mode: "replay" });
    expect((await server.until(forked, "completed")).status).toBe("completed");
  });
});

describe("a branch", () => {
  it("keeps what was done before its point, and does the rest again", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-multi-node");
    await server.until(runId, "completed");
    const source = await server.events(runId);
    const done = source.findIndex(
      ({ type, nodeId }) => type === "node.completed" && nodeId === "a",
    );
    const forked = await fork(server, runId, { mode: "branch", fromSeq: done + 1 });
    await server.until(forked, "completed");
    const events = await server.events(forked);
    expectValidLog(events);
    expect(shape(events.slice(0, done + 1))).toEqual(shape(source.slice(0, done + 1)));
    expect(events.map(({ type, nodeId }) => `${type} ${nodeId ?? ""}`.trim())).toEqual(
      source.map(({ type, nodeId }) => `${type} ${nodeId ?? ""}`.trim()),
    );
  });

  it("begins a node anew that its point lies in", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-agent-reasoning");
    await server.until(runId, "completed");
    const forked = await fork(server, runId, { mode: "branch", fromSeq: 3 });
    await server.until(forked, "completed");
    const events = await server.events(forked);
    expectValidLog(events);
    const begun = events.filter(({ type }) => type === "node.started");
    expect(begun.map(({ payload }) => payload["attempt"])).toEqual([1, 2]);
  });

  it("may have other options", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-agent-low-confidence");
    await server.until(runId, "waiting-approval");
    const runOptionsOverlay = { configurable: { escalationThreshold: 0.1 }, tags: ["second try"] };
    const { body } = await server.post(`/v1/runs/${runId}:fork`, {
      ...{ mode: "branch", fromSeq: 0, runOptionsOverlay },
    });
    const snapshot = await server.until(body.runId, "completed", "waiting-approval");
    expect(snapshot).toMatchObject({ status: "completed", tags: ["second try"] });
  });
});

describe("a fork is refused", () => {
  it.each([
    ["a negative point", { mode: "branch", fromSeq: -1 }, 400],
    ["a point that is no number", { mode: "branch", fromSeq: "0" }, 400],
    ["a branch without a point", { mode: "branch" }, 400],
    ["an unknown mode", { mode: "copy", fromSeq: 0 }, 400],
    ["no mode", {}, 400, 'mode is missing, expected "replay" or "branch"'],
    ["a point past the log", { mode: "branch", fromSeq: 99_999 }, 422],
    ["the end of the log", { mode: "replay", fromSeq: 4 }, 422],
    [
      "a replay with other options",
      { mode: "replay", fromSeq: 0, runOptionsOverlay: { configurable: { recursionLimit: 5 } } },
      400,
    ],
    [
      "options that break their schema",
      { mode: "branch", fromSeq: 0, runOptionsOverlay: { configurable: { temperature: 9 } } },
      400,
    ],
    [
      "options that no run may have",
      { mode: "branch", fromSeq: 0, runOptionsOverlay: { configurable: { budget: {} } } },
      400,
    ],
    [
      "a mock provider",
      { mode: "branch", fromSeq: 0, runOptionsOverlay: { configurable: { mockProvider: {} } } },
      403,
    ],
    ["an unknown member", { mode: "replay", from: 3 }, 400],
  ])("for %s", async (_, body, status, message = "") => {
    const server = await openRuns();
    const runId = await server.run("conformance-noop");
    await server.until(runId, "completed");
    const reply = await server.post(`/v1/runs/${runId}:fork`, body);
    expect(reply.status, reply.text).toBe(status);
    expect(reply.body["message"]).toContain(message);
  });

  it("for options that its workflow does not take", async () => {
    const configurableSchema = { properties: { tone: { enum: ["kind", "brief"] } } };
    const workflows = [workflow("toned", [node("noop", "core.noop")], { configurableSchema })];
    const server = await openRuns({ workflows });
    const runId = await server.run("toned");
    await server.until(runId, "completed");
    const branch = (tone: string) => {
      const runOptionsOverlay = { configurable: { tone } };
      return server.post(`/v1/runs/${runId}:fork`, {
        mode: "branch",
        fromSeq: 0,
        runOptionsOverlay,
      });
    };
    expect((await branch("kind")).status).toBe(201);
    const refused = await branch("rude");
    expect(refused).toMatchObject({ status: 400, body: { error: "validation_error" } });
    expect(refused.body["message"]).toContain("/configurable/tone");
  });
});
