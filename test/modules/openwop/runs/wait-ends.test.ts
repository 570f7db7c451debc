/** Runs that wait for nobody: each has an end, by its gate or by the operator, and gives its place back. */
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import {
  expectValid,
  expectValidLog,
  openRuns,
  type RunServer,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";

const gated = (config: object = {}) =>
  workflow("gated", [node("gate", "core.approvalGate", { config: { ...config } })]);
const asking = (config: object) =>
  workflow("gated", [
    node("gate", "core.clarificationGate", { config: { question: "Which?", ...config } }),
  ]);
const slow = workflow("slow", [node("wait", "core.delay", { config: { delayMs: 60_000 } })]);

function say(server: RunServer, runId: string, resumeValue: unknown) {
  return server.post(`/v1/runs/${runId}/interrupts/gate`, { resumeValue });
}

// OpenWOP "interrupt" timeoutMs
describe("a run that waits", () => {
  it.each([
    ["an approval", gated({ timeoutMs: 50 }), ["approval.received"]],
    ["an answer", asking({ timeoutMs: 50 }), []],
  ])("for %s fails when the time of its gate is over", async (_, flow, told) => {
    const server = await openRuns({ workflows: [flow], limits: { unfinishedPerOwner: 1 } });
    const runId = await server.run("gated");
    const ended = await server.until(runId, "failed", "completed");
    expect(ended).toMatchObject({ status: "failed", error: { code: "interrupt_timeout" } });
    expectValid(ended, "run-snapshot");
    const events = await server.events(runId);
    expectValidLog(events);
    expect(events.map(({ type }) => type)).toEqual([
      ...["run.started", "node.started", "node.suspended", "interrupt.requested"],
      ...[...told, "node.failed", "run.failed"],
    ]);
    const asked = events.find(({ type }) => type === "interrupt.requested");
    expect(asked?.payload).toMatchObject({ timeoutMs: 50 });
    const late = await say(server, runId, { action: "accept" });
    expect([400, 422]).toContain(late.status);
    // The place is another's.
    await server.run("gated");
  });

  it("has the time that its gate gives, and a token no more", async () => {
    const server = await openRuns({ workflows: [gated({ timeoutMs: 60_000 })] });
    const runId = await server.run("gated");
    const { interrupt } = await server.until(runId, "waiting-approval");
    expect(interrupt["timeoutMs"]).toBe(60_000);
    const { body } = await server.get(`/v1/interrupts/${String(interrupt["interruptToken"])}`);
    const [asked, expires] = [body["requestedAt"], body["expiresAt"]].map((at) =>
      Date.parse(String(at)),
    );
    expect((expires ?? 0) - (asked ?? 0)).toBe(60_000);
    expect((await say(server, runId, { action: "accept" })).status).toBe(200);
    await server.until(runId, "completed");
  });

  it("counts no vote for the time that is over", async () => {
    const flow = gated({ timeoutMs: 200, requiredApprovals: 2 });
    const server = await openRuns({ workflows: [flow] });
    const runId = await server.run("gated");
    await server.until(runId, "waiting-approval");
    const first = await say(server, runId, { action: "accept", voter: "ann" });
    expect(first.body.status).toBe("pending");
    expect(await server.until(runId, "failed")).toMatchObject({
      ...{ status: "failed", error: { code: "interrupt_timeout" } },
    });
  });

  it("waits no longer than the operator lets runs wait", async () => {
    const server = await openRuns({ workflows: [gated()], limits: { waitingSeconds: 0.05 } });
    const runId = await server.run("gated");
    const ended = await server.until(runId, "failed");
    expect(ended).toMatchObject({ error: { code: "interrupt_timeout" } });
  });

  it("is ended by the process that finds it so", async () => {
    const store = createMemoryStore();
    const first = await openRuns({ workflows: [gated(), slow], store });
    const asked = await first.run("gated");
    const paused = await first.run("slow");
    await first.until(asked, "waiting-approval");
    await first.until(paused, "running");
    await first.post(`/v1/runs/${paused}:pause`, { drainPolicy: "immediate" });
    await first.until(paused, "paused");
    await first.close();
    const late = Date.now() + 3_599_000;
    const early = await openRuns({ workflows: [gated(), slow], store, now: () => late });
    // Another one waits by now, so that this one would have been ended.
    await early.until(await early.run("gated"), "waiting-approval");
    expect((await early.get(`/v1/runs/${asked}`)).body.status).toBe("waiting-approval");
    await early.close();
    const then = Date.now() + 3_601_000;
    const next = await openRuns({ workflows: [gated(), slow], store, now: () => then });
    expect(await next.until(asked, "failed")).toMatchObject({
      error: { code: "interrupt_timeout" },
    });
    expect(await next.until(paused, "failed")).toMatchObject({ error: { code: "pause_timeout" } });
    expectValidLog(await next.events(paused));
  });
});
