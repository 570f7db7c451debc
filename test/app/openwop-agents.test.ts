/** Agents of packs on a whole server: found, dispatched, acting in their own name. */
import { generateKeyPairSync } from "node:crypto";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkDeployment } from "../../src/app/daemon.ts";
import type { JsonRecord } from "../../src/base/json-value.ts";
import { createLog } from "../../src/base/log.ts";
import type { DispatchOptions } from "../../src/modules/openwop/agent-endpoints.ts";
import type { AgentEvent, AgentOutcome } from "../../src/modules/openwop/agent-executor.ts";
import type { RunLog } from "../../src/modules/openwop/runs/run-log.ts";
import { initialState, type RunState } from "../../src/modules/openwop/runs/run-state.ts";
import { askOnce, createDaemon, serve } from "../support/daemon.ts";
import {
  agentFile,
  configFile,
  type DeploymentFiles,
  ECHO_MODULE,
  endpointFile,
  makeDeployment,
} from "../support/deployment.ts";
import { encodeRequest, openServer, type TestServer } from "../support/dispatch.ts";
import { packFile, packFiles } from "../support/openwop.ts";
import { type HostingServer, openHosting } from "../support/openwop-hosting.ts";
import { node, workflow } from "../support/openwop-workflows.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const AGENT = "vendor.test.pack.agent";
const FIXTURE = join(import.meta.dirname, "../exchanges/deployment/packs");
const BOOK = "agtp:BOOK /room";

/** Books a room by the one tool that it has, and says what came of it. */
const TURN_MODULE = `
export const turn = async ({ tools, task, callTool }) => ({
  result: await callTool(tools[0]?.toolId ?? "none", task ?? {}),
  confidence: 0.9,
});
export const broken = 7;
`;

function filesOf(
  openwop: Readonly<Record<string, unknown>> = {},
  more: DeploymentFiles = {},
  tables: Readonly<Record<string, object>> = {},
): DeploymentFiles {
  return {
    "agtp-server.toml": configFile({ openwop, ...tables }),
    "agents/alice.agent.json": agentFile({
      ...{ agent_id: ALICE, name: "alice", trust_tier: 1, scopes_accepted: ["runs:create"] },
    }),
    "agents/bob.agent.json": agentFile({
      ...{ agent_id: BOB, name: "bob", scopes_accepted: ["booking:*", "runs:create"] },
    }),
    "handlers.mjs": ECHO_MODULE,
    "turns.mjs": TURN_MODULE,
    "endpoints/book.toml": endpointFile({
      ...{ method: "BOOK", path: "/room", required_scopes: ["booking:room"] },
      properties: { nights: { type: "integer" } },
    }),
    ...more,
  };
}

const BY_FUNCTION = { runtime: { kind: "function", function: "turns.turn" } };

/** What a run was asked for with, and for how long its caller waited. */
interface RunRequest extends JsonRecord {
  readonly waitMs?: number;
}

/** A server whose runs stand as a test says. */
async function openWithRuns(
  state: Partial<RunState>,
  files = filesOf({}, packFiles({})),
): Promise<{ readonly server: TestServer; readonly requests: readonly RunRequest[] }> {
  const requests: RunRequest[] = [];
  const owner = { tenant: "default", principal: `agtp:${BOB}`, scopes: [] };
  const run = {
    ...{ runId: "r1", workflow: workflow("w", [node("agent", "core.agent")]), owner },
    ...{ inputs: {}, configurable: {}, tags: [], metadata: {}, createdAt: 0 },
  };
  const standing = { ...initialState(run), ...state };
  const log = { run, state: standing, atRest: () => Promise.resolve() } as unknown as RunLog;
  const host: DispatchOptions["host"] = {
    create: (body, by) => {
      requests.push({ ...body, owner: by });
      return Promise.resolve(log);
    },
    whileServing: (signal, waitMs = Number.POSITIVE_INFINITY) => {
      requests.push({ ...requests.pop(), waitMs });
      return { signals: [signal] };
    },
  };
  return { server: await openHosting(files, host), requests };
}

function execute(server: TestServer, body: unknown, agentId = AGENT, caller = ALICE) {
  const headers = { "agent-id": caller };
  return server.send({ method: "EXECUTE", path: `/agents/${agentId}`, headers, body });
}

