/** What a replay does not do again, counted where it would have been done. */
import { describe, expect, it } from "vitest";
import type { AgentCatalog } from "../../../../src/modules/openwop/agent-catalog.ts";
import { CATALOG, CONCIERGE } from "../../../support/openwop-agents.ts";
import {
  expectValidLog,
  OTHER_KEY,
  openRuns,
  type RunServer,
  type RunServerOptions,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";

const delayMs = { type: "variable", variableName: "delayMs" } as const;
const variables = [{ name: "delayMs", type: "number", defaultValue: 0 } as const];
const effect = node("effect", "core.conformance.side-effect");
const AFTER_DELAY = workflow(
  "conformance-replay-side-effect",
  [node("delay", "core.delay", { inputs: { delayMs } }), effect],
  { variables },
);
const AFTER_HOLD = workflow(
  "conformance-holds",
  [node("hold", "core.conformance.hold", { inputs: { delayMs } }), effect],
  { variables },
);
const FLOWS = [AFTER_DELAY, AFTER_HOLD];

async function countOf(server: RunServer, runId: string): Promise<unknown> {
  return (await server.get(`/v1/host/sample/runs/${runId}/effects`)).body["total"];
}

async function replay(server: RunServer, runId: string): Promise<string> {
  const { status, body } = await server.post(`/v1/runs/${runId}:fork`, { mode: "replay" });
  expect(status).toBe(201);
  return body.runId;
}

// OpenWOP RFC 0140
describe("a side effect", () => {
  it.each(FLOWS)("is had once, and not by a replay, of $id", async ({ id }) => {
    const server = await openRuns({ workflows: FLOWS });
    const runId = await server.run(id);
    await server.until(runId, "completed");
    expect(await countOf(server, runId)).toBe(1);
    const forked = await replay(server, runId);
    const snapshot = await server.until(forked, "completed", "failed");
    expect(snapshot).toMatchObject({
      ...{ status: "completed", outputs: (await server.get(`/v1/runs/${runId}`)).body["outputs"] },
    });
    expect(await countOf(server, forked)).toBe(0);
  });

  it.each(FLOWS)("that its source was cancelled before fails a replay, of $id", async ({ id }) => {
    const server = await openRuns({ workflows: FLOWS });
    let runId = "";
    // Until the machine is quick enough to cancel it while the node is still at work.
    for (let [delayMs, status] = [60, ""]; status !== "cancelled"; delayMs *= 3) {
      runId = await server.run(id, { inputs: { delayMs } });
      await server.post(`/v1/runs/${runId}/cancel`);
      ({ status } = (await server.get(`/v1/runs/${runId}`)).body);
    }
    const forked = await replay(server, runId);
    const snapshot = await server.until(forked, "failed", "cancelled", "completed");
    expect(snapshot).toMatchObject({
      ...{ status: "failed", error: { code: "replay_source_missing" } },
    });
    const events = await server.events(forked);
    expectValidLog(events);
    expect(events.filter(({ nodeId }) => nodeId === "effect").at(-1)).toMatchObject({
      type: "node.failed",
      payload: { error: { code: "replay_source_missing" } },
    });
    expect(await countOf(server, forked)).toBe(0);
  });

  it("is had again by a branch, under an id of its own", async () => {
    const server = await openRuns({ workflows: FLOWS });
    const runId = await server.run(AFTER_HOLD.id);
    const source = await server.until(runId, "completed");
    const fork = { mode: "branch", fromSeq: 0 };
    const { body } = await server.post(`/v1/runs/${runId}:fork`, fork);
    const branch = await server.until(body.runId, "completed");
    expect(await countOf(server, body.runId)).toBe(1);
    expect(branch["outputs"]).not.toEqual(source["outputs"]);
  });

  it("is counted for whoever sees the run", async () => {
    const server = await openRuns({ workflows: FLOWS });
    const runId = await server.run(AFTER_HOLD.id);
    const path = `/v1/host/sample/runs/${runId}/effects`;
    expect((await server.get(path, { key: OTHER_KEY })).status).toBe(404);
  });
});

describe("a hold", () => {
  it("puts out what it was given once its time is over", async () => {
    const flow = workflow("conformance-holds", [
      node("hold", "core.conformance.hold", {
        inputs: {
          delayMs: { type: "static", value: 1 },
          colour: { type: "static", value: "blue" },
        },
      }),
    ]);
    const server = await openRuns({ workflows: [flow] });
    const runId = await server.run(flow.id);
    expect(await server.until(runId, "completed")).toMatchObject({
      outputs: { delayMs: 1, colour: "blue" },
    });
  });
});

describe("the nodes and seams of the public suite", () => {
  it("are not there where conformance is not asked for", async () => {
    const server = await openRuns({ workflows: FLOWS, isConformance: false });
    const failed = await server.until(await server.run(AFTER_HOLD.id), "failed");
    expect(failed).toHaveProperty("error.code", "capability_not_provided");
    expect((await server.get("/v1/host/sample/runs/x/effects")).status).toBe(404);
  });
});

interface MockRun extends RunServerOptions {
  readonly config: Readonly<Record<string, unknown>>;
  readonly configurable?: Readonly<Record<string, unknown>>;
}

async function run({ config, configurable = {}, ...options }: MockRun) {
  const definition = workflow("mock", [
    node("mock", "core.conformance.mock-agent", { config, agent: { agentId: CONCIERGE } }),
  ]);
  const server = await openRuns({ ...options, workflows: [definition] });
  const runId = await server.run("mock", { configurable });
  const snapshot = await server.until(runId, "completed", "waiting-approval");
  const events = await server.events(runId);
  expectValidLog(events);
  const of = (type: string) => events.filter((one) => one.type === type).map((one) => one.payload);
  return { status: snapshot.status, of };
}

const SURE_ENOUGH: AgentCatalog = {
  ...CATALOG,
  inventory: (tenant) =>
    CATALOG.inventory(tenant).map((entry) => ({ ...entry, confidenceThreshold: 0.4 })),
};

// RFC 0002 §F
describe("the mock agent's threshold", () => {
  it.each([
    ["the manifest's, where the run says nothing", {}, SURE_ENOUGH, "completed"],
    ["the run's before it", { escalationThreshold: 0.6 }, SURE_ENOUGH, "waiting-approval"],
    ["0.7 where neither says", {}, CATALOG, "waiting-approval"],
  ])("is %s", async (_, configurable, catalog, status) => {
    const ran = await run({ config: { mockConfidence: 0.5 }, configurable, catalog });
    expect(ran.status).toBe(status);
  });
});

// RFC 0002 §B
describe("the mock agent's reasoning", () => {
  const words = Array.from({ length: 40 }, (_, at) => `word${at}`);
  const mockReasoning = { summary: words.join(" "), trace: "every step of it" };
  const reasoning = { tokenLimit: 5 };

  it("is cut to a summary of so many tokens", async () => {
    const { of } = await run({ config: { mockReasoning }, reasoning });
    expect(of("agent.reasoned")).toEqual([
      { agentId: CONCIERGE, reasoning: "word0 word1 word2 wo", verbosity: "summary" },
    ]);
  });

  it.each([
    ["asked for by the run", { configurable: { reasoningVerbosity: "full" } }],
    ["what the host shows", { reasoning: { verbosity: "full", tokenLimit: 5 } as const }],
  ])("is whole and labelled as such where that is %s", async (_, options) => {
    const { of } = await run({ config: { mockReasoning }, reasoning, ...options });
    expect(of("agent.reasoned")).toEqual([
      { agentId: CONCIERGE, reasoning: "every step of it", verbosity: "full" },
    ]);
  });

  it("is cut piece by piece as it streams, and the pieces are the whole", async () => {
    const streamChunks = ["one two ", "three four ", "five six ", "seven"];
    const { of } = await run({
      ...{ config: { mockReasoning: { summary: "x", streamChunks } }, reasoning },
    });
    const deltas = of("agent.reasoning.delta").map(({ delta }) => delta);
    expect(deltas).toEqual(["one two ", "three four ", "f"]);
    expect(of("agent.reasoned")).toMatchObject([{ reasoning: deltas.join("") }]);
  });

  it("is hidden where the host hides it", async () => {
    const { of } = await run({
      ...{ config: { mockReasoning }, reasoning: { verbosity: "off", tokenLimit: 5 } },
    });
    expect(of("agent.reasoned")).toEqual([]);
  });
});
