/** What the public conformance suite asks of a host, over real HTTP. */
import { validate } from "@readme/openapi-parser";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RUN_BODY_SCHEMA } from "../../../../src/modules/openwop/runs/make-run.ts";
import {
  createRuns,
  expectValid,
  expectValidLog,
  KEY,
  openRuns,
  type RunServer,
} from "../../../support/openwop-runs.ts";

let server: RunServer;
beforeAll(async () => {
  server = await createRuns();
});
afterAll(() => server.close());

describe("discovery", () => {
  it("is for everybody, valid, and known again by its tag", async () => {
    const { status, body, headers } = await server.get("/.well-known/openwop", { key: null });
    expect(status).toBe(200);
    expectValid(body, "capabilities");
    expect(headers.get("cache-control")).toContain("max-age");
    const etag = headers.get("etag") ?? "";
    const again = await server.get("/.well-known/openwop", {
      key: null,
      headers: { "if-none-match": etag },
    });
    expect(again.status).toBe(304);
    expect(body).toMatchObject({
      replay: { supported: true, modes: ["replay", "branch"] },
      agents: { supported: true, reasoning: { verbosity: "summary", streaming: true } },
      conformance: { mockAgent: true },
    });
    expect(body.fixtures).toContain("conformance-noop");
    expect(body.agents).not.toHaveProperty("manifestRuntime");
  });

  it("says of runs that they have a log of events, and so does each run", async () => {
    const discovery = await server.get("/.well-known/openwop", { key: null });
    const snapshot = await server.until(await server.run("conformance-noop"), "completed");
    // Below 2 a run is taken for one of which there is only the snapshot.
    expect(discovery.body).toHaveProperty("eventLogSchemaVersion", 2);
    expect(snapshot).toHaveProperty("eventLogSchemaVersion", 2);
  });

  it("describes the API as OpenAPI 3.1, to everybody", async () => {
    const { status, body } = await server.get("/v1/openapi.json", { key: null });
    expect(status).toBe(200);
    expect(body.openapi).toMatch(/^3\.[1-9]/);
    expect(Object.keys(body.paths)).toContain("/v1/runs/{runId}:fork");
    expect(body.paths).toMatchObject({
      "/.well-known/openwop": { get: { security: [] } },
      "/v1/runs": {
        post: {
          parameters: [{ name: "X-Dedup" }, { name: "Idempotency-Key" }],
          requestBody: { content: { "application/json": { schema: RUN_BODY_SCHEMA } } },
        },
      },
      "/v1/runs/{runId}/events": {
        get: { responses: { "2XX": { content: { "text/event-stream": {} } } } },
      },
    });
    expect(Object.keys(body.paths)).toContain("/v1/host/sample/toolhooks/invoke");
    expect(await validate(structuredClone(body) as never)).toMatchObject({ valid: true });
    const plain = await openRuns({ isConformance: false, workflows: [] });
    const served = Object.keys((await plain.get("/v1/openapi.json", { key: null })).body.paths);
    expect(served.filter((path) => path.startsWith("/v1/host/"))).toEqual([]);
  });
});