/** Has the server's own executor take a turn, with the scopes of whoever started the run. */
async function takeTurn(
  { openwop }: HostingServer,
  task: unknown,
  scopes: readonly string[],
): Promise<{ readonly outcome: AgentOutcome; readonly events: readonly AgentEvent[] }> {
  const events: AgentEvent[] = [];
  const outcome = await openwop.executor.takeTurn({
    ...{ agentId: AGENT, task, configurable: {}, runId: "run-7", nodeId: "agent" },
    owner: { tenant: "default", principal: `agtp:${BOB}`, agentId: BOB, scopes },
    signal: new AbortController().signal,
    emit: (event) => {
      events.push(event);
      return Promise.resolve(`event-${events.length}`);
    },
  });
  return { outcome, events };
}

describe("the inventory", () => {
  it("is one list of closed entries, sorted, with neither prompts nor schemas", async () => {
    const deployment = makeDeployment(filesOf());
    cpSync(FIXTURE, join(deployment.directory, "agents/openwop"), { recursive: true });
    const daemon = await serve(deployment);
    const reply = await askOnce(daemon, { method: "QUERY", path: "/agents" });
    const { agents, total } = JSON.parse(reply?.text ?? "{}");
    const ids: readonly string[] = agents.map((one: { agentId: string }) => one.agentId);
    expect(total).toBe(5);
    expect(ids).toEqual(ids.toSorted());
    expect(reply?.text).not.toMatch(/You are|prompt|\$defs|Ref/);
    expect(agents[0]).toEqual({
      agentId: "core.harbour.clerk.default",
      ...{ persona: "Harbour Clerk", label: "Clerk", modelClass: "classification" },
      description: "Says how urgent a guest's request is, and who is to see to it.",
      ...{ packName: "core.harbour.clerk", packVersion: "1.2.0", hasHandoffSchemas: true },
      toolAllowlist: [BOOK, "agtp:QUERY /rooms", "openwop:fs.read"],
      ...{ memoryShape: { scratchpad: true }, confidenceThreshold: 0.6 },
    });
    expect(agents[2]).toMatchObject({
      memoryDegraded: true,
      degradedMemoryDimensions: ["read", "write", "long-term-durability"],
    });
  });

  it("is without secrets, and so is whatever else is told of an agent", async () => {
    const secret = "sk-canary-rfc0064-do-not-leak-xyz789";
    const told = { persona: `P ${secret}`, label: secret, description: `Uses ${secret}.` };
    const agent = { ...told, toolAllowlist: [`mcp:${secret}`], requiresCapabilities: [secret] };
    const server = await openServer(filesOf({}, packFiles({ agents: [agent] })));
    const path = `/agents/${AGENT}`;
    const asked = [
      ...[{ path: "/agents" }, { path }].map((one) => ({ ...one, method: "QUERY" })),
      ...["FETCH", "DESCRIBE"].map((method) => ({ method, path })),
      ...["/", "/agents", "/methods", "/tools"].map((one) => ({ method: "DISCOVER", path: one })),
    ];
    for (const one of asked) {
      const { status, text } = await server.send(one);
      expect(status, one.method).toBe(200);
      expect(text).not.toContain("canary");
    }
    expect((await server.send({ method: "FETCH", path })).body["description"]).toBe(
      "Uses [REDACTED:api-key].",
    );
  });

  it("is empty where agents are not disclosed", async () => {
    const files = filesOf({}, packFiles({}), { agents: { disclosure: "private" } });
    const server = await openServer(files);
    const list = await server.send({ method: "QUERY", path: "/agents" });
    expect(list.body).toEqual({ agents: [], total: 0 });
    const entry = await server.send({ method: "QUERY", path: `/agents/${AGENT}` });
    expect(entry.status).toBe(404);
    // One that AGTP hosts is in the words that nobody is in, but to itself.
    for (const method of ["QUERY", "FETCH", "DESCRIBE"]) {
      const [alice, nobody] = [
        await server.send({ method, path: "/agents/alice" }),
        await server.send({ method, path: "/agents/nobody" }),
      ];
      expect([alice.status, alice.body]).toEqual([404, nobody.body]);
      const headers = { "Agent-ID": ALICE };
      expect((await server.send({ method, path: "/agents/alice", headers })).status).toBe(200);
    }
  });

  it("is the tenant's own where packs are the tenants'", async () => {
    const pack = (name: string): string =>
      JSON.stringify(packFile({ name, agents: [{ agentId: `${name}.agent` }] }));
    const server = await openHosting(
      filesOf(
        { install_scope: "tenant", tenant: "acme" },
        {
          "agents/openwop/acme/one/pack.json": pack("vendor.acme.one"),
          "agents/openwop/bolt/two/pack.json": pack("vendor.bolt.two"),
        },
      ),
    );
    const list = await server.send({ method: "QUERY", path: "/agents" });
    expect(list.text).toContain("vendor.acme.one.agent");
    expect(list.text).not.toContain("bolt");
    const other = await server.send({ method: "QUERY", path: "/agents/vendor.bolt.two.agent" });
    expect([other.status, other.body["error"]?.["code"]]).toEqual([404, "agent_not_found"]);
    const none = await server.send({ method: "QUERY", path: "/agents/nobody" });
    expect([none.status, none.body["error"]?.["code"]]).toEqual([404, "agent_not_found"]);
    const { catalog } = server.openwop;
    expect(catalog.inventory("bolt").map(({ agentId }) => agentId)).toEqual([
      "vendor.bolt.two.agent",
    ]);
    const agents = await server.send({ method: "DISCOVER", path: "/agents" });
    expect(agents.text).not.toContain("bolt");
  });
});

