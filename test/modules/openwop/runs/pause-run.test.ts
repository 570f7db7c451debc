/** Runs that are paused from outside, and go on. OpenWOP "rest-endpoints" §pause, §resume */
import { describe, expect, it } from "vitest";
import { CATALOG, CONCIERGE, scriptedAgents } from "../../../support/openwop-agents.ts";
import {
  expectValid,
  expectValidLog,
  killableStore,
  lastingStore,
  openRuns,
  type RunServer,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";

const DELAY = "conformance-cancellable";

/** The run of a node that takes so long that it is still at work when the pause is asked for. */
async function pausedWhileAtWork(server: RunServer) {
  for (let delayMs = 100; ; delayMs *= 3) {
    const runId = await delayed(server, delayMs);
    const { status, body } = await server.post(`/v1/runs/${runId}:pause`);
    if (status === 202) return { runId, body };
  }
}

async function delayed(server: RunServer, delayMs: number): Promise<string> {
  const runId = await server.run(DELAY, { inputs: { delayMs } });
  await server.until(runId, "running");
  // Its node is begun, too.
  await server.get(`/v1/runs/${runId}/events/poll?lastSequence=0`);
  return runId;
}

const types = async (server: RunServer, runId: string): Promise<readonly string[]> =>
  (await server.events(runId)).map(({ type }) => type);

describe("a run that is paused at once", () => {
  it("stays where it is, and goes on from there", async () => {
    const server = await openRuns();
    const runId = await delayed(server, 2_000);
    const asked = { reason: "a look at it", drainPolicy: "immediate" };
    const paused = await server.post(`/v1/runs/${runId}:pause`, asked);
    expect(paused.status).toBe(202);
    const { body: snapshot } = await server.get(`/v1/runs/${runId}`);
    expectValid(snapshot, "run-snapshot");
    const { pausedAt } = snapshot as { pausedAt?: string };
    expect(paused.body).toEqual({ runId, status: "paused", drainPolicy: "immediate", pausedAt });
    expect((await server.events(runId)).at(-1)).toMatchObject({
      type: "run.paused",
      payload: { reason: "a look at it", drainPolicy: "immediate" },
    });
    const resumed = await server.post(`/v1/runs/${runId}:resume`, { reason: "seen" });
    expect([resumed.status, resumed.body.status]).toEqual([202, "running"]);
    expect(await server.until(runId, "completed")).not.toHaveProperty("pausedAt");
    const events = await server.events(runId);
    expectValidLog(events);
    expect(events.map(({ type }) => type)).toEqual([
      ...["run.started", "node.started", "run.paused", "run.resumed"],
      ...["node.retried", "node.completed", "run.completed"],
    ]);
  });

  it("is not begun when it was pending", async () => {
    const server = await openRuns({ isStarted: false });
    const runId = await server.run("conformance-noop");
    expect((await server.post(`/v1/runs/${runId}:pause`)).body.status).toBe("paused");
    server.host.start();
    await server.post(`/v1/runs/${runId}:resume`);
    await server.until(runId, "completed");
    expect(await types(server, runId)).toEqual([
      ...["run.started", "run.paused", "run.resumed"],
      ...["node.started", "node.completed", "run.completed"],
    ]);
  });

  it("stays paused through a kill, and can be cancelled", async () => {
    const store = lastingStore();
    const first = killableStore(store);
    const before = await openRuns({ store: first });
    const runId = await delayed(before, 60_000);
    await before.post(`/v1/runs/${runId}:pause`, { drainPolicy: "immediate" });
    first.kill();
    const server = await openRuns({ store });
    expect((await server.get(`/v1/runs/${runId}`)).body.status).toBe("paused");
    const { body } = await server.post(`/v1/runs/${runId}/cancel`);
    expect(body.status).toBe("cancelled");
    expectValidLog(await server.events(runId));
  });

  it("is told again by a replay, and left behind by a branch", async () => {
    const server = await openRuns();
    const runId = await delayed(server, 50);
    await server.post(`/v1/runs/${runId}:pause`, { drainPolicy: "immediate" });
    const branch = { mode: "branch", fromSeq: 2 };
    const other = (await server.post(`/v1/runs/${runId}:fork`, branch)).body.runId;
    await server.until(other, "completed");
    await server.post(`/v1/runs/${runId}:resume`);
    await server.until(runId, "completed");
    const replay = (await server.post(`/v1/runs/${runId}:fork`, { mode: "replay" })).body.runId;
    await server.until(replay, "completed");
    expect(await types(server, replay)).toEqual(await types(server, runId));
  });
});

describe("a run that is paused behind its node", () => {
  it("is paused once the node is done, even the last one", async () => {
    const server = await openRuns();
    const { runId, body } = await pausedWhileAtWork(server);
    expect(body).toEqual({ runId, status: "running", drainPolicy: "drain-current-node" });
    await server.until(runId, "paused");
    expect(await types(server, runId)).toEqual([
      ...["run.started", "node.started", "node.completed", "run.paused"],
    ]);
    await server.post(`/v1/runs/${runId}:resume`);
    await server.until(runId, "completed");
  });

  it("is paused by the next process when the one that was asked is killed", async () => {
    const store = lastingStore();
    const first = killableStore(store);
    const before = await openRuns({ store: first });
    const { runId } = await pausedWhileAtWork(before);
    first.kill();
    const server = await openRuns({ store });
    await server.until(runId, "paused", "completed");
    expect((await types(server, runId)).at(-1)).toBe("run.paused");
  });

  it("waits for its word first, and then is paused", async () => {
    let decide = (): void => undefined;
    const decided = new Promise<void>((resolve) => {
      decide = resolve;
    });
    const executor = scriptedAgents(async () => {
      await decided;
      return {
        ...{ kind: "low-confidence", threshold: 0.7, observed: 0.2 },
        ...{ decision: "hm", result: "r" },
      };
    });
    const ask = node("ask", "core.agent", { agent: { agentId: CONCIERGE } });
    const workflows = [workflow("unsure", [ask, node("after", "core.noop")])];
    const server = await openRuns({ executor, catalog: CATALOG, workflows });
    const runId = await server.run("unsure");
    await server.get(`/v1/runs/${runId}/events/poll?lastSequence=0`);
    const cut = await server.post(`/v1/runs/${runId}:pause`, { drainPolicy: "immediate" });
    expect(cut.status).toBe(409);
    expect(cut.body).toMatchObject({ details: { unsupportedDrainPolicy: "immediate" } });
    expect((await server.post(`/v1/runs/${runId}:pause`)).status).toBe(202);
    decide();
    await server.until(runId, "waiting-approval");
    await server.post(`/v1/runs/${runId}/interrupts/ask`, { resumeValue: true });
    await server.until(runId, "paused");
    await server.post(`/v1/runs/${runId}:resume`);
    await server.until(runId, "completed");
    expectValidLog(await server.events(runId));
  });
});

describe("pausing", () => {
  it("is advertised, with every policy that is accepted", async () => {
    const server = await openRuns();
    const { body } = await server.get("/.well-known/openwop", { key: null });
    expectValid(body, "capabilities");
    const drainPolicies = ["drain-current-node", "immediate"];
    expect(body).toHaveProperty("runs.pauseResume", { supported: true, drainPolicies });
    for (const drainPolicy of drainPolicies) {
      const runId = await delayed(server, 60_000);
      const { status } = await server.post(`/v1/runs/${runId}:pause`, { drainPolicy });
      expect([drainPolicy, status]).toEqual([drainPolicy, 202]);
    }
  });

  it("is refused with where the run stands, and collapsed under one key", async () => {
    const server = await openRuns();
    const runId = await delayed(server, 60_000);
    const early = await server.post(`/v1/runs/${runId}:resume`);
    expect([early.status, early.body.error]).toEqual([409, "run_state_conflict"]);
    expect(early.body).toMatchObject({ details: { runStatus: "running" } });
    const keyed = { headers: { "idempotency-key": "pause-1" } };
    const asked = { drainPolicy: "immediate" };
    const first = await server.post(`/v1/runs/${runId}:pause`, asked, keyed);
    const again = await server.post(`/v1/runs/${runId}:pause`, asked, keyed);
    expect([again.status, again.text]).toEqual([202, first.text]);
    const second = await server.post(`/v1/runs/${runId}:pause`);
    expect(second.status).toBe(409);
    expectValid(second.body, "error-envelope");
    const { pausedAt } = first.body as { pausedAt?: string };
    expect(second.body).toMatchObject({ details: { runStatus: "paused", pausedAt } });
    await server.post(`/v1/runs/${runId}/cancel`);
    const late = await server.post(`/v1/runs/${runId}:pause`);
    expect([late.status, late.body.error]).toEqual([409, "run_terminal"]);
    expect(late.body).toMatchObject({ details: { runStatus: "cancelled" } });
    const waiting = await server.run("conformance-agent-low-confidence");
    await server.until(waiting, "waiting-approval");
    const stacked = await server.post(`/v1/runs/${waiting}:pause`);
    expect(stacked.body).toMatchObject({ details: { runStatus: "waiting-approval" } });
    expect((await server.post("/v1/runs/nothing:pause")).status).toBe(404);
    expect((await server.post(`/v1/runs/${runId}:pause`, { drainPolicy: "soon" })).status).toBe(
      400,
    );
    expect((await server.post(`/v1/runs/${runId}:resume`, { reason: 7 })).status).toBe(400);
  });
});