describe("auth", () => {
  it.each([
    ["no key", null],
    ["somebody else's key", "hk_definitely_not_a_real_key_12345"],
  ])("answers 401 to %s, before anything else is looked at", async (_, key) => {
    for (const path of ["/v1/runs", "/v1/nothing-here"]) {
      const { status, body, headers } = await server.post(path, "{ no json", { key });
      expect(status).toBe(401);
      expectValid(body, "error-envelope");
      expect(body.error).toBe("unauthenticated");
      expect(headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  it("answers 401 to a header of another scheme", async () => {
    const headers = { authorization: `Basic ${KEY}` };
    expect((await server.get("/v1/agents", { key: null, headers })).status).toBe(401);
  });
});

describe("errors", () => {
  it.each([
    ["GET", "/v1/runs/no-such-run", 404],
    ["GET", "/v1/nothing", 404],
    ["POST", "/v1/runs", 400],
    ["POST", "/v1/runs/no-such-run/cancel", 404],
    ["POST", "/v1/runs/no-such-run:fork", 404],
    ["DELETE", "/v1/runs", 405],
  ])("%s %s has the closed envelope", async (method, path, status) => {
    const init = { method, headers: { "content-type": "application/json" } };
    const response = await server.fetch(path, method === "GET" ? init : { ...init, body: "{}" });
    expect(response.status).toBe(status);
    expectValid(await response.json(), "error-envelope");
  });
});

// RFC 7493 §2.2
describe("a number of a body", () => {
  it.each(["9007199254740993", "1e400"])("is no other one in a run: %s", async (number) => {
    const inputs = `{"order":{"id":${number}}}`;
    const response = await server.fetch("/v1/runs", {
      ...{ method: "POST", headers: { "content-type": "application/json" } },
      body: `{"workflowId":"conformance-noop","inputs":${inputs}}`,
    });
    expect(response.status).toBe(400);
    const { message } = (await response.json()) as { readonly message: string };
    expect(message).toMatch(`/inputs/order/id: ${number} cannot be kept to the digit`);
  });
});

describe("runs-lifecycle", () => {
  it("accepts a run with 201 and brings it to its end", async () => {
    const created = await server.post("/v1/runs", { workflowId: "conformance-noop" });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      runId: expect.any(String),
      status: "pending",
      eventsUrl: `/v1/runs/${created.body.runId}/events`,
      statusUrl: `/v1/runs/${created.body.runId}`,
    });
    expect(created.headers.get("location")).toBe(`/v1/runs/${created.body.runId}`);
    const snapshot = await server.until(created.body.runId, "completed");
    expect(snapshot).toMatchObject({ runId: created.body.runId, status: "completed" });
    expectValid(snapshot, "run-snapshot");
  });

  it("is refused under X-Dedup while another of its scope is not over", async () => {
    const body = {
      ...{ workflowId: "conformance-cancellable", inputs: { delayMs: 10_000 } },
      scopeId: "table-7",
    };
    const only = { headers: { "x-dedup": "enforce", "idempotency-key": "of-table-7" } };
    const twice = await Promise.all([1, 2].map(() => server.post("/v1/runs", body, only)));
    expect(new Set(twice.map(({ body: { runId } }) => runId)).size).toBe(1);
    const [{ runId = "" } = {}] = twice.map((one) => one.body);
    const other = { headers: { "x-dedup": "enforce", "idempotency-key": "of-another" } };
    const refused = await server.post("/v1/runs", body, other);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([409, "1"]);
    expect(refused.body).toMatchObject({
      error: "run_already_active",
      details: { activeRunId: runId },
    });
    expectValid(refused.body, "error-envelope");
    await server.post(`/v1/runs/${runId}/cancel`);
    // Asked again under the same key, it is looked at again.
    const next = await server.post("/v1/runs", body, other);
    expect(next.status).toBe(201);
    await server.post(`/v1/runs/${next.body.runId}/cancel`);
  });

  it("is not executed by a version that a key chooses", async () => {
    const headers = { "x-force-engine-version": "2" };
    const body = { workflowId: "conformance-noop" };
    const { status, body: said } = await server.post("/v1/runs", body, { headers });
    expect([status, said.error]).toEqual([403, "force_engine_version_forbidden"]);
  });

  it("prefers 400 for a workflow that nobody knows", async () => {
    const { status, body } = await server.post("/v1/runs", { workflowId: "nothing" });
    expect(status).toBe(400);
    expect(body.error).toBe("validation_error");
  });
});

describe("identity-passthrough", () => {
  it("gives back what it was given", async () => {
    const payload = {
      text: "hello",
      list: [1, "two", { three: 3 }],
      deep: { deeper: { x: null } },
    };
    const runId = await server.run("conformance-identity", { inputs: { payload } });
    const snapshot = await server.until(runId, "completed");
    expect(snapshot["variables"]).toEqual({ payload });
  });
});

describe("event ordering", () => {
  it("numbers from 0, ends with the one terminal event, and never changes", async () => {
    const runId = await server.run("conformance-noop");
    await server.until(runId, "completed");
    const poll = `/v1/runs/${runId}/events/poll`;
    const { body: first } = await server.get(poll);
    expectValidLog(first.events);
    expect(first.isComplete).toBe(true);
    expect(first.events.map(({ type }) => type)).toEqual([
      ...["run.started", "node.started", "node.completed", "run.completed"],
    ]);
    const { body: second } = await server.get(poll);
    expect(second).toEqual(first);
    const behind = await server.get(`${poll}?lastSequence=99999&timeout=1`);
    expect(behind.status).toBe(200);
    expect(behind.body).toEqual({ events: [], isComplete: true });
  });

  it("completes the nodes in the order of the edges", async () => {
    const runId = await server.run("conformance-multi-node");
    await server.until(runId, "completed");
    const { body } = await server.get(`/v1/runs/${runId}/events/poll?lastSequence=0&timeout=1`);
    const completed = body.events.filter(({ type }) => type === "node.completed");
    expect(completed.map(({ nodeId }) => nodeId)).toEqual(["a", "b", "c"]);
  });
});

describe("failure-path", () => {
  it("ends as failed, with a code and a message", async () => {
    const runId = await server.run("conformance-failure");
    const snapshot = await server.until(runId, "failed");
    expectValid(snapshot, "run-snapshot");
    expect(snapshot["error"]).toEqual({ code: "node_failed", message: expect.any(String) });
    expectValidLog(await server.events(runId));
  });
});

describe("runtime-capabilities", () => {
  it("refuses a node that needs what the host does not provide", async () => {
    const runId = await server.run("conformance-capability-missing");
    const { error } = await server.until(runId, "failed");
    expect(error).toMatchObject({
      code: "capability_not_provided",
      message: expect.stringContaining("conformance.never-provided"),
    });
  });
});

describe("cancellation", () => {
  it("ends a running run as cancelled, and says so last", async () => {
    const runId = await server.run("conformance-cancellable", { inputs: { delayMs: 10_000 } });
    await server.until(runId, "running");
    const cancel = await server.post(`/v1/runs/${runId}/cancel`, { reason: "changed my mind" });
    expect(cancel.status).toBe(200);
    expect(cancel.body).toEqual({ runId, status: "cancelled" });
    const events = await server.events(runId);
    expectValidLog(events);
    expect(events.at(-1)).toMatchObject({
      type: "run.cancelled",
      payload: { reason: "changed my mind", cancelledBy: expect.stringMatching(/^key:/) },
    });
    const again = await server.post(`/v1/runs/${runId}/cancel`);
    expect(again.body).toEqual({ runId, status: "cancelled" });
  });

  it("leaves a run that is over as it is", async () => {
    const runId = await server.run("conformance-noop");
    await server.until(runId, "completed");
    const { status, body } = await server.post(`/v1/runs/${runId}/cancel`);
    expect([status, body.status]).toEqual([200, "completed"]);
  });

  it("cancels many at once, each for itself", async () => {
    const inputs = { delayMs: 10_000 };
    const runIds = [
      await server.run("conformance-cancellable", { inputs }),
      await server.run("conformance-cancellable", { inputs }),
    ];
    const over = await server.run("conformance-noop");
    await server.until(over, "completed");
    const asked = { runIds: [...runIds, "nothing", over], reason: "enough" };
    const { status, body } = await server.post("/v1/runs:bulk-cancel", asked);
    expect(status).toBe(200);
    expect(body["results"]).toEqual([
      { runId: runIds[0], ok: true, status: "cancelled" },
      { runId: runIds[1], ok: true, status: "cancelled" },
      { runId: "nothing", ok: false, error: expect.objectContaining({ code: "not_found" }) },
      {
        ...{ runId: over, ok: false, status: "completed" },
        error: expect.objectContaining({ code: "run_terminal" }),
      },
    ]);
    const again = await server.post("/v1/runs:bulk-cancel", { runIds: [runIds[0]] });
    expect(again.body["results"]).toMatchObject([{ ok: true, status: "cancelled" }]);
  });

  it("says how many are too many at once", async () => {
    const runIds = Array.from({ length: 101 }, (_, at) => `run-${at}`);
    const { status, body } = await server.post("/v1/runs:bulk-cancel", { runIds });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: "validation_error", details: { maxRunIds: 100 } });
    const wordy = await server.post("/v1/runs:bulk-cancel", {
      runIds: [],
      reason: "x".repeat(1025),
    });
    expect(wordy.body["message"]).toBe("/reason must be a text of at most 1024 characters");
  });
});

