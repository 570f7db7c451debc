/** The events of a run as they are streamed: modes, batches, resumption, and listeners that do not read. */
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiKeys } from "../../../../src/modules/openwop/http/api-keys.ts";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import {
  createRuns,
  expectValid,
  KEY,
  openRuns,
  type RunServer,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";
import { alterStore } from "../../../support/store.ts";

let server: RunServer;
beforeAll(async () => {
  server = await createRuns();
});
afterAll(() => server.close());

interface Frame {
  readonly id: number;
  readonly event: string;
  readonly data: unknown;
}

/** Every frame until the server closes. */
async function stream(
  from: RunServer,
  path: string,
  headers: Record<string, string> = {},
): Promise<readonly Frame[]> {
  const response = await from.fetch(path, { headers: { accept: "text/event-stream", ...headers } });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  return (await response.text())
    .split("\n\n")
    .filter((block) => block.startsWith("id:"))
    .map((block) => {
      const [id = "", event = "", data = ""] = block.split("\n");
      return {
        id: Number(id.slice("id: ".length)),
        event: event.slice("event: ".length),
        data: JSON.parse(data.slice("data: ".length)),
      };
    });
}

async function delayed(delayMs: number): Promise<string> {
  return server.run("conformance-delay", { inputs: { delayMs } });
}

const names = (frames: readonly Frame[]): readonly string[] => frames.map(({ event }) => event);

describe("streamMode", () => {
  it("shows progress unless told otherwise, and the server closes at the end", async () => {
    const frames = await stream(server, `/v1/runs/${await delayed(50)}/events`);
    expect(names(frames)).toEqual(["run.started", "node.completed", "run.completed"]);
    for (const { id, data } of frames) expect(data).toHaveProperty("sequence", id);
  });

  it("shows an agent's thoughts as they come, as all of its events, unless told otherwise", async () => {
    const runId = await server.run("conformance-agent-reasoning-streaming");
    const frames = await stream(server, `/v1/runs/${runId}/events`);
    expect(names(frames)).toEqual([
      ...["run.started", "agent.reasoning.delta", "agent.reasoning.delta", "agent.reasoning.delta"],
      ...["agent.reasoned", "node.completed", "run.completed"],
    ]);
    const snapshots = await stream(server, `/v1/runs/${runId}/events?streamMode=values`);
    expect(snapshots.map(({ id }) => id)).toEqual([0, 1, 5, 6, 7]);
  });

  it("shows everything to debug", async () => {
    const frames = await stream(server, `/v1/runs/${await delayed(0)}/events?streamMode=debug`);
    expect(names(frames)).toContain("node.started");
    expect(frames.map(({ id }) => id)).toEqual([0, 1, 2, 3]);
  });

  it("shows a valid snapshot after every step to values", async () => {
    const runId = await delayed(50);
    const frames = await stream(server, `/v1/runs/${runId}/events?streamMode=values`);
    expect(new Set(names(frames))).toEqual(new Set(["state.snapshot"]));
    for (const { data } of frames) expectValid(data, "run-snapshot");
    expect(frames.map(({ data }) => (data as { status: string }).status)).toEqual([
      ...["running", "running", "running", "completed"],
    ]);
    expect(frames.at(-1)?.data).toEqual((await server.get(`/v1/runs/${runId}`)).body);
  });

  it("shows an agent's thoughts to messages, and nothing of runs without any", async () => {
    const path = (runId: string): string => `/v1/runs/${runId}/events?streamMode=messages`;
    expect(await stream(server, path(await delayed(0)))).toEqual([]);
    const runId = await server.run("conformance-agent-reasoning-streaming");
    const frames = await stream(server, path(runId));
    expect(new Set(names(frames))).toEqual(new Set(["ai.message.chunk"]));
    for (const { data } of frames) expectValid(data, "run-event-payloads", "outputChunk");
    const chunks = frames.map(({ data }) => (data as { chunk: string }).chunk);
    expect(chunks.join("")).toBe("Let me think. Yes.");
    expect(frames.at(-1)?.data).toHaveProperty("isLast", true);
  });

  it("mixes modes, values excepted", async () => {
    const runId = await server.run("conformance-agent-reasoning-streaming");
    const frames = await stream(server, `/v1/runs/${runId}/events?streamMode=updates,messages`);
    expect(names(frames)).toEqual(expect.arrayContaining(["run.completed", "ai.message.chunk"]));
    const mixed = await server.get(`/v1/runs/${runId}/events?streamMode=values,updates`);
    expect(mixed.status).toBe(400);
  });

  it.each(["does-not-exist", "", "updates,", "__proto__"])(
    "answers 400 to %j, whatever form is asked for",
    async (mode) => {
      const path = `/v1/runs/${await delayed(0)}/events?streamMode=${mode}`;
      for (const accept of ["text/event-stream", "application/json"]) {
        const { status, body } = await server.get(path, { headers: { accept } });
        expect(status).toBe(400);
        expectValid(body, "error-envelope");
        expect(body).toMatchObject({
          error: "unsupported_stream_mode",
          details: { supported: ["values", "updates", "messages", "debug"] },
        });
      }
    },
  );

  it("filters JSON only when a mode is asked for", async () => {
    const runId = await delayed(0);
    await server.until(runId, "completed");
    const path = `/v1/runs/${runId}/events`;
    expect((await server.get(path)).body.events).toHaveLength(4);
    expect((await server.get(`${path}?streamMode=updates`)).body.events).toHaveLength(3);
  });
});

describe("bufferMs", () => {
  it("gathers events into batches", async () => {
    const runId = await delayed(0);
    await server.until(runId, "completed");
    const frames = await stream(server, `/v1/runs/${runId}/events?streamMode=debug&bufferMs=5000`);
    expect(names(frames)).toEqual(["batch"]);
    expect(frames[0]).toMatchObject({ id: 3, data: { length: 4 } });
  });

  it("does not keep anybody waiting for the end", async () => {
    const frames = await stream(server, `/v1/runs/${await delayed(20)}/events?bufferMs=5000`);
    expect(frames.flatMap(({ data }) => data).length).toBe(3);
  });

  it.each(["-1", "x", "1e9", "5001", "999999999"])("answers 400 to %s", async (bufferMs) => {
    const path = `/v1/runs/${await delayed(0)}/events?bufferMs=${bufferMs}`;
    expect((await server.get(path)).status).toBe(400);
  });
});

describe("Last-Event-ID", () => {
  it("goes on behind what the listener has, without a gap and without anything twice", async () => {
    const runId = await delayed(300);
    const controller = new AbortController();
    const response = await server.fetch(`/v1/runs/${runId}/events?streamMode=debug`, {
      signal: controller.signal,
    });
    const reader = response.body?.getReader();
    let seen = "";
    while (!seen.includes("id: 1\n")) {
      seen += new TextDecoder().decode((await reader?.read())?.value);
    }
    controller.abort();
    const rest = await stream(server, `/v1/runs/${runId}/events?streamMode=debug`, {
      "last-event-id": "1",
    });
    expect(rest.map(({ id }) => id)).toEqual([2, 3]);
  });

  it("closes at once for who has it all", async () => {
    const runId = await delayed(0);
    await server.until(runId, "completed");
    for (const id of ["3", "99999"]) {
      expect(await stream(server, `/v1/runs/${runId}/events`, { "last-event-id": id })).toEqual([]);
    }
  });

  it("goes on with what comes next where no event has it", async () => {
    const runId = await delayed(200);
    await server.until(runId, "running");
    const headers = { "last-event-id": "99999" };
    const frames = await stream(server, `/v1/runs/${runId}/events`, headers);
    expect(names(frames)).toEqual(["node.completed", "run.completed"]);
  });

  it("begins with a snapshot for values", async () => {
    const runId = await delayed(0);
    await server.until(runId, "completed");
    const path = `/v1/runs/${runId}/events?streamMode=values`;
    const frames = await stream(server, path, { "last-event-id": "1" });
    expect(frames.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(frames[0]?.data).toHaveProperty("status", "running");
  });

  it("ends the thoughts that it comes back in the middle of", async () => {
    const runId = await server.run("conformance-agent-reasoning-streaming");
    await server.until(runId, "completed");
    const path = `/v1/runs/${runId}/events?streamMode=messages`;
    const whole = await stream(server, path);
    expect(whole.length).toBe(4);
    for (const [at, { id }] of whole.entries()) {
      const rest = await stream(server, path, { "last-event-id": String(id) });
      expect(rest).toEqual(whole.slice(at + 1));
    }
  });

  it("loses nothing of an event that two modes tell of, wherever its listener is cut off", async () => {
    const runId = await server.run("conformance-agent-reasoning-streaming");
    await server.until(runId, "completed");
    const path = `/v1/runs/${runId}/events?streamMode=updates,messages`;
    const read = async (headers: Record<string, string> = {}): Promise<readonly string[]> => {
      const text = await (await server.fetch(path, { headers })).text();
      return text.split("\n\n").filter((block) => block.includes("data: "));
    };
    const whole = await read();
    const chunks = whole.filter((block) => block.includes("ai.message.chunk"));
    expect(chunks.length).toBe(4);
    for (const at of whole.keys()) {
      const seen = whole.slice(0, at + 1);
      const ids = seen.flatMap((block) => /^id: (\d+)$/m.exec(block)?.[1] ?? []);
      const all = [...seen, ...(await read({ "last-event-id": ids.at(-1) ?? "-1" }))];
      expect(new Set(all)).toEqual(new Set(whole));
      expect(all.filter((block) => block.includes("ai.message.chunk"))).toEqual(chunks);
    }
  });

  it("answers 400 to what is no sequence", async () => {
    const headers = { "last-event-id": "abc" };
    expect((await server.get(`/v1/runs/${await delayed(0)}/events`, { headers })).status).toBe(400);
  });
});

describe("events as JSON", () => {
  it("have no page without an event that could be shown", async () => {
    const names = Array.from({ length: 1020 }, (_, at) => `v${at}`);
    const variables = names.map((name) => ({ name, type: "number", defaultValue: 1 }) as const);
    const outputMapping = Object.fromEntries(names.map((name) => [name, name]));
    const config = { workflowId: "child", outputMapping };
    const talking = await openRuns({
      workflows: [
        workflow("child", [node("one", "core.noop")], { variables }),
        workflow("talks", [node("talk", "core.subWorkflow", { config })]),
      ],
      limits: { events: 2000 },
    });
    const runId = await talking.run("talks");
    await talking.until(runId, "completed");
    const headers = { accept: "application/json" };
    const path = `/v1/runs/${runId}/events?streamMode=updates&lastSequence=0`;
    const { body } = await talking.get(path, { headers });
    expect(body.events.map(({ type }) => type)).toEqual([
      ...["node.dispatched", "node.completed", "run.completed"],
    ]);
    expect(body.isComplete).toBe(true);
  });
});

describe("listeners", () => {
  it("are bounded, and there is room again when one leaves", async () => {
    const small = await openRuns({ audience: { all: 1, perTenant: 1 } });
    const runId = await small.run("conformance-delay", { inputs: { delayMs: 10_000 } });
    const controller = new AbortController();
    const first = await small.fetch(`/v1/runs/${runId}/events`, { signal: controller.signal });
    expect(first.status).toBe(200);
    const second = await small.get(`/v1/runs/${runId}/events/poll?timeout=1`);
    expect(second.status).toBe(429);
    expect(second.headers.get("retry-after")).toBe("1");
    expect(second.body).toMatchObject({ error: "rate_limited", details: { scope: "tenant" } });
    controller.abort();
    let status = 429;
    while (status === 429) {
      ({ status } = await small.get(`/v1/runs/${runId}/events/poll?timeout=0`));
    }
    expect(status).toBe(200);
  });

  it("that do not read keep neither the run nor others waiting", async () => {
    const big = "x".repeat(200_000);
    const nodes = Array.from({ length: 20 }, (_, index) =>
      node(`n${index}`, "core.identity", { inputs: { big: { type: "static", value: big } } }),
    );
    const slow = await openRuns({
      workflows: [workflow("large", nodes)],
      limits: { bytes: 64 * 1_048_576 },
    });
    const runId = await slow.run("large");
    const { port } = new URL(slow.origin);
    const socket = connect(Number(port), "127.0.0.1");
    socket.pause();
    socket.write(
      `GET /v1/runs/${runId}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`,
    );
    await slow.until(runId, "completed");
    const frames = await stream(slow, `/v1/runs/${runId}/events`);
    expect(frames).toHaveLength(22);
    socket.destroy();
  });
});

describe("a listener of a run that is forgotten meanwhile", () => {
  it("is let go once it has what was read for it", async () => {
    const big = "x".repeat(100_000);
    const nodes = Array.from({ length: 60 }, (_, index) =>
      node(`n${index}`, "core.identity", { inputs: { big: { type: "static", value: big } } }),
    );
    const store = createMemoryStore();
    let forgotten: Promise<void> | undefined;
    const slow = await openRuns({
      workflows: [workflow("large", nodes)],
      limits: { bytes: 64 * 1_048_576 },
      store: alterStore(store, {
        list: async (collection, range) => {
          // Nothing behind what was read first is read before the run is forgotten.
          if (range?.after !== undefined) await forgotten;
          return store.list(collection, range);
        },
      }),
    });
    const runId = await slow.run("large");
    await slow.until(runId, "completed");
    let forget: () => void = () => undefined;
    const enter = slow.audience.enter.bind(slow.audience);
    slow.audience.enter = (key) => {
      // The log that the listener is given may have been collected meanwhile, and is all read again before.
      forgotten = new Promise((resolve) => {
        forget = resolve;
      });
      return enter(key);
    };
    const { body } = await slow.fetch(`/v1/runs/${runId}/events?streamMode=debug`);
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    while (!seen.includes("id: 0\n")) seen += (await reader?.read())?.value;
    await slow.register.delete(runId);
    forget();
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      seen += part.value;
    }
    const ids = Array.from(seen.matchAll(/^id: (\d+)$/gm), ([, id]) => Number(id));
    expect(ids).toEqual(ids.map((_, at) => at));
    // As many of 100,000 octets as are half a megabyte together.
    expect(ids.length).toBeGreaterThan(5);
    expect(ids.length).toBeLessThan(20);
  });
});

describe("poll", () => {
  it.each(["lastSequence=x", "lastSequence=-2", "timeout=x", "lastSequence=1&lastSequence=2"])(
    "answers 400 to %s",
    async (query) => {
      const path = `/v1/runs/${await delayed(0)}/events/poll?${query}`;
      expect((await server.get(path)).status).toBe(400);
    },
  );

  it("waits for what comes next", async () => {
    const runId = await delayed(100);
    await server.until(runId, "running");
    const { body } = await server.get(`/v1/runs/${runId}/events/poll?lastSequence=1&timeout=10`);
    expect(body.events[0]).toMatchObject({ type: "node.completed", sequence: 2 });
  });

  it("answers with nothing when its time is over", async () => {
    const runId = await delayed(10_000);
    await server.until(runId, "running");
    const { body } = await server.get(`/v1/runs/${runId}/events/poll?lastSequence=1&timeout=0`);
    expect(body).toEqual({ events: [], isComplete: false });
    await server.post(`/v1/runs/${runId}/cancel`);
  });

  it("is refused at once when the key that it was begun with is taken away", async () => {
    const own = await openRuns();
    const runId = await own.run("conformance-delay", { inputs: { delayMs: 60_000 } });
    await own.until(runId, "running");
    const enter = own.audience.enter.bind(own.audience);
    const entered = new Promise<void>((resolve) => {
      own.audience.enter = (key) => {
        const listening = enter(key);
        resolve();
        return listening;
      };
    });
    const polled = own.get(`/v1/runs/${runId}/events/poll?lastSequence=1&timeout=60`);
    await entered;
    own.audience.serve(new ApiKeys([]));
    const { status, body } = await polled;
    expect([status, body["error"]]).toEqual([401, "unauthenticated"]);
  });
});