describe("an agent", () => {
  it("is an endpoint with its own schemas, listed like any other", async () => {
    const files = packFiles(
      { agents: [{ handoff: { taskSchemaRef: "t.json", returnSchemaRef: "r.json" } }] },
      {
        "t.json":
          '{"$id": "https://x.example/t", "$ref": "#/$defs/t", "$defs": {"t": {"type": "number"}}}',
        "r.json": '{"type": "string"}',
      },
    );
    const server = await openServer(filesOf({}, files));
    const methods = await server.send({ method: "DISCOVER", path: "/methods" });
    const manifest = await server.send({ method: "DISCOVER" });
    expect(methods.text).toContain(`"/agents/${AGENT}"`);
    expect(manifest.body["hosted_protocols"]).toEqual([
      { protocol: "openwop", method: "EXECUTE", path: "/agents/{agent_id}" },
    ]);
    const { endpoints } = JSON.parse(manifest.text);
    const endpoint = endpoints.find((one: { path: string }) => one.path === `/agents/${AGENT}`);
    expect(endpoint).toMatchObject({
      method: "EXECUTE",
      semantic: { actor: "agent", capability: "domain_spanning", confidence: 0.7 },
      input_schema: {
        required: ["task"],
        properties: { task: { $ref: "#/properties/task/$defs/t" } },
      },
      output_schema: { properties: { result: { type: "string" } } },
      handler: { type: "registered_function" },
    });
    expect(endpoint.errors).toContain("handoff_return_schema_violation");
    const tools = await server.send({ method: "DISCOVER", path: "/tools" });
    expect(tools.text).toContain("execute_agents_vendor_test_pack_agent");
    expect(tools.text).toContain("book_room");
  });

  it("has an identity that outlives the process", async () => {
    const files = filesOf({}, packFiles({}));
    const deployment = makeDeployment(files);
    const seen: string[] = [];
    for (let start = 0; start < 2; start += 1) {
      const daemon = await createDaemon(deployment);
      const client = await daemon.connect();
      client.write(encodeRequest({ method: "DISCOVER", path: "/agents" }));
      const [reply] = await client.replies(1);
      const agents: readonly { name: string; agent_id: string }[] = JSON.parse(reply?.text ?? "[]");
      const agentId = agents.find(({ name }) => name === AGENT)?.agent_id ?? "";
      client.write(
        encodeRequest({ method: "DISCOVER", path: "/genesis", body: { agent_id: agentId } }),
      );
      const [, genesis] = await client.replies(2);
      expect(genesis?.body["agent_id"]).toBe(agentId);
      seen.push(agentId);
      await daemon.daemon.reload();
      await daemon.close();
    }
    expect(seen[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(seen[1]).toBe(seen[0]);
  });

  it("is described by DESCRIBE and FETCH like every agent", async () => {
    const server = await openServer(filesOf({}, packFiles({})));
    const fetched = await server.send({ method: "FETCH", path: `/agents/${AGENT}` });
    expect(fetched.body).toMatchObject({ name: AGENT, issuer: "agtp://test" });
    const described = await server.send({ method: "DESCRIBE", path: `/agents/${AGENT}` });
    expect(described.status).toBe(200);
  });
});

describe("EXECUTE of an agent", () => {
  const accepted = { runId: "r1", status: "pending", eventsUrl: "/runs/r1/events" };

  it("starts a run for the caller and does not wait", async () => {
    const { server, requests } = await openWithRuns({});
    const reply = await execute(
      server,
      { task: { a: 1 }, tags: ["x"], metadata: { m: 1 } },
      AGENT,
      BOB,
    );
    expect([reply.status, reply.body]).toEqual([202, accepted]);
    expect(requests).toMatchObject([
      {
        ...{
          agentId: AGENT,
          inputs: { task: { a: 1 } },
          tags: ["x"],
          metadata: { m: 1 },
          waitMs: 0,
        },
        owner: {
          tenant: "default",
          principal: `agtp:${BOB}`,
          agentId: BOB,
          scopes: ["booking:*", "runs:create"],
        },
      },
    ]);
  });

  it("waits no longer than a handler may", async () => {
    const files = filesOf({}, packFiles({}), { limits: { handler_timeout_ms: 3000 } });
    const { server, requests } = await openWithRuns({}, files);
    await execute(server, { task: 1, wait_seconds: 1.5 });
    await execute(server, { task: 1, wait_seconds: 60 });
    expect(requests.map(({ waitMs }) => waitMs)).toEqual([1500, 2500]);
  });

  it("answers with the run and its result when that comes in time", async () => {
    const outputs = { result: { done: true } };
    const { server } = await openWithRuns({ status: "completed", outputs });
    const reply = await execute(server, { task: 1, wait_seconds: 5 });
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ runId: "r1", status: "completed", result: { done: true } });
  });

  it("answers with the error of a run that ended in one, by its name", async () => {
    const error = {
      code: "handoff_return_schema_violation",
      message: "it broke",
      details: { x: 1 },
    };
    const ended = { status: "failed", error } as const;
    const named = await execute((await openWithRuns(ended)).server, { task: 1, wait_seconds: 5 });
    expect([named.status, named.body["error"]]).toEqual([
      422,
      { ...error, details: { x: 1, runId: "r1", status: "failed" } },
    ]);
    const own = { ...ended, error: { code: "something_else", message: "it broke" } };
    const wrapped = await execute((await openWithRuns(own)).server, { task: 1, wait_seconds: 5 });
    expect(wrapped.body["error"]).toMatchObject({
      code: "run_failed",
      details: { runId: "r1", code: "something_else" },
    });
  });

  it("refuses before a run is there: a bad task, a stranger, nobody", async () => {
    const files = packFiles(
      { agents: [{ handoff: { taskSchemaRef: "t.json" } }] },
      { "t.json": '{"type": "object", "required": ["order"]}' },
    );
    const { server, requests } = await openWithRuns({}, filesOf({}, files));
    const bad = await execute(server, { task: {} });
    expect([bad.status, bad.body["error"]?.["code"]]).toEqual([422, "schema-validation-failed"]);
    const unknown = await execute(server, { task: {}, surprise: 1 });
    expect(unknown.status).toBe(422);
    const none = await execute(server, { task: {} }, "vendor.test.pack.none");
    expect([none.status, none.body["error"]?.["code"]]).toEqual([404, "agent_not_found"]);
    const path = `/agents/${AGENT}`;
    const nobody = await server.send({ method: "EXECUTE", path, body: { task: { order: 1 } } });
    expect(nobody.status).toBe(262);
    expect(requests).toEqual([]);
  });

  it("finds an agent by its Agent-ID, and holds the task to its schema there too", async () => {
    const files = packFiles(
      { agents: [{ handoff: { taskSchemaRef: "t.json" } }] },
      { "t.json": '{"type": "number"}' },
    );
    const { server, requests } = await openWithRuns({}, filesOf({}, files));
    const agentId = server.deployment.directory.findByName(AGENT)?.agentId ?? "";
    expect((await execute(server, { task: 7 }, agentId)).status).toBe(202);
    expect(requests[0]?.["agentId"]).toBe(AGENT);
    const bad = await execute(server, { task: "seven" }, agentId);
    expect(bad.body["error"]).toMatchObject({
      code: "schema-validation-failed",
      details: { errors: [{ path: "/task" }] },
    });
  });

  it("starts one run for one idempotency key", async () => {
    const { server, requests } = await openWithRuns({});
    const body = { task: 1, idempotency_key: "once" };
    await execute(server, body);
    const again = await execute(server, body);
    expect([again.status, again.body]).toEqual([202, accepted]);
    expect(requests).toHaveLength(1);
  });

  it("answers with what its agent promises, whoever the task was handed to", async () => {
    const other = "vendor.test.pack.other";
    const promise = { handoff: { returnSchemaRef: "r.json" } };
    const pack = packFiles(
      { agents: [promise, { agentId: other }] },
      { "r.json": '{"type": "object", "required": ["room"]}' },
    );
    const turns = `
      export const turn = async ({ agent, task, returnSchema }) =>
        agent.agentId === "${AGENT}"
          ? { result: { room: task }, handoff: { toAgentId: "${other}" } }
          : { result: { [task.room]: returnSchema.required } };`;
    const server = await openServer(filesOf(BY_FUNCTION, { ...pack, "turns.mjs": turns }));
    const kept = await execute(server, { task: "room", wait_seconds: 5 });
    expect([kept.status, kept.body["result"]]).toEqual([200, { room: ["room"] }]);
    const broken = await execute(server, { task: "hall", wait_seconds: 5 });
    expect([broken.status, broken.body["error"]]).toMatchObject([
      422,
      { code: "handoff_return_schema_violation", details: { errors: [{ path: "/room" }] } },
    ]);
  });

  it("is taken on by the runs of this server", async () => {
    const server = await openServer(filesOf({}, packFiles({})));
    const reply = await execute(server, { task: 1 });
    expect(reply.status).toBe(202);
    expect(reply.body).toMatchObject({ runId: expect.any(String) });
  });
});