describe("agent events of the mock agent", () => {
  it("come in the order of a turn, paired, and valid", async () => {
    const runId = await server.run("conformance-agent-reasoning");
    await server.until(runId, "completed");
    const events = await server.events(runId);
    expectValidLog(events);
    const agents = events.filter(({ type }) => type.startsWith("agent."));
    expect(agents.map(({ type }) => type.slice("agent.".length))).toEqual([
      ...["reasoned", "toolCalled", "toolReturned", "toolCalled", "toolReturned"],
      ...["handoff", "decided"],
    ]);
    const [, called, returned, , failed, handoff] = agents;
    expect(returned?.causationId).toBe(called?.eventId);
    expect(returned?.payload).toMatchObject({
      ...{ callId: called?.payload["callId"], toolName: "openwop:search", status: "ok" },
      ...{ outcome: ["hit"], durationMs: 12 },
    });
    expect(failed?.payload).toMatchObject({ status: "error", error: { code: "full" } });
    expect(failed?.payload).not.toHaveProperty("outcome");
    expect(handoff?.payload).toMatchObject({
      fromAgentId: "core.conformance.reasoning-agent",
      toAgentId: "core.conformance.other",
    });
  });

  it("stream in pieces that make up the block", async () => {
    const runId = await server.run("conformance-agent-reasoning-streaming");
    await server.until(runId, "completed");
    const events = await server.events(runId);
    expectValidLog(events);
    const deltas = events.filter(({ type }) => type === "agent.reasoning.delta");
    expect(deltas.map(({ payload }) => payload["sequence"])).toEqual([0, 1, 2]);
    const closing = events.filter(({ type }) => type === "agent.reasoned");
    expect(closing).toHaveLength(1);
    expect(closing[0]?.payload["reasoning"]).toBe("Let me think. Yes.");
  });

  it("never come from nodes that pass things through", async () => {
    const runId = await server.run("conformance-agent-identity");
    const snapshot = await server.until(runId, "completed");
    expect(snapshot["agent"]).toEqual({
      agentId: "core.conformance.identity-agent",
      modelClass: "reasoning",
    });
    const events = await server.events(runId);
    expect(events.filter(({ type }) => type.startsWith("agent."))).toEqual([]);
    expect(events[1]?.payload).toHaveProperty("agent.agentId", "core.conformance.identity-agent");
  });

  it("keep where an agent comes from", async () => {
    const runId = await server.run("conformance-agent-pack-provenance");
    const snapshot = await server.until(runId, "completed");
    expectValid(snapshot["agent"], "agent-ref");
    expect(snapshot).toHaveProperty("agent.sourceManifestId", "core.conformance.packed");
  });
});

