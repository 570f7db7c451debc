/** Runs of a whole daemon: over AGTP, over the sidecar, through reloads and kills, and nowhere a secret. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/state/open-store.ts";
import { manifestOf, shellTask } from "../support/agentcli.ts";
import { createDaemon, openDaemon, serve, type TestDaemon } from "../support/daemon.ts";
import {
  agentFile,
  configFile,
  type DeploymentFiles,
  makeDeployment,
} from "../support/deployment.ts";
import { encodeRequest, type TestReply } from "../support/dispatch.ts";
import { packFiles } from "../support/openwop.ts";
import { expectValid, expectValidLog } from "../support/openwop-runs.ts";
import { FIXTURES, node, workflow } from "../support/openwop-workflows.ts";
import { makeIssuerKey } from "../support/token-issuer.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const OPERATOR = "0".repeat(64);
const KEY = "hk_of_the_desk";
const RUN_SCOPES = ["runs:create", "runs:read", "runs:cancel", "approvals:respond"];
const SECRET = "sk-canary-rfc0064-do-not-leak-xyz789";

const API_KEY = {
  sha256: createHash("sha256").update(KEY).digest("hex"),
  tenant: "default",
  scopes: ["manifest:read", ...RUN_SCOPES],
  agtp_scopes: [],
};

function files(
  openwop: object = {},
  more: DeploymentFiles = {},
  tables: Readonly<Record<string, object>> = {},
): DeploymentFiles {
  const api_keys = [API_KEY];
  const agent = (agent_id: string, name: string, scopes_accepted = RUN_SCOPES): string =>
    agentFile({ agent_id, name, scopes_accepted });
  return {
    "agtp-server.toml": configFile({
      gateway: { enabled: true, port: 0 },
      openwop: { conformance: true, api_keys, ...openwop },
      ...tables,
    }),
    "agents/alice.agent.json": agent(ALICE, "alice"),
    "agents/bob.agent.json": agent(BOB, "bob"),
    "agents/operator.agent.json": agent(OPERATOR, "operator", ["inspect:all", ...RUN_SCOPES]),
    ...packFiles({}),
    ...Object.fromEntries(
      FIXTURES.map((one) => [`agents/openwop/workflows/${one.id}.json`, JSON.stringify(one)]),
    ),
    ...more,
  };
}

const JSON_BODY = { "content-type": "application/json" };
const PATH = { PATH: process.env["PATH"] ?? "" };

type Ask = (
  method: string,
  path: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<TestReply>;

async function callerOf(server: Pick<TestDaemon, "connect">, agentId = ALICE): Promise<Ask> {
  const client = await server.connect();
  let count = 0;
  return async (method, path, body = {}, headers = {}) => {
    client.write(
      encodeRequest({ method, path, body, headers: { "Agent-ID": agentId, ...headers } }),
    );
    count += 1;
    const reply = (await client.replies(count))[count - 1];
    if (reply === undefined) throw new Error("the daemon hung up");
    return reply;
  };
}

async function http(server: TestDaemon, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = {
    accept: "application/json",
    authorization: `Bearer ${KEY}`,
    ...(init.body === undefined ? {} : { "content-type": "application/json" }),
  };
  return fetch(`http://127.0.0.1:${server.daemon.gatewayPort}${path}`, { headers, ...init });
}

async function until(ask: Ask, runId: string, ...statuses: readonly string[]): Promise<TestReply> {
  let token = "-1";
  for (;;) {
    const reply = await ask("QUERY", `/runs/${runId}`);
    if (statuses.includes(String(reply.body["status"]))) return reply;
    const headers = token === "-1" ? {} : { "Continuation-Token": token };
    const page = await ask("QUERY", `/runs/${runId}/events`, { timeout: 10 }, headers);
    token = page.headers.get("continuation-token") ?? token;
  }
}

describe("runs over AGTP", () => {
  it("are started, read, and paged through", async () => {
    const ask = await callerOf(await openDaemon(files()));
    const started = await ask("EXECUTE", "/runs", { workflowId: "conformance-multi-node" });
    expect(started.status, started.text).toBe(202);
    const runId = String(started.body["runId"]);
    expect(started.body).toMatchObject({ status: "pending", eventsUrl: `/runs/${runId}/events` });
    const snapshot = await until(ask, runId, "completed");
    expect(snapshot.body).toMatchObject({
      owner: { tenant: "default", principal: `agtp:${ALICE}` },
    });
    const all = await ask("QUERY", `/runs/${runId}/events`);
    expectValidLog(all.body["events"] as never);
    expect(all.headers.get("continuation-token")).toBe("7");
    const rest = await ask("QUERY", `/runs/${runId}/events`, {}, { "Continuation-Token": "5" });
    expect(rest.body).toMatchObject({ events: [{ sequence: 6 }, { sequence: 7 }] });
    const behind = await ask("QUERY", `/runs/${runId}/events?lastSequence=7`);
    expect(behind.body).toEqual({ events: [], isComplete: true });
    const odd = await ask("QUERY", `/runs/${runId}/events`, {}, { "Continuation-Token": "x" });
    expect(odd.status).toBe(422);
  });

  it("are waited for as long as the caller likes", async () => {
    const ask = await callerOf(await openDaemon(files()));
    const wait_seconds = 20;
    const payload = { text: "hello" };
    const done = await ask("EXECUTE", "/runs", {
      ...{ workflowId: "conformance-identity", inputs: { payload }, wait_seconds },
    });
    expect(done.status, done.text).toBe(200);
    expect(done.body).toMatchObject({ status: "completed", result: { payload } });
    const agentId = "vendor.test.pack.agent";
    const dispatched = await ask("EXECUTE", "/runs", {
      ...{ agentId, inputs: { task: "x" }, wait_seconds },
    });
    expect(dispatched.body).toMatchObject({ status: "completed", agent: { agentId } });
    const own = await ask("EXECUTE", `/agents/${agentId}`, { task: "x", wait_seconds });
    expect(own.status, own.text).toBe(200);
    expect(own.body["result"]).toEqual(dispatched.body["result"]);
    const soon = await ask("EXECUTE", "/runs", {
      ...{ workflowId: "conformance-delay", inputs: { delayMs: 5000 }, wait_seconds: 0.05 },
    });
    expect(soon.status).toBe(202);
    expect(["pending", "running"]).toContain(soon.body["status"]);
  });

  it("are another agent's business only for operators", async () => {
    const server = await openDaemon(files());
    const ask = await callerOf(server);
    const started = await ask("EXECUTE", "/runs", {
      workflowId: "conformance-agent-low-confidence",
    });
    const runId = String(started.body["runId"]);
    await until(ask, runId, "waiting-approval");
    const bob = await callerOf(server, BOB);
    const confirm = { status: "accepted" };
    const replies = [
      await bob("QUERY", `/runs/${runId}`),
      await bob("QUERY", `/runs/${runId}/events`),
      await bob("CANCEL", `/runs/${runId}`),
      await bob("FORK", `/runs/${runId}`, { mode: "replay" }),
      await bob("CONFIRM", `/runs/${runId}/interrupts/decider`, confirm),
    ];
    const absent = await bob("QUERY", "/runs/nothing");
    for (const { status, body } of replies) {
      expect(status).toBe(404);
      expect(body).toEqual(absent.body);
    }
    const operator = await callerOf(server, OPERATOR);
    expect((await operator("QUERY", `/runs/${runId}`)).status).toBe(200);
    const nobody = await server.connect();
    nobody.write(encodeRequest({ method: "QUERY", path: `/runs/${runId}` }));
    expect((await nobody.replies(1))[0]?.status).toBe(262);
  });

  it("are cancelled, forked, and answered", async () => {
    const ask = await callerOf(await openDaemon(files()));
    const long = { workflowId: "conformance-cancellable", inputs: { delayMs: 60_000 } };
    const running = String((await ask("EXECUTE", "/runs", long)).body["runId"]);
    const cancelled = await ask("CANCEL", `/runs/${running}`, { reason: "enough" });
    expect(cancelled.body).toEqual({ runId: running, status: "cancelled" });

    const low = { workflowId: "conformance-agent-low-confidence" };
    const waiting = String((await ask("EXECUTE", "/runs", low)).body["runId"]);
    await until(ask, waiting, "waiting-approval");
    const path = `/runs/${waiting}/interrupts/decider`;
    const deferred = await ask("CONFIRM", path, { status: "deferred" });
    expect(deferred.body).toMatchObject({ confirmed: "deferred", status: "waiting-approval" });
    const receipt = await ask("CONFIRM", path, { status: "accepted", reason: "fine" });
    expect(receipt.status, receipt.text).toBe(200);
    expect(receipt.body).toMatchObject({
      runId: waiting,
      nodeId: "decider",
      confirmed: "accepted",
    });
    await until(ask, waiting, "completed");
    const events = (await ask("QUERY", `/runs/${waiting}/events`)).body["events"] as never;
    expectValidLog(events);
    expect(events).toContainEqual(
      expect.objectContaining({
        ...{ type: "interrupt.resolved", eventId: receipt.body["attestation_id"] },
      }),
    );
    const again = await ask("CONFIRM", path, { status: "accepted" });
    expect(again.status).toBe(422);
    expect(again.body).toHaveProperty("error.code", "interrupt_already_resolved");
    const late = await ask("CONFIRM", path, { status: "deferred" });
    expect(late.body).toHaveProperty("error.code", "interrupt_already_resolved");
    const given = String((await ask("EXECUTE", "/runs", low)).body["runId"]);
    await until(ask, given, "waiting-approval");
    await ask("CANCEL", `/runs/${given}`);
    for (const status of ["accepted", "deferred"]) {
      const over = await ask("CONFIRM", `/runs/${given}/interrupts/decider`, { status });
      expect(over.body).toHaveProperty("error.code", "interrupt_cancelled");
    }

    const fork = await ask("FORK", `/runs/${waiting}`, { mode: "replay" });
    expect(fork.status, fork.text).toBe(202);
    expect(fork.body).toMatchObject({ sourceRunId: waiting, mode: "replay", fromSeq: 0 });
    await until(ask, String(fork.body["runId"]), "completed");
    const past = await ask("FORK", `/runs/${waiting}`, { mode: "branch", fromSeq: 999 });
    expect(past.body).toHaveProperty("error.code", "fork_invalid_seq");
  });

  it("are refused in the words of the protocol", async () => {
    const ask = await callerOf(await openDaemon(files()));
    const unknown = await ask("EXECUTE", "/runs", { workflowId: "nothing" });
    expect([unknown.status, unknown.body["error"]?.["code"]]).toEqual([422, "validation_error"]);
    const nobody = await ask("EXECUTE", "/runs", { agentId: "vendor.no.such" });
    expect([nobody.status, nobody.body["error"]?.["code"]]).toEqual([404, "agent_not_found"]);
    const odd = await ask("EXECUTE", "/runs", { workflowId: "conformance-noop", surprise: 1 });
    expect(odd.body["error"]?.["code"]).toBe("schema-validation-failed");
  });

  it("are one for one Idempotency-Key", async () => {
    const ask = await callerOf(await openDaemon(files()));
    const body = { workflowId: "conformance-noop", idempotency_key: "once" };
    const [first, second] = [
      await ask("EXECUTE", "/runs", body),
      await ask("EXECUTE", "/runs", body),
    ];
    expect(second?.body["runId"]).toBe(first?.body["runId"]);
  });

  it("are found by QUERY, and by nobody else's", async () => {
    const server = await openDaemon(files());
    const ask = await callerOf(server);
    const started = await ask("EXECUTE", "/runs", { workflowId: "conformance-noop" });
    const query = { intent: "run of conformance-noop", scope: "openwop-run" };
    const found = await ask("QUERY", "/", query);
    expect(found.text).toContain(String(started.body["runId"]));
    const bob = await callerOf(server, BOB);
    expect((await bob("QUERY", "/", query)).text).not.toContain(String(started.body["runId"]));
  });

  it.each([true, false])(
    "are listed behind the sidecar, unless tokens tell people apart: %s",
    async (isToldApart) => {
      const key = await makeIssuerKey();
      const oauth = { issuer: "https://id.example", jwks_file: "jwks.json" };
      const server = await openDaemon(
        files(
          {},
          { "jwks.json": JSON.stringify({ keys: [key.jwk] }) },
          {
            gateway: { enabled: true, port: 0, agent: "alice" },
            ...(isToldApart && { policies: { oauth } }),
          },
        ),
      );
      const ask = await callerOf(server);
      const started = await ask("EXECUTE", "/runs", { workflowId: "conformance-noop" });
      const runId = String(started.body["runId"]);
      const query = { intent: "run of conformance-noop", scope: "openwop-run" };
      expect((await ask("QUERY", "/", query)).text).toContain(runId);
      const found = await fetch(`http://127.0.0.1:${server.daemon.gatewayPort}/query`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(query),
      });
      expect(found.status).toBe(200);
      expect((await found.text()).includes(runId)).toBe(!isToldApart);
    },
  );
});

describe("the sidecar", () => {
  it("shows the runs of AGTP callers to keys of their tenant, and its own to them", async () => {
    const server = await openDaemon(files());
    const ask = await callerOf(server);
    const started = await ask("EXECUTE", "/runs", { workflowId: "conformance-noop" });
    const runId = String(started.body["runId"]);
    await until(ask, runId, "completed");
    const overHttp = await (await http(server, `/v1/runs/${runId}`)).json();
    expect(overHttp).toEqual((await ask("QUERY", `/runs/${runId}`)).body);
    const events = await (await http(server, `/v1/runs/${runId}/events`)).json();
    expect(events).toEqual((await ask("QUERY", `/runs/${runId}/events`)).body);
  });

  it("serves the face beside the AGTP endpoints, and lists it", async () => {
    const server = await openDaemon(files());
    const discovery = await http(server, "/.well-known/openwop", { headers: {} });
    expect(discovery.status).toBe(200);
    expect(await discovery.json()).toMatchObject({
      agents: { manifestRuntime: { supported: true } },
    });
    expect((await http(server, "/v1/openapi.json", { headers: {} })).status).toBe(200);
    expect((await http(server, "/v1/runs/x", { headers: {} })).status).toBe(401);
    // Whatever is wrong with a request, the envelope is the face's own.
    for (const [path, method, status] of [
      ["/v1/runs/%E0%A4%A", "GET", 404],
      ["/.well-known/openwop", "POST", 405],
      ["/.well-known/openwop/more", "GET", 404],
    ] as const) {
      const no = await http(server, path, { method });
      expect([path, no.status]).toEqual([path, status]);
      expectValid(await no.json(), "error-envelope");
    }
    const created = await http(server, "/v1/runs", {
      ...{ method: "POST", body: '{"workflowId":"conformance-noop"}' },
    });
    expect(created.status).toBe(201);
    const { runId } = (await created.json()) as { runId: string };
    const stream = await http(server, `/v1/runs/${runId}/events`, {
      headers: { authorization: `Bearer ${KEY}`, accept: "text/event-stream" },
    });
    expect(stream.headers.get("server-id")).toBe("test");
    expect(await stream.text()).toContain("event: run.completed");
    const ask = await callerOf(server);
    expect((await ask("DISCOVER", "/apis")).text).toContain('"openwop"');
  });

  it("starts nothing for clients that nobody vouches for, unless an operator names its agent", async () => {
    const task = shellTask("echo", ["hi"]);
    const more = { "agents/ops.json": JSON.stringify(manifestOf([task])) };
    const agentcli = { manifests: ["agents/ops.json"], expose: ["w1"] };
    const asked = [
      ["/agents/vendor.test.pack.agent/execute", { task: "x" }, 202],
      ["/runs/execute", { workflowId: "conformance-noop" }, 202],
      ["/workflows/wf:w1/task:t1/execute", {}, 200],
    ] as const;
    for (const agent of [undefined, "alice"]) {
      const gateway = { enabled: true, port: 0, ...(agent === undefined ? {} : { agent }) };
      const server = await openDaemon(files({}, more, { gateway, agentcli }), PATH);
      for (const [path, body, status] of asked) {
        const init = { method: "POST", body: JSON.stringify(body) };
        const response = await http(server, path, { ...init, headers: JSON_BODY });
        expect([path, response.status]).toEqual([path, agent === undefined ? 401 : status]);
        if (agent !== undefined) continue;
        expect(await response.json()).toMatchObject({ error: { code: "credentials-missing" } });
      }
      const listed = await http(server, "/agents/query", { method: "POST", body: "{}" });
      expect(listed.status).toBe(200);
    }
  });

  it("has no face where there is nothing to run", async () => {
    const server = await openDaemon({
      "agtp-server.toml": configFile({ gateway: { enabled: true, port: 0 } }),
    });
    expect((await http(server, "/.well-known/openwop")).status).toBe(404);
  });
});

async function escalationOf(operator: Ask, runId: string): Promise<Record<string, unknown>> {
  for (;;) {
    const { body } = await operator("QUERY", "/escalations", { status: "all" });
    const all = body["result"]?.["escalations"] as unknown as readonly Record<string, unknown>[];
    const found = all.find((one) => JSON.stringify(one).includes(runId));
    if (found !== undefined) return found;
  }
}

const GATED = {
  "agents/openwop/workflows/gated.json": JSON.stringify(
    workflow("gated", [
      node("ask", "core.clarificationGate", {
        config: { questions: [{ id: "size", question: "Which?" }] },
      }),
      node("gate", "core.approvalGate", { config: { title: "Go on?" } }),
    ]),
  ),
  "agents/openwop/workflows/outer.json": JSON.stringify(
    workflow("outer", [node("call", "core.subWorkflow", { config: { workflowId: "gated" } })]),
  ),
};

describe("a gate", () => {
  it("asks the agent that began the run for answers, and others for their consent", async () => {
    const server = await openDaemon(files({}, GATED));
    const ask = await callerOf(server);
    const operator = await callerOf(server, OPERATOR);
    const started = await ask("EXECUTE", "/runs", { workflowId: "gated", wait_seconds: 5 });
    expect(started.body).toMatchObject({
      ...{ status: "waiting-input", interrupt: { kind: "clarification", nodeId: "ask" } },
    });
    const runId = String(started.body["runId"]);
    const path = (node: string): string => `/runs/${runId}/interrupts/${node}`;
    const plain = await ask("CONFIRM", path("ask"), { status: "accepted" });
    expect([plain.status, plain.body["error"]?.["code"]]).toEqual([422, "validation_error"]);
    const answered = await ask("CONFIRM", path("ask"), {
      ...{ status: "accepted", resume_value: { answers: { size: "large" } } },
    });
    expect(answered.status, answered.text).toBe(200);
    await until(ask, runId, "waiting-approval");
    const own = await ask("CONFIRM", path("gate"), { status: "accepted" });
    expect(own.status).toBe(403);
    const others = await operator("CONFIRM", path("gate"), { status: "accepted", reason: "fine" });
    expect(others.status, others.text).toBe(200);
    const done = await until(ask, runId, "completed", "failed");
    expect(done.body).toMatchObject({ status: "completed", outputs: { comment: "fine" } });
    const events = (await ask("QUERY", `/runs/${runId}/events`)).body["events"] as never;
    expectValidLog(events);
  });

  it.each([
    ["accepted", "completed"],
    ["rejected", "failed"],
  ])("is in the operators' queue, also of a run within a run, and %s there", async (word, end) => {
    const server = await openDaemon(files({}, GATED));
    const ask = await callerOf(server);
    const operator = await callerOf(server, OPERATOR);
    const started = await ask("EXECUTE", "/runs", { workflowId: "outer" });
    const outer = String(started.body["runId"]);
    let runId: string | undefined;
    while (runId === undefined) {
      const { body } = await ask("QUERY", `/runs/${outer}`);
      runId = (body["nodeStates"]?.["call"] as { childRunId?: string } | undefined)?.childRunId;
    }
    await until(ask, runId, "waiting-input");
    await ask("CONFIRM", `/runs/${runId}/interrupts/ask`, {
      ...{ status: "accepted", resume_value: { answers: { size: "small" } } },
    });
    const escalation = await escalationOf(operator, runId);
    expect(escalation).toMatchObject({ reason: "scope_limit", agent_id: ALICE });
    const confirmed = await operator("CONFIRM", "/", {
      ...{ target_id: escalation["escalation_id"], status: word },
    });
    expect(confirmed.status, confirmed.text).toBe(200);
    expect((await until(ask, outer, "completed", "failed")).body["status"]).toBe(end);
  });
});

describe("an agent that is not sure", () => {
  const unsure = {
    ...packFiles({ agents: [{ toolAllowlist: [] }] }),
    "agents/turn.mjs": `export const turn = async () =>
      ({ decision: { book: true }, confidence: 0.2, result: { reply: "booked" }, reasoning: "hm" });`,
  };
  const openwop = { runtime: { kind: "function", function: "agents.turn.turn" } };

  async function open(): Promise<{ server: TestDaemon; ask: Ask; operator: Ask; runId: string }> {
    const server = await openDaemon(files(openwop, unsure));
    const ask = await callerOf(server);
    const started = await ask("EXECUTE", "/agents/vendor.test.pack.agent", { task: "a room" });
    const runId = String(started.body["runId"]);
    await until(ask, runId, "waiting-approval");
    return { server, ask, runId, operator: await callerOf(server, OPERATOR) };
  }

  it("is in the operators' queue, whose word the run takes", async () => {
    const { ask, operator, runId } = await open();
    const escalation = await escalationOf(operator, runId);
    expect(escalation).toMatchObject({
      ...{ reason: "confidence_threshold", status: "pending_review" },
      context: { threshold: 0.7, observed: 0.2 },
    });
    const confirmed = await operator("CONFIRM", "/", {
      ...{ target_id: escalation["escalation_id"], status: "accepted" },
    });
    expect(confirmed.status, confirmed.text).toBe(200);
    const snapshot = await until(ask, runId, "completed");
    expect(snapshot.body).toHaveProperty("outputs.result", { reply: "booked" });
  });

  it("leaves the queue when the run is answered, or cancelled, where it waits", async () => {
    const { ask, operator, runId } = await open();
    await escalationOf(operator, runId);
    await ask("CONFIRM", `/runs/${runId}/interrupts/agent`, { status: "rejected" });
    let status: unknown = "pending_review";
    while (status === "pending_review") ({ status } = await escalationOf(operator, runId));
    expect(status).toBe("rejected");
    expect((await until(ask, runId, "failed")).body).toHaveProperty(
      "error.code",
      "decision_rejected",
    );
  });

  it("leaves the queue at the next start where a crash kept the answer from it", async () => {
    const deployment = makeDeployment(files(openwop, unsure));
    const server = await createDaemon(deployment);
    const ask = await callerOf(server);
    const started = await ask("EXECUTE", "/agents/vendor.test.pack.agent", { task: "a room" });
    const runId = String(started.body["runId"]);
    await until(ask, runId, "waiting-approval");
    await escalationOf(await callerOf(server, OPERATOR), runId);
    await ask("CONFIRM", `/runs/${runId}/interrupts/agent`, { status: "accepted" });
    await server.close();
    const path = join(deployment.directory, ".agtp/state.db");
    const { store } = await openStore({ driver: "sqlite", path }, "");
    const [kept] = (await store?.list("escalations")) ?? [];
    if (store === undefined || kept === undefined) throw new Error("no escalation was kept");
    const { decision: _, ...before } = kept.value as Record<string, unknown>;
    const { key } = kept;
    const value = { ...before, status: "pending_review" };
    await store.commit([{ kind: "put", collection: "escalations", key, value }]);
    await store.close();
    const again = await serve(deployment);
    const operator = await callerOf(again, OPERATOR);
    let found = await escalationOf(operator, runId);
    while (found["status"] === "pending_review") found = await escalationOf(operator, runId);
    expect(found).toMatchObject({
      ...{ status: "accepted", decision: { reason: `answered by agtp:${ALICE}` } },
    });
  });

  it("is told to people at once, and so is the word that the run was given", async () => {
    const upstream = await receiveWebhooks();
    const webhooks = { escalations: upstream.url };
    const server = await openDaemon(files(openwop, unsure, { webhooks }));
    const ask = await callerOf(server);
    const started = await ask("EXECUTE", "/agents/vendor.test.pack.agent", { task: "a room" });
    const runId = String(started.body["runId"]);
    expect(await upstream.next()).toMatchObject({
      type: "escalation.opened",
      escalation: { context: { openwop_run: { runId } } },
    });
    await ask("CONFIRM", `/runs/${runId}/interrupts/agent`, { status: "accepted" });
    expect(await upstream.next()).toMatchObject({
      type: "escalation.decided",
      escalation: { status: "accepted", decision: { reason: `answered by agtp:${ALICE}` } },
    });
  });

  it("is not spoken for by an escalation that somebody made up", async () => {
    const { server, ask, operator, runId } = await open();
    const real = await escalationOf(operator, runId);
    const { context } = real as { context: object };
    const bob = await callerOf(server, BOB);
    const forged = await bob("ESCALATE", "/", {
      ...{ task_id: "t", reason: "confidence_threshold", context },
    });
    const target_id = forged.body["result"]?.["escalation_id"];
    await operator("CONFIRM", "/", { target_id, status: "accepted" });
    expect((await ask("QUERY", `/runs/${runId}`)).body["status"]).toBe("waiting-approval");
  });
});

/** Takes webhooks on this machine, and hands them out one by one. */
async function receiveWebhooks() {
  const received: unknown[] = [];
  let wake = (): void => undefined;
  const server = createServer(async (request, response) => {
    received.push(JSON.parse(await text(request)));
    response.writeHead(204).end();
    wake();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async next(): Promise<unknown> {
      while (received.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return received.shift();
    },
  };
}

describe("an agent that is not sure, and asks itself", () => {
  it("does not answer its own doubt, whatever it holds; an operator does", async () => {
    const name = "vendor.test.pack.agent";
    const self = "e".repeat(64);
    const turn = "export const turn = () => ({ confidence: 2, result: 1 });";
    const scopes_accepted = [...RUN_SCOPES, "inspect:all"];
    const server = await openDaemon(
      files(
        { runtime: { kind: "function", function: "agents.turn.turn" } },
        {
          "agents/turn.mjs": turn,
          "agents/self.agent.json": agentFile({ agent_id: self, name, scopes_accepted }),
        },
      ),
    );
    const ask = await callerOf(server, self);
    const started = await ask("EXECUTE", `/agents/${name}`, { task: "a room" });
    const runId = String(started.body["runId"]);
    await until(ask, runId, "waiting-approval");
    // 2 is no confidence: it counted as none, and was reported.
    expect(server.log).toContainEqual(
      expect.objectContaining({ event: "agent-confidence-out-of-range", stated: "2" }),
    );
    const path = `/runs/${runId}/interrupts/agent`;
    for (const status of ["accepted", "rejected", "deferred"]) {
      const refused = await ask("CONFIRM", path, { status });
      expect(refused.status, refused.text).toBe(403);
      expect(refused.body["error"]?.["code"]).toBe("confirmation-forbidden");
    }
    const operator = await callerOf(server, OPERATOR);
    const answered = await operator("CONFIRM", path, { status: "accepted" });
    expect(answered.status, answered.text).toBe(200);
    await until(ask, runId, "completed");
  });
});

describe("the endpoints of runs", () => {
  it("declare the scopes that they need, and the errors that they answer", async () => {
    const ask = await callerOf(await openDaemon(files()));
    const accept = { Accept: "application/vnd.agtp.manifest+json" };
    const all = [...eachEndpoint(JSON.parse((await ask("DISCOVER", "/", {}, accept)).text))];
    const find = (method: string, path: string) =>
      all.find((one) => one["method"] === method && one["path"] === path);
    for (const [method, path, scopes, error] of [
      ["EXECUTE", "/runs", ["runs:create"], "validation_error"],
      ["EXECUTE", "/agents/vendor.test.pack.agent", ["runs:create"], "agent_pin_mismatch"],
      ["EXECUTE", "/agents/{agent_id}", ["runs:create"], "agent_not_found"],
      ["QUERY", "/runs/{run_id}", ["runs:read"], "run_not_found"],
      ["QUERY", "/runs/{run_id}/events", ["runs:read"], "validation_error"],
      ["CANCEL", "/runs/{run_id}", ["runs:cancel"], "run_not_found"],
      ["FORK", "/runs/{run_id}", ["runs:create", "runs:read"], "fork_invalid_seq"],
      [
        "CONFIRM",
        "/runs/{run_id}/interrupts/{node_id}",
        ["approvals:respond"],
        "interrupt_already_resolved",
      ],
    ] as const) {
      const endpoint = find(method, path);
      expect([method, path, endpoint?.["required_scopes"]]).toEqual([method, path, scopes]);
      expect(endpoint?.["errors"], path).toContain(error);
    }
    const cancel = find("CANCEL", "/runs/{run_id}");
    expect(cancel?.["semantic"]).toMatchObject({ impact: "irreversible" });
    expect(find("QUERY", "/agents/{agent_id}")).toBeDefined();
  });

  it("describe an agent of a pack with its tools", async () => {
    const toolAllowlist = ["agtp:QUERY /agents", "mcp:weather"];
    const pack = packFiles({ agents: [{ toolAllowlist }] });
    const ask = await callerOf(await openDaemon(files({}, pack)));
    const described = await ask("DESCRIBE", "/agents/vendor.test.pack.agent");
    expect(described.body["result"]?.["tools"]).toEqual(toolAllowlist);
    const plain = await ask("DESCRIBE", `/agents/${BOB}`);
    expect(plain.body["result"]?.["tools"]).toEqual([]);
  });
});

/** Every endpoint anywhere in a document. */
function* eachEndpoint(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return;
  const record = value as Record<string, unknown>;
  if (typeof record["method"] === "string" && typeof record["path"] === "string") yield record;
  for (const one of Object.values(record)) yield* eachEndpoint(one);
}

describe("secrets", () => {
  it("that stand where names belong are neither sent back nor written down", async () => {
    const server = await openDaemon(files());
    const ask = await callerOf(server);
    const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl";
    const replies = [];
    for (const canary of [SECRET, jwt]) {
      replies.push(
        await ask("EXECUTE", "/runs", { workflowId: canary }),
        await ask("EXECUTE", "/runs", { agentId: canary, idempotency_key: "once" }),
        await ask("EXECUTE", "/runs", { [canary]: 1 }),
        await ask("EXECUTE", "/runs", { workflowId: "conformance-noop", tags: { [canary]: 1 } }),
        await ask("EXECUTE", "/agents/vendor.test.pack.agent", { task: 1, [canary]: 1 }),
        await ask("EXECUTE", `/agents/${canary}`, { task: 1, [canary]: 1 }),
        await ask("QUERY", `/runs/${canary}`),
        await ask("CANCEL", `/runs/${canary}`, { [canary]: 1 }),
      );
    }
    for (const { status, text } of replies) {
      expect(status, text).toBeGreaterThanOrEqual(400);
      for (const canary of [SECRET, jwt]) expect(text).not.toContain(canary);
    }
    expect(replies[2]?.text).toContain("[REDACTED:api-key]");
    await server.close();
    for (const canary of [SECRET, jwt]) {
      expect(JSON.stringify(server.log)).not.toContain(canary);
      for (const path of everyFile(join(server.directory, ".agtp"))) {
        expect(readFileSync(path).includes(canary), path).toBe(false);
      }
    }
  });

  it("that are planted in inputs and options are found nowhere", async () => {
    const server = await openDaemon(files());
    const ask = await callerOf(server);
    const task = { note: `use ${SECRET}`, agent: ALICE };
    const body = {
      ...{ agentId: "vendor.test.pack.agent", inputs: { task }, wait_seconds: 20 },
      ...{ metadata: { key: SECRET }, tags: [SECRET], configurable: { hint: SECRET } },
    };
    const done = await ask("EXECUTE", "/runs", body);
    expect(done.status, done.text).toBe(200);
    const runId = String(done.body["runId"]);
    const seen = [
      done.text,
      (await ask("QUERY", `/runs/${runId}/events`)).text,
      await (await http(server, `/v1/runs/${runId}`)).text(),
      JSON.stringify(server.log),
    ].join("\n");
    expect(seen).not.toContain(SECRET);
    expect(seen).toContain(ALICE);
    await server.close();
    const state = join(server.directory, ".agtp");
    for (const name of readdirSync(state).filter((one) => one.startsWith("state.db"))) {
      expect(readFileSync(join(state, name)).includes(SECRET), name).toBe(false);
    }
  });
});

describe("a reload", () => {
  it("ends no run, and executes what comes after it", async () => {
    const server = await openDaemon(files());
    const ask = await callerOf(server);
    const delayed = { workflowId: "conformance-delay", inputs: { delayMs: 300 } };
    const before = String((await ask("EXECUTE", "/runs", delayed)).body["runId"]);
    expect(await server.daemon.reload()).toEqual([]);
    const again = await callerOf(server);
    const after = String((await again("EXECUTE", "/runs", delayed)).body["runId"]);
    for (const runId of [before, after]) {
      expect((await until(again, runId, "completed")).body["status"]).toBe("completed");
    }
  });
});

describe("a stream of events whose key is good for it no more after a reload", () => {
  it.each([
    ["since it was taken away", { api_keys: [] }],
    ["since it reads no runs", { api_keys: [{ ...API_KEY, scopes: ["runs:create"] }] }],
    ["since it is another tenant's", { api_keys: [{ ...API_KEY, tenant: "other" }] }],
  ])("ends, %s", async (_, openwop) => {
    const server = await openDaemon(files());
    const ask = await callerOf(server);
    const delayed = { workflowId: "conformance-delay", inputs: { delayMs: 60_000 } };
    const runId = String((await ask("EXECUTE", "/runs", delayed)).body["runId"]);
    const headers = { accept: "text/event-stream", authorization: `Bearer ${KEY}` };
    const stream = await http(server, `/v1/runs/${runId}/events`, { headers });
    expect(stream.status).toBe(200);
    const configPath = join(server.directory, "agtp-server.toml");
    writeFileSync(configPath, String(files(openwop)["agtp-server.toml"]));
    expect(await server.daemon.reload()).toEqual([]);
    const told = await stream.text();
    expect(told).not.toContain("event: run.completed");
    expect(told).not.toContain("the server is stopping");
  });
});

describe("a drain", () => {
  it("ends event streams with a word, and answers whoever only waits for a run", async () => {
    const limits = { limits: { drain_timeout_ms: 60_000 } };
    const server = await openDaemon(files({}, {}, limits));
    const ask = await callerOf(server);
    const waiting = await callerOf(server);
    const delayed = { workflowId: "conformance-delay", inputs: { delayMs: 60_000 } };
    const runId = String((await ask("EXECUTE", "/runs", delayed)).body["runId"]);
    const accept = "text/event-stream";
    const headers = { accept, authorization: `Bearer ${KEY}` };
    const stream = await http(server, `/v1/runs/${runId}/events`, { headers });
    const poll = http(server, `/v1/runs/${runId}/events/poll?lastSequence=9&timeout=25`);
    const events = waiting("QUERY", `/runs/${runId}/events`, { lastSequence: 9, timeout: 25 });
    const started = ask("EXECUTE", "/runs", { ...delayed, wait_seconds: 25 });
    // The run that is waited for is there.
    while ((await listed(server)) < 2) await new Promise(setImmediate);
    await server.daemon.drain();
    expect(await stream.text()).toMatch(/\n: the server is stopping\nretry: 2000\n\n$/);
    expect(await (await poll).json()).toEqual({ events: [], isComplete: false });
    expect((await events).body).toEqual({ events: [], isComplete: false });
    expect(await started).toMatchObject({ status: 202, body: { status: expect.any(String) } });
  });
});

/** How many runs there are of callers over AGTP. */
async function listed(server: TestDaemon): Promise<number> {
  const ask = await callerOf(server);
  const found = await ask("QUERY", "/", { intent: "runs", scope: "openwop-run" });
  const { result } = JSON.parse(found.text);
  return result.results.length;
}

function everyFile(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true })
    .map((name) => join(directory, String(name)))
    .filter((path) => statSync(path).isFile());
}