describe("a tool call of a hosted agent", () => {
  const agents = { [AGENT]: { scopes: ["booking:room"] } };
  const pack = packFiles({ agents: [{ toolAllowlist: [BOOK] }] });

  it("is made through the pipeline, in the agent's name and with no more than both hold", async () => {
    const server = await openHosting(filesOf({ ...BY_FUNCTION, agents }, pack));
    const { outcome, events } = await takeTurn(server, { nights: 2 }, [
      "booking:*",
      "payment:make",
    ]);
    const own = server.deployment.directory.findByName(AGENT);
    expect(outcome).toMatchObject({
      kind: "completed",
      result: {
        outcome: {
          ...{ input: { nights: 2 }, agent_id: own?.agentId, scopes: ["booking:room"] },
          ...{ task_id: "run-7" },
        },
      },
    });
    expect(events.map(({ type }) => type)).toEqual([
      ...["agent.reasoned", "agent.toolCalled", "agent.toolReturned", "agent.decided"],
    ]);
    const [, called, returned] = events;
    expect(returned?.causationId).toBe("event-2");
    expect(called?.payload["principal"]).toBe(`agtp:${BOB}`);
    expect(server.state.ledger.headOf(own?.agentId ?? "")).toBeDefined();
  });

  it("is forbidden where the run's owner holds less, or the operator granted nothing", async () => {
    for (const [grants, scopes] of [
      [agents, []],
      [{}, ["booking:*"]],
    ] as const) {
      const server = await openHosting(filesOf({ ...BY_FUNCTION, agents: grants }, pack));
      const { events } = await takeTurn(server, { nights: 2 }, scopes);
      expect(events[2]?.payload).toMatchObject({ status: "forbidden" });
    }
  });

  it("is judged by the endpoint's schema like anybody's", async () => {
    const server = await openHosting(filesOf({ ...BY_FUNCTION, agents }, pack));
    const { events } = await takeTurn(server, { nights: "two" }, ["booking:*"]);
    expect(events[2]?.payload).toMatchObject({
      status: "error",
      error: { code: "schema-validation-failed", details: { status: 422 } },
    });
  });

  it.each(["DEACTIVATE", "REVOKE"])("is not made for an owner after %s", async (method) => {
    const identity = { lifecycle_auth: "open" };
    const tables = { policies: { identity } };
    const server = await openHosting(filesOf({ ...BY_FUNCTION, agents }, pack, tables));
    const headers = { "agent-id": ALICE };
    const body = { agent_id: BOB, reason: "it was stolen" };
    expect((await server.send({ method, headers, body })).status).toBe(200);
    const { outcome, events } = await takeTurn(server, { nights: 2 }, ["booking:*"]);
    expect(outcome).toMatchObject({ kind: "failed", error: { code: "agent_unavailable" } });
    expect(events).toEqual([]);
  });

  it("is not made by an agent that was suspended", async () => {
    const server = await openHosting(
      filesOf({ ...BY_FUNCTION, agents }, pack, {
        policies: { identity: { lifecycle_auth: "open" } },
      }),
    );
    const own = server.deployment.directory.findByName(AGENT)?.agentId ?? "";
    const headers = { "agent-id": ALICE };
    await server.send({
      ...{ method: "DEACTIVATE", path: `/agents/${own}`, headers, body: { reason: "test" } },
    });
    const { outcome } = await takeTurn(server, {}, ["booking:*"]);
    expect(outcome).toMatchObject({ error: { code: "agent_unavailable" } });
  });
});

