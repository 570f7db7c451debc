/** The HTTP API over a store that cannot be written, or read, for a while. */
import { describe, expect, it, vi } from "vitest";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import { type StoreFaultKind, StoreUnavailableError } from "../../../../src/state/store-fault.ts";
import { openRuns, type Reply } from "../../../support/openwop-runs.ts";
import { PATIENCE } from "../../../support/patience.ts";
import { alterStore } from "../../../support/store.ts";

/** A store that fails in these ways while it is told to. */
function makeFaulty() {
  const store = createMemoryStore();
  const fault: {
    writing: StoreFaultKind | undefined;
    reading: StoreFaultKind | undefined;
    /** How often it failed. */
    count: number;
  } = { writing: undefined, reading: undefined, count: 0 };
  const check = (kind: StoreFaultKind | undefined): void => {
    if (kind === undefined) return;
    fault.count += 1;
    throw new StoreUnavailableError(kind, new Error("the disk says so"));
  };
  const faulty = alterStore(store, {
    commit: async (...args) => {
      check(fault.writing);
      return store.commit(...args);
    },
    get: async (...args) => {
      check(fault.reading);
      return store.get(...args);
    },
    list: async (...args) => {
      check(fault.reading);
      return store.list(...args);
    },
  });
  return { store: faulty, fault };
}

function expectUnavailable({ status, headers, body }: Reply): void {
  expect([status, body.error, headers.get("retry-after")]).toEqual([503, "store_unavailable", "1"]);
}

// 503 store-unavailable, as AGTP has it
describe("the HTTP API of runs", () => {
  it.each(["full", "read-only"] as const)(
    "begins nothing over a store that is %s",
    async (kind) => {
      const { store, fault } = makeFaulty();
      const server = await openRuns({ store });
      const body = { workflowId: "conformance-noop" };
      const keyed = { headers: { "idempotency-key": "k" } };
      const kept = await server.run("conformance-noop");
      await server.until(kept, "completed");
      fault.writing = kind;
      expectUnavailable(await server.post("/v1/runs", body));
      expectUnavailable(await server.post("/v1/runs", body, keyed));
      expect((await server.get(`/v1/runs/${kept}`)).status).toBe(200);
      expect((await server.get(`/v1/runs/${kept}/events`)).status).toBe(200);
      fault.writing = undefined;
      const begun = await server.post("/v1/runs", body, keyed);
      expect([begun.status, begun.headers.get("openwop-idempotent-replay")]).toEqual([201, null]);
      await server.until(begun.body.runId, "completed");
      expect(server.warnings).toEqual([]);
    },
  );

  it("says so of what it cannot read, and serves it once it can", async () => {
    const { store, fault } = makeFaulty();
    const first = await openRuns({ store });
    const runId = await first.run("conformance-noop");
    await first.until(runId, "completed");
    const server = await openRuns({ store });
    fault.reading = "damaged";
    expectUnavailable(await server.get(`/v1/runs/${runId}/events`));
    fault.reading = undefined;
    expect((await server.events(runId)).at(-1)?.type).toBe("run.completed");
  });

  it.each(["unreachable", "undecided"] as const)(
    "goes on with a run, and fails none of its nodes, once a store that was %s is back",
    async (kind) => {
      const { store, fault } = makeFaulty();
      const server = await openRuns({ store });
      const runId = await server.run("conformance-delay", { inputs: { delayMs: 300 } });
      await server.until(runId, "running");
      fault.writing = kind;
      await vi.waitFor(() => expect(fault.count).toBeGreaterThan(1), PATIENCE);
      fault.writing = undefined;
      await server.until(runId, "completed");
      const types = (await server.events(runId)).map(({ type }) => type);
      expect(types.filter((type) => type.endsWith(".failed"))).toEqual([]);
      expect(types.filter((type) => type === "run.completed")).toHaveLength(1);
      expect(server.warnings).toEqual([]);
    },
  );

  it("begins a run again where the store has it, once that went back behind it", async () => {
    const store = createMemoryStore();
    const server = await openRuns({ store, isStarted: false });
    const runId = await server.run("conformance-delay", { inputs: { delayMs: 200 } });
    const [entry] = await store.list("openwop-run-entries");
    const first = await store.list("openwop-run-events");
    server.host.start();
    await server.until(runId, "running");
    const all = await store.list("openwop-run-events");
    expect(all.length).toBeGreaterThan(first.length);
    await store.commit([
      { kind: "put", collection: "openwop-run-entries", key: runId, value: entry?.value },
      ...all.slice(first.length).map(({ key }) => {
        return { kind: "delete", collection: "openwop-run-events", key } as const;
      }),
    ]);
    await server.until(runId, "completed");
    const events = await server.events(runId);
    expect(events.map(({ sequence }) => sequence)).toEqual([...events.keys()]);
    expect(events.filter(({ type }) => type === "run.completed")).toHaveLength(1);
    expect(server.warnings).toEqual([]);
  });
});

describe("a pause that could not be kept", () => {
  it("leaves the run going on", async () => {
    const { store, fault } = makeFaulty();
    const server = await openRuns({ store });
    const runId = await server.run("conformance-delay", { inputs: { delayMs: 3_000 } });
    await server.get(`/v1/runs/${runId}/events/poll?lastSequence=0`);
    fault.writing = "full";
    expectUnavailable(await server.post(`/v1/runs/${runId}:pause`, { drainPolicy: "immediate" }));
    fault.writing = undefined;
    const { body } = await server.get(`/v1/runs/${runId}/events/poll?lastSequence=1&timeout=20`);
    expect(body.events).not.toEqual([]);
    expect((await server.until(runId, "completed", "failed")).status).toBe("completed");
  });
});
