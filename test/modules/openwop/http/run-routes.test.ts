/** What runs may not do: grow, take long, crowd others out, or look into others' runs. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CATALOG, CONCIERGE, scriptedAgents } from "../../../support/openwop-agents.ts";
import {
  CREATOR_KEY,
  expectValid,
  expectValidLog,
  OTHER_KEY,
  openRuns,
  READER_KEY,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";

const LONG = { inputs: { delayMs: 60_000 } };

describe("tenants", () => {
  it("see nothing of each other, by any way there is", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-agent-low-confidence");
    const waiting = await server.until(runId, "waiting-approval");
    const token = String(waiting.interrupt["interruptToken"]);
    const key = OTHER_KEY;
    const answer = { resumeValue: true };
    const replies = [
      await server.get(`/v1/runs/${runId}`, { key }),
      await server.get(`/v1/runs/${runId}/events`, { key }),
      await server.get(`/v1/runs/${runId}/events/poll`, { key }),
      await server.post(`/v1/runs/${runId}/cancel`, {}, { key }),
      await server.post(`/v1/runs/${runId}:fork`, { mode: "replay" }, { key }),
      await server.post(`/v1/runs/${runId}/interrupts/decider`, answer, { key }),
      await server.post(`/v1/interrupts/${token}`, answer, { key }),
      await server.get(`/v1/interrupts/${token}`, { key }),
    ];
    const absent = await server.get("/v1/runs/nothing", { key });
    for (const { status } of replies) expect(status).toBe(404);
    expect(replies[0]?.text).toBe(absent.text);
    const many = await server.post("/v1/runs:bulk-cancel", { runIds: [runId] }, { key });
    expect(many.body).toMatchObject({ results: [{ runId, error: { error: "not_found" } }] });
    expect((await server.get(`/v1/runs/${runId}`)).body.status).toBe("waiting-approval");
  });

  it("share their own runs among their keys, as far as these are good for it", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-noop");
    const key = READER_KEY;
    expect((await server.get(`/v1/runs/${runId}`, { key })).status).toBe(200);
    const refused = await server.post(`/v1/runs/${runId}/cancel`, {}, { key });
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({
      error: "forbidden",
      details: { requiredScope: "runs:cancel" },
    });
    expectValid(refused.body, "error-envelope");
    const fork = { mode: "replay" };
    const unread = await server.post(`/v1/runs/${runId}:fork`, fork, { key: CREATOR_KEY });
    expect(unread.body).toMatchObject({ details: { requiredScope: "runs:read" } });
  });

  it("cannot speak for another in the body", async () => {
    const server = await openRuns();
    const body = { workflowId: "conformance-noop", tenantId: "other" };
    expect((await server.post("/v1/runs", body)).status).toBe(400);
    const own = { workflowId: "conformance-noop", tenantId: "acme" };
    expect((await server.post("/v1/runs", own)).status).toBe(201);
  });
});

describe("runs of one owner", () => {
  it("are refused with 429 when too many are not over, and taken again later", async () => {
    const server = await openRuns({ limits: { unfinishedPerOwner: 2 } });
    const first = await server.run("conformance-cancellable", LONG);
    await server.run("conformance-cancellable", LONG);
    const body = { workflowId: "conformance-cancellable", ...LONG };
    const refused = await server.post("/v1/runs", body);
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(refused.body).toMatchObject({ error: "rate_limited", details: { scope: "key" } });
    const other = await server.post("/v1/runs", body, { key: OTHER_KEY });
    expect(other.status).toBe(201);
    await server.post(`/v1/runs/${first}/cancel`);
    expect((await server.post("/v1/runs", body)).status).toBe(201);
  });

  it("do not all slip through at the same time", async () => {
    const server = await openRuns({ limits: { unfinishedPerOwner: 3 } });
    const body = { workflowId: "conformance-cancellable", ...LONG };
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => server.post("/v1/runs", body)),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(3);
  });

  it("make room for each other once they are over, the oldest first", async () => {
    const server = await openRuns({ limits: { perOwner: 2 } });
    const runIds: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const runId = await server.run("conformance-noop");
      await server.until(runId, "completed");
      runIds.push(runId);
    }
    const [oldest = "", ...kept] = runIds;
    expect((await server.get(`/v1/runs/${oldest}`)).status).toBe(404);
    for (const runId of kept) expect((await server.get(`/v1/runs/${runId}`)).status).toBe(200);
    await server.register.settled();
    expect(await server.store.list("openwop-run-events", { prefix: oldest })).toEqual([]);
  });

  it("make room for others' when there are too many of everybody", async () => {
    const server = await openRuns({ limits: { all: 2 } });
    const first = await server.run("conformance-noop");
    await server.until(first, "completed");
    const second = await server.run("conformance-cancellable", LONG);
    const body = { workflowId: "conformance-noop" };
    const { status } = await server.post("/v1/runs", body, { key: OTHER_KEY });
    expect(status).toBe(201);
    expect((await server.get(`/v1/runs/${first}`)).status).toBe(404);
    expect((await server.get(`/v1/runs/${second}`)).status).toBe(200);
  });

  it("do not keep another's from being executed", async () => {
    const server = await openRuns({ limits: { concurrent: 2 } });
    const hogs: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      hogs.push(await server.run("conformance-delay", { inputs: { delayMs: 150 } }));
    }
    const body = { workflowId: "conformance-noop" };
    const { body: other } = await server.post("/v1/runs", body, { key: OTHER_KEY });
    const poll = `/v1/runs/${other.runId}/events/poll`;
    let isComplete = false;
    while (!isComplete) {
      isComplete = (await server.get(poll, { key: OTHER_KEY })).body.isComplete;
    }
    const last = (await server.get(`/v1/runs/${hogs[3]}`)).body;
    expect(last.status).not.toBe("completed");
  });

  it("do not keep another's from being executed by never ending", async () => {
    const server = await openRuns({ limits: { concurrent: 4 } });
    const hogs: string[] = [];
    for (let n = 0; n < 8; n += 1) {
      hogs.push(await server.run("conformance-delay", { inputs: { delayMs: 60_000 } }));
    }
    await server.until(hogs[0] ?? "", "running");
    const body = { workflowId: "conformance-noop" };
    const { body: other } = await server.post("/v1/runs", body, { key: OTHER_KEY });
    const poll = `/v1/runs/${other.runId}/events/poll?timeout=5&lastSequence=2`;
    expect((await server.get(poll, { key: OTHER_KEY })).body.isComplete).toBe(true);
  });
});

describe("one run", () => {
  it("is encoded a part at a time where it is long", async () => {
    const texts = Array.from({ length: 8_000 }, (_, at) => [`k${at}`, "x".repeat(30)]);
    const echo = (name: string) =>
      node(name, "core.identity", {
        inputs: { [name]: { type: "variable", variableName: "texts" } },
      });
    const flow = workflow("long", ["a", "b", "c"].map(echo), {
      variables: [{ name: "texts", type: "object", required: true }],
    });
    const server = await openRuns({ workflows: [flow] });
    const runId = await server.run("long", { inputs: { texts: Object.fromEntries(texts) } });
    await server.until(runId, "completed");
    const { stringify } = JSON;
    let longest = 0;
    const spy = vi.spyOn(JSON, "stringify").mockImplementation((...asked) => {
      const text = stringify(...asked);
      longest = Math.max(longest, text?.length ?? 0);
      return text;
    });
    onTestFinished(() => spy.mockRestore());
    const { body } = await server.get(`/v1/runs/${runId}`);
    spy.mockRestore();
    expect(Object.keys(body["variables"] as object)).toEqual(["texts"]);
    expect(longest).toBeGreaterThan(0);
    expect(longest).toBeLessThan(stringify(body).length / 10);
  });

  it("says no more than it may, and ends with the reason", async () => {
    const executor = scriptedAgents(async ({ agentId, emit }) => {
      for (;;) await emit({ type: "agent.reasoned", payload: { agentId, reasoning: "on and on" } });
    });
    const server = await openRuns({ executor, catalog: CATALOG, limits: { events: 20 } });
    const { body } = await server.post("/v1/runs", { agentId: CONCIERGE });
    const snapshot = await server.until(body.runId, "failed");
    expect(snapshot).toHaveProperty("error.code", "event_limit_exceeded");
    const events = await server.events(body.runId);
    expectValidLog(events);
    expect(events.length).toBeLessThanOrEqual(22);
  });

  it("is bounded in octets, too", async () => {
    const executor = scriptedAgents(async ({ agentId, emit }) => {
      const reasoning = "x".repeat(30_000);
      for (;;) await emit({ type: "agent.reasoned", payload: { agentId, reasoning } });
    });
    const limits = { bytes: 100_000 };
    const server = await openRuns({ executor, catalog: CATALOG, limits });
    const { body } = await server.post("/v1/runs", { agentId: CONCIERGE });
    const snapshot = await server.until(body.runId, "failed");
    expect(snapshot).toHaveProperty("error.code", "event_limit_exceeded");
  });

  it("says why it fails where its end is too long to be kept", async () => {
    const draft = { type: "variable", variableName: "draft" } as const;
    const first = node("first", "core.noop");
    const last = ["a", "b", "c", "d", "e"].map((id) => {
      return node(id, "core.identity", { inputs: { draft } });
    });
    const edges = last.map(({ id }) => ({ id, sourceNodeId: "first", targetNodeId: id }));
    const flow = { ...workflow("wide", [first]), nodes: [first, ...last], edges };
    const limits = { bytes: 64 * 1_048_576 };
    const bodyBytes = 8 * 1_048_576;
    const server = await openRuns({ workflows: [flow], limits, bodyBytes });
    const runId = await server.run("wide", { inputs: { draft: "x".repeat(3_500_000) } });
    const snapshot = await server.until(runId, "failed");
    expect(snapshot).toHaveProperty("error.code", "event_limit_exceeded");
  });

  it("takes no longer than the host, the workflow and the caller allow", async () => {
    const server = await openRuns();
    const runId = await server.run("conformance-delay", {
      ...LONG,
      configurable: { runTimeoutMs: 1000 },
    });
    const snapshot = await server.until(runId, "failed");
    expect(snapshot).toHaveProperty("error.code", "run_timeout");
    const events = await server.events(runId);
    expectValidLog(events);
    expect(events.at(-3)).toMatchObject({
      type: "cap.breached",
      payload: { kind: "run-duration", limit: 1000 },
    });
  });

  it("was executed for longer than the limit that it breached, whatever the clock says", async () => {
    const server = await openRuns({ now: () => 1_760_000_000_000 });
    const runId = await server.run("conformance-delay", {
      ...LONG,
      configurable: { runTimeoutMs: 1000 },
    });
    await server.until(runId, "failed");
    const breach = (await server.events(runId)).find(({ type }) => type === "cap.breached");
    expect(breach?.payload["observed"]).toBeGreaterThan(1000);
  });

  it("executes no more nodes than the caller allows", async () => {
    const server = await openRuns();
    const configurable = { recursionLimit: 2 };
    const runId = await server.run("conformance-multi-node", { configurable });
    const snapshot = await server.until(runId, "failed");
    expect(snapshot).toHaveProperty("error.code", "recursion_limit_exceeded");
    const events = await server.events(runId);
    expectValidLog(events);
    const done = events.filter(({ type }) => type === "node.completed");
    expect(done).toHaveLength(2);
    const breach = events.find(({ type }) => type === "cap.breached");
    expect(breach).toMatchObject({
      nodeId: "c",
      payload: { kind: "node-executions", nodeId: "c" },
    });
  });

  it("is not held up by an agent that does not hear the signal", async () => {
    let late: Promise<unknown> = Promise.resolve();
    let heard = (): void => undefined;
    const cancelled = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const executor = scriptedAgents(async ({ agentId, emit }) => {
      await cancelled;
      late = emit({ type: "agent.decided", payload: { agentId, decision: "too late" } });
      await late;
      return { kind: "completed", result: {} };
    });
    const server = await openRuns({ executor, catalog: CATALOG });
    const { body } = await server.post("/v1/runs", { agentId: CONCIERGE });
    await server.get(`/v1/runs/${body.runId}/events/poll?lastSequence=0`);
    const { body: cancel } = await server.post(`/v1/runs/${body.runId}/cancel`);
    expect(cancel.status).toBe("cancelled");
    heard();
    await cancelled;
    await expect(late).rejects.toBeDefined();
    expectValidLog(await server.events(body.runId));
  });

  it("fails by itself when what an agent does throws, and nobody learns how", async () => {
    const executor = scriptedAgents(() => Promise.reject(new Error("password=hunter2")));
    const server = await openRuns({ executor, catalog: CATALOG });
    const { body } = await server.post("/v1/runs", { agentId: CONCIERGE });
    const { error } = await server.until(body.runId, "failed");
    expect(error).toEqual({
      code: "internal_error",
      message: "the server failed",
      details: { correlationId: expect.any(String) },
    });
    expect(JSON.stringify(await server.events(body.runId))).not.toContain("hunter2");
    expect(server.warnings).toHaveLength(1);
  });
});

describe("a workflow", () => {
  it.each([{ isActive: false }, { status: "draft" as const }, { tenantId: "other" }])(
    "is not run with %j",
    async (more) => {
      const server = await openRuns({ workflows: [workflow("w", [node("a", "core.noop")], more)] });
      expect((await server.post("/v1/runs", { workflowId: "w" })).status).toBe(400);
    },
  );

  it("belongs to its tenant alone, by any way there is", async () => {
    const server = await openRuns({
      workflows: [workflow("w", [node("a", "core.noop")], { tenantId: "other" })],
    });
    expect((await server.get("/v1/workflows/w")).status).toBe(404);
    expect((await server.get("/v1/workflows/w", { key: OTHER_KEY })).status).toBe(200);
  });
});

describe("bodies", () => {
  it.each([
    ["what is no JSON", "{ no"],
    ["an array", "[]"],
    ["a text", '"x"'],
    ["what is nested too deeply", `{"inputs":${'{"a":'.repeat(80)}1${"}".repeat(80)}}`],
    ["an unknown member", '{"workflowId":"conformance-noop","surprise":1}'],
    ["both ids", '{"workflowId":"conformance-noop","agentId":"core.a.b"}'],
    ["a callback", '{"workflowId":"conformance-noop","callbackUrl":"http://169.254.169.254/"}'],
    ["an evaluation", '{"mode":"eval","agentId":"core.a.b"}'],
    ["too many tags", JSON.stringify({ workflowId: "x", tags: Array(101).fill("a") })],
    ["a tag that is too long", JSON.stringify({ workflowId: "x", tags: ["a".repeat(257)] })],
    ["a hot temperature", '{"workflowId":"x","configurable":{"temperature":2.1}}'],
    ["a missing variable", '{"workflowId":"conformance-identity"}'],
    ["a variable of another type", '{"workflowId":"conformance-identity","inputs":{"payload":1}}'],
    ["an unknown agent", '{"agentId":"core.no.such"}'],
    ["a workflow called __proto__", '{"workflowId":"__proto__"}'],
  ])("are refused with 400 for %s", async (_, body) => {
    const server = await openRuns();
    const reply = await server.post("/v1/runs", body);
    expect(reply.status, reply.text).toBe(400);
    expectValid(reply.body, "error-envelope");
    expect(reply.body.error).toBe("validation_error");
    expect(server.register.unfinished()).toEqual([]);
  });

  it("are refused when they are too large, or of another type", async () => {
    const server = await openRuns({ bodyBytes: 1000 });
    const large = { workflowId: "conformance-noop", metadata: { x: "y".repeat(2000) } };
    const tooLarge = await server.post("/v1/runs", large);
    expect([tooLarge.status, tooLarge.body.error]).toEqual([413, "payload_too_large"]);
    const headers = { "content-type": "text/xml" };
    const xml = await server.post("/v1/runs", "<run/>", { headers });
    expect([xml.status, xml.body.error]).toEqual([415, "unsupported_media_type"]);
    const discovery = await server.get("/.well-known/openwop", { key: null });
    expect(discovery.body).toHaveProperty("limits.maxRequestBodyBytes", 1000);
  });

  it("refuse mock providers", async () => {
    const server = await openRuns();
    const configurable = { mockProvider: { id: "stream-text" } };
    const reply = await server.post("/v1/runs", { workflowId: "conformance-noop", configurable });
    expect([reply.status, reply.body.error]).toEqual([403, "mock_provider_forbidden"]);
  });

  it("may hold names that mean something to JavaScript", async () => {
    const server = await openRuns();
    const payload = JSON.parse('{"__proto__":{"a":1},"constructor":2}');
    const runId = await server.run("conformance-identity", { inputs: { payload } });
    const { text } = await server.get(`/v1/runs/${(await server.until(runId, "completed")).runId}`);
    expect(text).toContain('"payload":{"__proto__":{"a":1},"constructor":2}');
    expect(({} as { a?: number }).a).toBeUndefined();
  });

  it.each(["/v1/runs/%00", "/v1/runs/%2e%2e", "/v1/runs/..%2f..", "/v1//runs"])(
    "%s leads nowhere",
    async (path) => {
      const server = await openRuns();
      const { status, body } = await server.get(path);
      expect([400, 404]).toContain(status);
      expectValid(body, "error-envelope");
    },
  );
});

describe("interrupt tokens", () => {
  it("are good for half an hour, for one interrupt, and only as they were signed", async () => {
    let now = Date.now();
    const server = await openRuns({ now: () => now });
    const runId = await server.run("conformance-agent-low-confidence");
    const { interrupt } = await server.until(runId, "waiting-approval");
    const token = String(interrupt["interruptToken"]);
    const read = await server.get(`/v1/interrupts/${token}`);
    expect(read.body).toMatchObject({ runId, nodeId: "decider", kind: "low-confidence" });
    const { kind, key, data } = read.body;
    expectValid({ kind, key, data }, "suspend-request");
    const [payload = "", signature = ""] = token.split(".");
    const forged = Buffer.from(payload, "base64url").toString().replace("decider", "after");
    for (const wrong of [
      `${Buffer.from(forged).toString("base64url")}.${signature}`,
      ...[`${payload}.`, `${payload}.AAAA`, payload, "a.b.c", "x".repeat(4000)],
    ]) {
      const reply = await server.post(`/v1/interrupts/${wrong}`, { resumeValue: true });
      expect(reply.status).toBe(404);
    }
    now += 30 * 60_000 + 1;
    const expired = await server.post(`/v1/interrupts/${token}`, { resumeValue: true });
    expect([expired.status, expired.body.error]).toEqual([410, "interrupt_expired"]);
  });

  // RFC 0093: invalidated tokens.
  it.each([
    ["the interrupt has its answer", "interrupts/decider", { resumeValue: true }],
    ["the run is over", "cancel", {}],
  ])("are good for nothing once %s", async (_, path, body) => {
    const server = await openRuns();
    const runId = await server.run("conformance-agent-low-confidence");
    const { interrupt } = await server.until(runId, "waiting-approval");
    const link = String(interrupt["callbackUrl"]);
    const open = await server.get(link);
    expect(open.body).toMatchObject({ requestedAt: expect.any(String) });
    await server.post(`/v1/runs/${runId}/${path}`, body);
    for (const late of [await server.get(link), await server.post(link, { resumeValue: false })]) {
      expect([late.status, late.body.error]).toEqual([409, "interrupt_already_resolved"]);
    }
  });
});

describe("workflows with several agents", () => {
  // RFC 0002 §D: who does not advertise an event does not emit it.
  it("tell nothing of agents where the host says that it has none", async () => {
    const agent = (agentId: string) => ({ agent: { agentId } });
    const first = node("a", "core.identity", agent("core.one.a"));
    const relay = workflow("relay", [first, node("b", "core.identity", agent("core.two.b"))]);
    const server = await openRuns({ workflows: [relay], isConformance: false });
    const { body } = await server.get("/.well-known/openwop");
    expect(body).not.toHaveProperty("agents");
    const runId = await server.run("relay");
    await server.until(runId, "completed");
    const types = (await server.events(runId)).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith("agent."))).toEqual([]);
  });

  it("hand over between nodes that pin different ones, and not between others", async () => {
    const agent = (agentId: string) => ({ agent: { agentId } });
    const server = await openRuns({
      workflows: [
        workflow("relay", [
          node("a", "core.identity", agent("core.one.a")),
          node("b", "core.identity", agent("core.one.a")),
          node("c", "core.noop"),
          node("d", "core.identity", agent("core.two.b")),
        ]),
      ],
    });
    const runId = await server.run("relay");
    const snapshot = await server.until(runId, "completed");
    expect(snapshot).toHaveProperty("agent.agentId", "core.two.b");
    const events = await server.events(runId);
    expectValidLog(events);
    const handoffs = events.filter(({ type }) => type === "agent.handoff");
    expect(handoffs.map(({ payload }) => payload)).toMatchObject([
      { fromAgentId: "core.one.a", toAgentId: "core.two.b" },
    ]);
  });
});