describe("what an operator got wrong", () => {
  async function problemsOf(files: DeploymentFiles): Promise<readonly string[]> {
    const { configPath } = makeDeployment(files);
    const sink = { write: () => undefined, flush: () => Promise.resolve() };
    const options = { configPath, env: {}, log: createLog("error", sink) };
    const problems = await checkDeployment(options);
    return problems.map(({ file, key, message }) => `${file}: ${key}: ${message}`);
  }

  it("is told of names that are nobody's", async () => {
    const agents = [{ toolAllowlist: [BOOK, "agtp:BOOK /nowhere", "BOOK /room", "mcp:weather"] }];
    const away = packFile({
      name: "vendor.away.pack",
      agents: [{ agentId: "vendor.away.pack.a" }],
    });
    const pinning = (id: string, agent: object, metadata = {}) => {
      const one = workflow(id, [node("a", "core.agent", { agent: agent as never })], { metadata });
      return [`agents/openwop/workflows/${id}.json`, JSON.stringify(one)] as const;
    };
    const key = (scopes: readonly string[]) => ({ sha256: "0".repeat(64), tenant: "t", scopes });
    const models = { reasonning: "large", default: "small" };
    const runtime = { kind: "openai-compatible", base_url: "http://127.0.0.1:9/v1", models };
    const files = filesOf(
      {
        api_keys: [key(["runs:read"]), key(["runs:write", "packs:yank"])],
        agents: { "vendor.nobody.x": { scopes: ["booking:room"] } },
        runtime,
      },
      {
        ...packFiles({ agents }),
        "agents/openwop/acme/pack/pack.json": JSON.stringify(away),
        ...Object.fromEntries([
          pinning("fine", { agentId: AGENT }),
          pinning("absent", { agentId: "vendor.away.pack.a" }, { requiresAgentId: "vendor.no.b" }),
          pinning("older", { agentId: AGENT, version: "0.9.0" }),
        ]),
      },
    );
    const problems = await problemsOf(files);
    expect(problems.toSorted()).toEqual([
      'agents/openwop/acme: : has packs of a tenant, which install_scope = "host" does not install',
      'agents/openwop/pack/pack.json: agents[0].toolAllowlist: "agtp:BOOK /nowhere", "BOOK /room" name no endpoint of this server, expected "agtp:METHOD /path"',
      'agents/openwop/workflows/absent.json: metadata.requiresAgentId: "vendor.no.b" is not installed here: its runs fail',
      'agents/openwop/workflows/absent.json: nodes[0].agent.agentId: "vendor.away.pack.a" is not installed here: its runs fail',
      `agents/openwop/workflows/older.json: nodes[0].agent.version: is not the installed agent's: ${AGENT} has another version: runs are refused`,
      'agtp-server.toml: openwop.agents."vendor.nobody.x": is nobody: no such agent is installed',
      'agtp-server.toml: openwop.api_keys[1].scopes[0]: "runs:write" is no scope of keys, expected some of manifest:read, runs:create, runs:read, runs:cancel, approvals:respond',
      'agtp-server.toml: openwop.api_keys[1].scopes[1]: "packs:yank" opens nothing here, expected some of manifest:read, runs:create, runs:read, runs:cancel, approvals:respond',
      "agtp-server.toml: openwop.api_keys[1].sha256: is the key of openwop.api_keys[0] already",
      "agtp-server.toml: openwop.runtime.models.reasonning: is no class of model, expected one of reasoning, writing, coding, research, classification, general, default",
    ]);
    const server = await openServer(files, { isClean: false });
    expect((await server.send({ method: "QUERY", path: `/agents/${AGENT}` })).status).toBe(200);
  });

  it("is told with file and key, and the rest is served", async () => {
    const files = filesOf({}, packFiles({ agents: [{ persona: 1 }, {}] }));
    expect(await problemsOf(files)).toEqual([
      "agents/openwop/pack/pack.json: agents[0].persona: must be string",
    ]);
    const server = await openServer(files, { isClean: false });
    expect((await server.send({ method: "QUERY", path: `/agents/${AGENT}` })).status).toBe(200);
  });

  it.each([
    [
      "a runtime without its URL",
      { runtime: { kind: "openai-compatible" } },
      /runtime\.base_url: is required/,
    ],
    [
      "a runtime without its function",
      { runtime: { kind: "function" } },
      /runtime\.function: is required/,
    ],
    [
      "a function that is none",
      { runtime: { kind: "function", function: "turns.broken" } },
      /openwop\.runtime\.function: export "broken" of "turns\.mjs" must be a function/,
    ],
    [
      "a class without a model",
      {
        runtime: {
          kind: "openai-compatible",
          base_url: "http://localhost:1",
          models: { coding: "c" },
        },
      },
      /unsupported_model_class: openwop\.runtime\.models has neither "general" nor "default"/,
    ],
    [
      "authorities that are none",
      {
        runtime: {
          kind: "openai-compatible",
          base_url: "https://localhost:1",
          ca: "handlers.mjs",
        },
      },
      /openwop\.runtime\.ca: "?.*handlers\.mjs"? holds no PEM certificate/,
    ],
    [
      "a key that is not there",
      { trusted_keys: { k: "none.pem" } },
      /trusted_keys\.k: .*does not exist/,
    ],
    [
      "a key that is none",
      { trusted_keys: { k: "handlers.mjs" } },
      /trusted_keys\.k: .*must be an Ed25519/,
    ],
  ])("is told: %s", async (_, openwop, problem) => {
    const problems = await problemsOf(filesOf(openwop, packFiles({})));
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });

  it("stops the start where a key or a runtime is named that cannot be had", async () => {
    const broken = filesOf({ runtime: { kind: "function", function: "turns.broken" } });
    await expect(createDaemon(makeDeployment(broken))).rejects.toThrow(/must be a function/);
  });

  it("leaves an endpoint of the operator's where it is", async () => {
    const endpoint = endpointFile({ method: "EXECUTE", path: `/agents/${AGENT}` });
    const files = filesOf({}, { ...packFiles({}), "endpoints/own.toml": endpoint });
    expect(await problemsOf(files)).toEqual([
      `agents/openwop/pack/pack.json: agents: EXECUTE /agents/${AGENT} is already an endpoint of endpoints/own.toml`,
    ]);
  });

  it("issues nothing when it only checks", async () => {
    const { publicKey } = generateKeyPairSync("ed25519");
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
    const files = filesOf({ trusted_keys: { k: "k.pem" } }, { ...packFiles({}), "k.pem": pem });
    expect(await problemsOf(files)).toEqual([]);
  });
});
