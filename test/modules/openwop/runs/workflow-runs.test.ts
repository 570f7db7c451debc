/** Runs through a kill: what was over reads back bit for bit, what was not goes on or says why not. */
import { describe, expect, it, vi } from "vitest";
import { isRefused } from "../../../../src/modules/openwop/runs/run.ts";
import { openWorkflowRuns } from "../../../../src/modules/openwop/runs/workflow-runs.ts";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import { CATALOG, CONCIERGE, scriptedAgents } from "../../../support/openwop-agents.ts";
import {
  expectValidLog,
  type KillableStore,
  killableStore,
  LIMITS,
  lastingStore,
  openRuns,
  type RunServer,
  type RunServerOptions,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";
import { openTestStore } from "../../../support/store.ts";

interface Lives extends Pick<KillableStore, "killAfter" | "died"> {
  readonly first: RunServer;
  /** Kills the first server, and starts another over what it left. */
  next(options?: RunServerOptions): Promise<RunServer>;
}

async function openLives(options: RunServerOptions = {}): Promise<Lives> {
  const disk = options.store ?? lastingStore();
  const store = killableStore(disk);
  const first = await openRuns({ ...options, store });
  return {
    first,
    killAfter: (commits) => store.killAfter(commits),
    died: store.died,
    next: async (others = options) => {
      store.kill();
      await first.close();
      return openRuns({ ...others, store: killableStore(disk) });
    },
  };
}

describe("a run that is over", () => {
  it.each(["memory", "sqlite"] as const)("reads back bit for bit from %s", async (driver) => {
    const lives = await openLives({ store: await openTestStore(driver) });
    const runIds = [
      await lives.first.run("conformance-agent-reasoning", { tags: ["a"], metadata: { b: 1 } }),
      await lives.first.run("conformance-failure"),
    ];
    for (const runId of runIds) await lives.first.until(runId, "completed", "failed");
    const read = (server: RunServer): Promise<readonly string[]> =>
      Promise.all(
        runIds.flatMap((runId) => [
          server.get(`/v1/runs/${runId}`).then(({ text }) => text),
          server.get(`/v1/runs/${runId}/events`).then(({ text }) => text),
        ]),
      );
    const before = await read(lives.first);
    expect(await read(await lives.next())).toEqual(before);
  });
});

describe("a run that is not over", () => {
  it("is executed by the next process when nobody had begun", async () => {
    const lives = await openLives({ isStarted: false });
    const runId = await lives.first.run("conformance-noop");
    const next = await lives.next({});
    await next.until(runId, "completed");
    expectValidLog(await next.events(runId));
  });

  it("goes on where a delay was cut off, and does not begin it anew", async () => {
    const lives = await openLives();
    const inputs = { delayMs: 400 };
    const runId = await lives.first.run("conformance-delay", { inputs });
    await lives.first.get(`/v1/runs/${runId}/events/poll?lastSequence=0`);
    const next = await lives.next();
    const snapshot = await next.until(runId, "completed");
    const events = await next.events(runId);
    expectValidLog(events);
    expect(events.map(({ type }) => type)).toEqual([
      ...["run.started", "node.started", "node.retried", "node.completed", "run.completed"],
    ]);
    const [from, to] = [snapshot["startedAt"], snapshot["completedAt"]].map(String);
    expect(Date.parse(to ?? "") - Date.parse(from ?? "")).toBeGreaterThanOrEqual(399);
  });

  it("fails with a reason where an agent was cut off, whose turn is not taken twice", async () => {
    let turns = 0;
    const executor = scriptedAgents(async ({ agentId, emit }) => {
      turns += 1;
      await emit({ type: "agent.reasoned", payload: { agentId, reasoning: "hm" } });
      return new Promise(() => undefined);
    });
    const lives = await openLives({ executor, catalog: CATALOG });
    const { body } = await lives.first.post("/v1/runs", { agentId: CONCIERGE });
    await lives.first.get(`/v1/runs/${body.runId}/events/poll?lastSequence=1`);
    const next = await lives.next();
    const snapshot = await next.until(body.runId, "failed");
    expect(snapshot).toHaveProperty("error.code", "run_interrupted");
    expectValidLog(await next.events(body.runId));
    expect(turns).toBe(1);
  });

  it("waits on for its word, and takes it", async () => {
    const lives = await openLives();
    const runId = await lives.first.run("conformance-agent-low-confidence");
    const before = await lives.first.until(runId, "waiting-approval");
    const next = await lives.next();
    const after = (await next.get(`/v1/runs/${runId}`)).body;
    expect(after).toMatchObject({
      status: "waiting-approval",
      interrupt: { interruptId: before.interrupt["interruptId"] },
    });
    const path = `/v1/interrupts/${String(before.interrupt["interruptToken"])}`;
    expect((await next.post(path, { resumeValue: true })).status).toBe(200);
    await next.until(runId, "completed");
  });

  it("goes on copying what it was forked from", async () => {
    const lives = await openLives();
    const runId = await lives.first.run("conformance-agent-reasoning");
    await lives.first.until(runId, "completed");
    const fork = { mode: "replay", fromSeq: 0 };
    const { body } = await lives.first.post(`/v1/runs/${runId}:fork`, fork);
    const next = await lives.next();
    await next.until(body.runId, "completed");
    const [source, copy] = [await next.events(runId), await next.events(body.runId)];
    expect(copy.map(({ type, payload }) => ({ type, payload }))).toEqual(
      source.map(({ type, payload }) => ({ type, payload })),
    );
  });

  it.each([1, 3, 5, 6, 7, 8])(
    "goes on copying what it was forked from after commit %i, past a word that was given",
    async (n) => {
      const flow = workflow("gated", [
        node("gate", "core.approvalGate"),
        node("after", "core.noop"),
      ]);
      const lives = await openLives({ workflows: [flow] });
      const runId = await lives.first.run("gated");
      await lives.first.until(runId, "waiting-approval");
      const word = { resumeValue: { action: "accept" } };
      await lives.first.post(`/v1/runs/${runId}/interrupts/gate`, word);
      await lives.first.until(runId, "completed");
      lives.killAfter(n);
      const { body } = await lives.first.post(`/v1/runs/${runId}:fork`, { mode: "replay" });
      await lives.died;
      expect((await lives.first.get(`/v1/runs/${body.runId}`)).body.status).toMatch(
        /pending|running/,
      );
      const refused = await lives.first.post(`/v1/runs/${body.runId}/interrupts/gate`, word);
      expect([404, 409]).toContain(refused.status);
      const next = await lives.next();
      await next.until(body.runId, "completed");
      const [source, copy] = [await next.events(runId), await next.events(body.runId)];
      expect(copy.map(({ type, payload }) => ({ type, payload }))).toEqual(
        source.map(({ type, payload }) => ({ type, payload })),
      );
    },
  );

  it.each([1, 2, 3, 4])("does not vanish when the process is killed after commit %i", async (n) => {
    const lives = await openLives();
    lives.killAfter(n);
    const body = { workflowId: "conformance-delay", inputs: { delayMs: 1 } };
    const { status, body: created } = await lives.first.post("/v1/runs", body);
    expect(status).toBe(201);
    await lives.died;
    const next = await lives.next();
    await next.until(created.runId, "completed");
    expectValidLog(await next.events(created.runId));
  });

  it("was never accepted when the process is killed before", async () => {
    const lives = await openLives();
    lives.killAfter(0);
    const { status } = await lives.first.post("/v1/runs", { workflowId: "conformance-noop" });
    expect(status).toBe(500);
    const next = await lives.next();
    expect(next.register.unfinished()).toEqual([]);
  });
});

describe("a run that is to be the only one of its scope", () => {
  it("is kept without a look at all that are kept", async () => {
    const { host, register } = await openRuns({ isStarted: false });
    const owner = { tenant: "acme", principal: "desk", scopes: [] };
    const create = async (scopeId: string, isOnly: boolean) => {
      const begun = await host.create({ workflowId: "conformance-noop", scopeId }, owner, {
        isOnly,
      });
      return isRefused(begun) ? begun.details : "begun";
    };
    await create("table-7", false);
    const [{ runId: activeRunId } = { runId: "" }] = register.list();
    const looked = vi.spyOn(register, "list");
    expect(await create("table-8", true)).toBe("begun");
    expect(await create("table-7", true)).toMatchObject({ activeRunId });
    await host.cancel(activeRunId, undefined, { owner, sees: "tenant" });
    expect(await create("table-7", true)).toBe("begun");
    expect(looked).not.toHaveBeenCalled();
  });
});

describe("a run that an earlier version wrote", () => {
  it.each(["memory", "sqlite"] as const)("goes on where its log ends, in %s", async (driver) => {
    const store = await openTestStore(driver);
    const lives = await openLives({ store });
    const runId = await lives.first.run("conformance-agent-low-confidence");
    const { interrupt } = await lives.first.until(runId, "waiting-approval");
    // It did not count a run's events in its entry.
    const [entry] = await store.list("openwop-run-entries");
    const { eventCount, eventBytes: _, ...before } = Object(entry?.value);
    expect(eventCount).toBeGreaterThan(2);
    const place = { collection: "openwop-run-entries", key: runId };
    await store.commit([{ kind: "put", ...place, value: before }]);
    const next = await lives.next();
    expect(next.register.find(runId)).toMatchObject({ eventCount });
    const path = `/v1/interrupts/${String(interrupt["interruptToken"])}`;
    expect((await next.post(path, { resumeValue: true })).status).toBe(200);
    await next.until(runId, "completed");
    expectValidLog(await next.events(runId));
  });
});

describe("a run that was cancelled", () => {
  it("stays cancelled once that was answered", async () => {
    const lives = await openLives();
    const runId = await lives.first.run("conformance-delay", { inputs: { delayMs: 10_000 } });
    await lives.first.post(`/v1/runs/${runId}/cancel`);
    const next = await lives.next();
    expect((await next.get(`/v1/runs/${runId}`)).body.status).toBe("cancelled");
  });
});

describe("a run that is forgotten", () => {
  it("is gone with its log, even when the process ends in between", async () => {
    let now = 1_000_000;
    const store = createMemoryStore();
    const server = await openRuns({ store, now: () => now });
    const runId = await server.run("conformance-noop");
    await server.until(runId, "completed");
    now += LIMITS.retentionSeconds * 1000 + 1;
    const dying = killableStore(store);
    const dead = await openWorkflowRuns(dying, { now: () => now });
    dying.killAfter(1);
    await expect(dead.forget(LIMITS)).rejects.toThrow("killed");
    expect(await store.list("openwop-run-events")).not.toEqual([]);
    const next = await openWorkflowRuns(store, { now: () => now });
    expect(next.find(runId)).toBeUndefined();
    for (const collection of ["openwop-runs", "openwop-run-entries", "openwop-run-events"]) {
      expect(await store.list(collection)).toEqual([]);
    }
  });
});
