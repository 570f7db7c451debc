/** What a replay does not do again, counted where it would have been done. */
import { describe, expect, it } from "vitest";
import { expectValidLog, OTHER_KEY, openRuns, type RunServer } from "../../support/openwop-runs.ts";
import { node, workflow } from "../../support/openwop-workflows.ts";

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