describe("confidence", () => {
  const FIXTURE = "conformance-agent-low-confidence";

  it("suspends below the threshold, and goes on when the decision is let stand", async () => {
    const runId = await server.run(FIXTURE);
    const waiting = await server.until(runId, "waiting-approval");
    expectValid(waiting, "run-snapshot");
    expect(waiting).toMatchObject({
      currentNodeId: "decider",
      interrupt: {
        ...{ kind: "low-confidence", nodeId: "decider" },
        data: {
          ...{ agentId: "core.conformance.low-conf-decider", threshold: 0.7, observed: 0.5 },
          decision: { kind: "book" },
        },
      },
    });
    const answer = { resumeValue: { ratified: true } };
    const path = `/v1/runs/${runId}/interrupts/decider`;
    const { status, body } = await server.post(path, answer);
    expect([status, body]).toEqual([200, { runId, nodeId: "decider", status: "resolved" }]);
    await server.until(runId, "completed");
    const events = await server.events(runId);
    expectValidLog(events);
    expect(events.map(({ type }) => type)).toEqual([
      ...["run.started", "node.started", "agent.decided", "node.suspended"],
      ...["interrupt.resolved", "agent.decided", "node.completed"],
      ...["node.started", "node.completed", "run.completed"],
    ]);
    expect(events[3]?.payload).toMatchObject({
      ...{ reason: "low-confidence", kind: "low-confidence", threshold: 0.7, observed: 0.5 },
      interruptId: events[4]?.payload["interruptId"],
    });
    expect(events[5]?.payload["decision"]).toEqual({ kind: "book" });
    expect((await server.post(path, answer)).body.error).toBe("interrupt_already_resolved");
  });

  it("completes at the threshold of the run", async () => {
    const configurable = { escalationThreshold: 0.5 };
    const runId = await server.run(FIXTURE, { configurable });
    expect((await server.until(runId, "completed", "waiting-approval")).status).toBe("completed");
  });

  it("takes another decision in place of the agent's", async () => {
    const runId = await server.run(FIXTURE);
    await server.until(runId, "waiting-approval");
    const resumeValue = { decision: { kind: "wait" } };
    await server.post(`/v1/runs/${runId}/interrupts/decider`, { resumeValue });
    await server.until(runId, "completed");
    const [, ratified] = (await server.events(runId)).filter(
      ({ type }) => type === "agent.decided",
    );
    expect(ratified?.payload["decision"]).toEqual({ kind: "wait" });
    const resolved = (await server.events(runId)).find(({ type }) => type === "interrupt.resolved");
    expect(resolved?.payload).toMatchObject({
      resolvedBy: ratified?.payload["ratifiedBy"],
      resolvedAt: expect.stringMatching(/Z$/),
    });
  });

  it("fails when the decision is turned down", async () => {
    const runId = await server.run(FIXTURE);
    await server.until(runId, "waiting-approval");
    const resumeValue = { rejected: true, reason: "too dear" };
    await server.post(`/v1/runs/${runId}/interrupts/decider`, { resumeValue });
    const snapshot = await server.until(runId, "failed");
    expect(snapshot).toHaveProperty("error.code", "decision_rejected");
    expectValidLog(await server.events(runId));
  });

  it("answers 422 once the run was cancelled, and 404 where nothing waits", async () => {
    const runId = await server.run(FIXTURE);
    await server.until(runId, "waiting-approval");
    const { status } = await server.post(`/v1/runs/${runId}/cancel`);
    expect(status).toBe(200);
    expectValidLog(await server.events(runId));
    const answer = { resumeValue: true };
    const path = `/v1/runs/${runId}/interrupts`;
    expect((await server.post(`${path}/decider`, answer)).body.error).toBe("interrupt_cancelled");
    expect((await server.post(`${path}/after`, answer)).status).toBe(404);
    expect((await server.post(`${path}/decider`, {})).status).toBe(400);
  });
});
