/** The HTTP API of one of two nodes over one store, which hears of the other's work when it asks. */
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import type { FeedWatcher, Store } from "../../../../src/state/store.ts";
import { StoreUnavailableError } from "../../../../src/state/store-fault.ts";
import { openRuns, type Reply, type RunServer } from "../../../support/openwop-runs.ts";
import { alterStore } from "../../../support/store.ts";

interface Behind {
  readonly server: RunServer;
  readonly asked: { count: number };
  /** Something that happens once, right after the node has asked. */
  meanwhile(happen: () => Promise<unknown>): void;
  /** The store says nothing from now on. */
  cut(): void;
}

/** A node whose view is as old as its last question. */
async function openBehind(store: Store): Promise<Behind> {
  const watchers: (readonly [string, FeedWatcher])[] = [];
  const watched = alterStore(store, {
    watch: (collection, watcher) => void watchers.push([collection, watcher]),
  });
  const asked = { count: 0 };
  let isCut = false;
  let happen: () => Promise<unknown> = () => Promise.resolve();
  const catchUp = async (): Promise<void> => {
    asked.count += 1;
    if (isCut) throw new StoreUnavailableError("unreachable", new Error("it is cut off"));
    for (const [collection, watcher] of watchers) {
      watcher.ask();
      await watcher.take(await store.changes(0, collection));
    }
    const once = happen;
    happen = () => Promise.resolve();
    await once();
  };
  const server = await openRuns({ store: watched, isStarted: false, view: { catchUp } });
  return {
    server,
    asked,
    meanwhile: (once) => {
      happen = once;
    },
    cut: () => {
      isCut = true;
    },
  };
}

async function openBoth(): Promise<Behind & { readonly other: RunServer }> {
  const store = createMemoryStore();
  const other = await openRuns({ store });
  return { ...(await openBehind(store)), other };
}

const KEYED = { headers: { "idempotency-key": "k" } };
const body = (nonce: string) => ({ workflowId: "conformance-idempotent", inputs: { nonce } });

describe("a run that another node has just begun", () => {
  it("is read, streamed and cancelled", async () => {
    const { server, other } = await openBoth();
    const begin = () => other.run("conformance-delay", { inputs: { delayMs: 60_000 } });
    expect((await server.get(`/v1/runs/${await begin()}`)).status).toBe(200);
    const cancelled = await server.post(`/v1/runs/${await begin()}/cancel`, {});
    expect(cancelled.status).toBe(200);
    const controller = new AbortController();
    const headers = { accept: "text/event-stream" };
    const path = `/v1/runs/${await begin()}/events`;
    const stream = await server.fetch(path, { headers, signal: controller.signal });
    expect(stream.status).toBe(200);
    controller.abort();
  });

  it("tells a listener nothing twice that the other has told it", async () => {
    const { server, other } = await openBoth();
    const runId = await other.run("conformance-delay", { inputs: { delayMs: 60_000 } });
    expect((await server.get(`/v1/runs/${runId}`)).status).toBe(200);
    await other.post(`/v1/runs/${runId}/cancel`, {});
    const last = (await other.events(runId)).at(-1)?.sequence;
    const headers = { accept: "text/event-stream", "last-event-id": `${last}` };
    const stream = await server.fetch(`/v1/runs/${runId}/events`, { headers });
    expect(await stream.text()).toBe(": connected\n\n");
  });

  it("is no run where nobody has begun one, and one question tells", async () => {
    const { server, asked } = await openBoth();
    expect((await server.get(`/v1/runs/${crypto.randomUUID()}`)).status).toBe(404);
    expect(asked.count).toBe(1);
    expect((await server.get("/v1/runs/short")).status).toBe(404);
    expect(asked.count).toBe(1);
  });

  it("is not denied while the store cannot be asked", async () => {
    const { server, other, cut } = await openBoth();
    const runId = await other.run("conformance-noop");
    cut();
    for (const path of [`/v1/runs/${runId}`, `/v1/runs/${runId}/events`]) {
      const reply = await server.get(path, { headers: { accept: "text/event-stream" } });
      expect([reply.status, reply.body.error]).toEqual([503, "store_unavailable"]);
      expect(reply.headers.get("retry-after")).toBe("1");
    }
  });
});

describe("an Idempotency-Key that another node has just seen", () => {
  it("has the other's answer, and no second run", async () => {
    const { server, other } = await openBoth();
    const first = await other.post("/v1/runs", body("a"), KEYED);
    expect(first.status).toBe(201);
    const again = await server.post("/v1/runs", body("a"), KEYED);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect((await server.post("/v1/runs", body("b"), KEYED)).status).toBe(409);
    expect(other.register.unfinished().length).toBeLessThan(2);
  });

  it.each(["a", "b"])("begins nothing where the other is sooner with %s", async (nonce) => {
    const { server, other, meanwhile } = await openBoth();
    let first: Reply | undefined;
    meanwhile(async () => {
      first = await other.post("/v1/runs", body(nonce), KEYED);
    });
    const late = await server.post("/v1/runs", body("a"), KEYED);
    expect(first?.status).toBe(201);
    const isSame = nonce === "a";
    expect([late.status, late.text === first?.text]).toEqual([isSame ? 201 : 409, isSame]);
    const runs = await other.store.list("openwop-runs");
    expect(runs.map(({ key }) => key)).toEqual([first?.body.runId]);
  });

  it("begins nothing while the store cannot be asked", async () => {
    const { server, other, cut } = await openBoth();
    cut();
    expect((await server.post("/v1/runs", body("a"), KEYED)).status).toBe(503);
    expect((await other.post("/v1/runs", body("a"), KEYED)).headers.get("location")).toBeTruthy();
  });
});
