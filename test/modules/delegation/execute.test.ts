import { describe, expect, it } from "vitest";
import {
  agentFile,
  configFile,
  type DeploymentFiles,
  endpointFile,
} from "../../support/deployment.ts";
import {
  openServer,
  shareServer,
  type TestReply,
  type TestServer,
} from "../../support/dispatch.ts";
import {
  AUDIT,
  ask,
  NORA,
  negotiationFiles,
  OPT_IN,
  OTTO,
  offerOf,
  presenting,
} from "../../support/negotiation.ts";
import { recordOf } from "../../support/records.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const MCP = "application/vnd.mcp.tools+json";

const HANDLERS = `
let count = 0;
export const book = ({ input }) => input.nights > 9
  ? { error: "room_unavailable", message: "no room", details: { nights: input.nights } }
  : { body: { reservation: ++count, ...input }, headers: { "X-Room": "7" } };
export const gone = () => ({ status: 204 });
export const agent = ({ input, path }) => ({ body: { path, task: input.task } });
`;

const FILES: DeploymentFiles = {
  "handlers.mjs": HANDLERS,
  "endpoints/book.toml": endpointFile({
    ...{ method: "BOOK", path: "/rooms/{room_type}", required_scopes: ["booking:room"] },
    properties: { room_type: { type: "string" }, nights: { type: "integer" } },
    required: ["room_type"],
    errors: ["room_unavailable"],
    handler: { type: "registered_function", function: "handlers.book" },
  }),
  "endpoints/remove.toml": endpointFile({
    ...{ method: "REMOVE", path: "/rooms" },
    handler: { type: "registered_function", function: "handlers.gone" },
  }),
  "endpoints/agents.toml": endpointFile({
    ...{ method: "EXECUTE", path: "/agents/{agent_id}" },
    properties: { agent_id: { type: "string" }, task: { type: "string" } },
    handler: { type: "registered_function", function: "handlers.agent" },
  }),
  "agents/alice.agent.json": agentFile({
    ...{ agent_id: ALICE, name: "alice", scopes_accepted: ["booking:room"] },
  }),
  "agents/bob.agent.json": agentFile({ agent_id: BOB, name: "bob" }),
};

function execute(
  server: TestServer,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestReply> {
  return server.send({ method: "EXECUTE", headers: { "Agent-ID": ALICE, ...headers }, body });
}

// AGTP "EXECUTE"
describe("EXECUTE", () => {
  const shared = shareServer(FILES);

  it.each([
    ["a pair", "BOOK /rooms/double"],
    ["a pair whose path is filled from the parameters", "BOOK /rooms/{room_type}"],
    ["the two members of a pair", { method: "BOOK", path: "/rooms/double" }],
    ["a tool", "book_rooms"],
    ["a tool by its former name", "book_rooms_room_type"],
  ])("dispatches %s, and answers with its status, headers and result", async (_, action) => {
    const parameters = { room_type: "double", nights: 2 };
    const reply = await execute(shared(), { action, parameters }, { "Task-ID": "t-1" });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("x-room")).toBe("7");
    expect(reply.body).toEqual({
      status: 200,
      task_id: "t-1",
      run_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      action: { method: "BOOK", path: "/rooms/double", status: 200, headers: { "x-room": "7" } },
      attribution: { agent_id: ALICE, response_id: reply.headers.get("response-id") },
      result: { reservation: expect.any(Number), room_type: "double", nights: 2 },
    });
  });

  it("takes its parameters from an envelope, and beside a method that the body names", async () => {
    const parameters = { action: "BOOK /rooms/single", parameters: { nights: 1 } };
    const enveloped = await execute(shared(), { method: "EXECUTE", task_id: "t", parameters });
    const plain = await execute(shared(), { method: "EXECUTE", ...parameters });
    const older = await execute(shared(), { plan_id: "BOOK /rooms/single" });
    expect([enveloped.status, plain.status, older.status]).toEqual([200, 200, 200]);
    expect(enveloped.body["task_id"]).toBe("t");
  });

  it("takes the input from a payload of JSON", async () => {
    const payload = { nights: 3 };
    const body = { action: "BOOK /rooms/a", payload, payload_type: "application/json" };
    expect((await execute(shared(), body)).body["result"]).toMatchObject({ nights: 3 });
    const both = await execute(shared(), { ...body, parameters: {} });
    expect([both.status, both.body["error"]?.["code"]]).toEqual([422, "schema-validation-failed"]);
  });

  it("has room for an answer without a body", async () => {
    const { status, body } = await execute(shared(), { action: "REMOVE /rooms" });
    expect([status, body["action"]?.["status"], body["result"]]).toEqual([200, 204, null]);
  });

  it("takes a floor method out of its envelope", async () => {
    const { body } = await execute(shared(), { action: "DESCRIBE", parameters: {} });
    expect(body["result"]).toMatchObject({ agent_id: ALICE, name: "alice" });
  });

  it.each([
    [{ action: "BOOK /rooms/a", parameters: { nights: 10 } }, "BOOK", "/rooms/a", { nights: 10 }],
    [{ action: "BOOK /rooms/a", parameters: { x: 1 } }, "BOOK", "/rooms/a", { x: 1 }],
    [{ action: "BOOKK /rooms" }, "BOOKK", "/rooms", {}],
    [{ action: "BOOK /get/x" }, "BOOK", "/get/x", {}],
    [{ action: "QUERY /rooms" }, "QUERY", "/rooms", {}],
  ])("hands on the refusal of %j as it is", async (body, method, path, input) => {
    const executed = await execute(shared(), body);
    const direct = await shared().send({
      method,
      path,
      headers: { "Agent-ID": ALICE },
      body: input,
    });
    expect([executed.status, executed.body]).toEqual([direct.status, direct.body]);
    expect(executed.status).not.toBe(200);
  });

  it("gains no authority", async () => {
    const body = { action: "book_rooms_room_type", parameters: { room_type: "a" } };
    const { status } = await execute(shared(), body, { "Agent-ID": BOB });
    expect(status).toBe(455);
    const narrowed = await execute(shared(), body, { "Authority-Scope": "" });
    expect(narrowed.status).toBe(455);
  });

  it.each([
    ["book_room", ["book_rooms"]],
    ["BOOK /room/{room_type}", ["BOOK /rooms/{room_type}"]],
    ["REMOVE /roomz", ["REMOVE /rooms"]],
    ["alise", ["alice"]],
    ["__proto__", []],
    ["x".repeat(300), []],
  ])("answers 404 to %j, and names what comes close", async (action, near) => {
    const parameters = { room_type: "a" };
    const { status, body } = await execute(shared(), { action, parameters });
    expect([status, body["error"]?.["code"]]).toEqual([404, "action-not-found"]);
    expect(body["suggestions"]).toEqual(near);
  });

  it.each([
    [{}, "/action"],
    [{ action: "" }, "/action"],
    [{ action: 7 }, "/action"],
    [{ action: { path: "/rooms" } }, "/action"],
    [{ action: "EXECUTE" }, "/action"],
    [{ action: "EXECUTE /?x=1" }, "/action"],
    [{ action: "book_rooms_room_type" }, "/parameters/room_type"],
    [{ action: "book_rooms_room_type", parameters: { room_type: ".." } }, "/parameters/room_type"],
    [{ action: "mcp.tools.call" }, "/payload"],
    [{ action: "mcp.tools.call", payload: { arguments: {} } }, "/payload/name"],
    [{ action: "mcp.tools.call", payload: { name: "x", arguments: 1 } }, "/payload/arguments"],
    [{ action: "BOOK /rooms/a", payload: "x" }, "/payload"],
  ])("answers 422 to %j", async (body, path) => {
    const reply = await execute(shared(), body);
    expect(reply.status).toBe(422);
    expect(reply.body["error"]?.["details"]?.["errors"]).toMatchObject([{ path }]);
  });

  it("needs an Agent-ID", async () => {
    const { status, body } = await shared().send({ method: "EXECUTE", body: { action: "x" } });
    expect([status, body["type"]]).toEqual([262, "credentials-missing"]);
  });

  it.each(["bob", "Bob", BOB, "agents/bob", "/agents/bob"])(
    "executes the agent %s",
    async (action) => {
      const { body } = await execute(shared(), { action, parameters: { task: "write" } });
      expect(body["result"]).toEqual({ path: `/agents/${BOB}`, task: "write" });
    },
  );

  it("does not tell of agents that the caller may not learn of", async () => {
    const server = await openServer({
      ...FILES,
      "agtp-server.toml": configFile({ agents: { disclosure: "private" } }),
    });
    const found = await execute(server, { action: "bob" });
    const near = await execute(server, { action: "bop" });
    expect([found.status, found.body["suggestions"]]).toEqual([404, []]);
    expect(near.body["suggestions"]).toEqual([]);
    // An Agent-ID cannot be guessed, and says nothing of the name.
    const named = await execute(server, { action: BOB });
    expect(named.body).toMatchObject({ action: { path: `/agents/${BOB}` }, result: {} });
    const { "endpoints/agents.toml": _, ...others } = FILES;
    const bare = await openServer({
      ...others,
      "agtp-server.toml": configFile({ agents: { disclosure: "private" } }),
    });
    const [known, unknown] = [
      await execute(bare, { action: BOB }),
      await execute(bare, { action: "e".repeat(64) }),
    ];
    expect(known.text.replaceAll(BOB, "")).toBe(unknown.text.replaceAll("e".repeat(64), ""));
  });
});

// AGTP "EXECUTE", MCP "tools/call"
describe("EXECUTE of a carried tool call", () => {
  const shared = shareServer(FILES);
  const call = { name: "book_rooms", arguments: { room_type: "suite", nights: 2 } };
  const room = { reservation: expect.any(Number), ...call.arguments };

  it.each([
    ["a payload", { action: "mcp.tools.call", payload: call, payload_type: MCP }, {}],
    ["the parameters", { action: "mcp.tools.call", parameters: call }, {}],
    ["the whole body", call, { "Content-Type": MCP }],
    ["a payload of that type", { payload: call, payload_type: MCP }, {}],
    [
      "an envelope",
      { method: "EXECUTE", parameters: { action: "mcp.tools.call", payload: call } },
      {},
    ],
  ])("takes it from %s, and answers as MCP does", async (_, body, headers) => {
    const reply = await execute(shared(), body, headers);
    expect(reply.status).toBe(200);
    expect(reply.body["result"]).toEqual({
      content: [{ type: "text", text: expect.stringContaining('"suite"') }],
      structuredContent: room,
      isError: false,
    });
  });

  it("keeps the frame of JSON-RPC", async () => {
    const body = { jsonrpc: "2.0", id: 7, method: "tools/call", params: call };
    const reply = await execute(shared(), body, { "Content-Type": MCP });
    expect(reply.body["result"]).toMatchObject({
      ...{ jsonrpc: "2.0", id: 7 },
      result: { structuredContent: room, isError: false },
    });
    const other = await execute(
      shared(),
      { ...body, method: "tools/list" },
      { "Content-Type": MCP },
    );
    expect(other.status).toBe(422);
  });

  it("refuses as the action refuses", async () => {
    const payload = { ...call, arguments: { room_type: "a", nights: 10 } };
    const { status, body } = await execute(shared(), { action: "mcp.tools.call", payload });
    expect([status, body["error"]?.["code"]]).toEqual([422, "room_unavailable"]);
    const unknown = await execute(shared(), { action: "mcp.tools.call", payload: { name: "x" } });
    expect(unknown.status).toBe(404);
  });

  it.each(["BOOK /rooms/a", "mcp.tools.call"])(
    "speaks no other protocol, under %s neither",
    async (action) => {
      const body = { action, payload: call, payload_type: "application/vnd.a2a+json" };
      const reply = await execute(shared(), body);
      expect([reply.status, reply.body["error"]?.["code"]]).toEqual([
        400,
        "unsupported-content-type",
      ]);
    },
  );
});

// AGTP-API §10.1.1
describe("EXECUTE of a contract's pair", () => {
  const body = { action: "AUDIT /reviews", parameters: { subject: "barn" } };

  it("runs the caller's own contract, and is recorded under it", async () => {
    const server = await openServer(negotiationFiles());
    const before = await ask(server, NORA, { method: "EXECUTE", body });
    expect(before.status).toBe(404);
    const id = await offerOf(server, NORA);
    expect((await ask(server, NORA, AUDIT, presenting(id))).status).toBe(200);
    const reply = await ask(server, NORA, { method: "EXECUTE", body });
    expect(reply.status).toBe(200);
    expect(reply.body["result"]).toMatchObject({ verdict: "2 facts" });
    expect(reply.headers.get("contract-synthesized")).toBe(id);
    expect(recordOf(reply).payload).toMatchObject({ method: "EXECUTE", synthesis_id: id });
    const other = await ask(server, OTTO, { method: "EXECUTE", body });
    expect(other.status).toBe(404);
    const opted = await ask(server, OTTO, { method: "EXECUTE", body }, OPT_IN);
    expect(opted.status).toBe(404);
  });

  it("is not delegated, and not reached by what a handler dispatches", async () => {
    const relay = `export const relay = async (call) => {
  const { status } = await call.dispatch("EXECUTE", "/", ${JSON.stringify(body)});
  return { body: { status } };
};`;
    const handler = { type: "registered_function", function: "relay.relay" };
    const endpoint = endpointFile({ method: "CREATE", path: "/relays", handler });
    const files = { ...negotiationFiles(), "relay.mjs": relay, "endpoints/relay.toml": endpoint };
    const server = await openServer(files);
    const id = await offerOf(server, NORA);
    expect((await ask(server, NORA, AUDIT, presenting(id))).status).toBe(200);
    const relayed = await ask(server, NORA, { method: "CREATE", path: "/relays" });
    expect(relayed.body).toEqual({ status: 404 });
    const task = { target_agent_id: NORA, task: body, authority_scope: ["facts:read"] };
    const delegated = await ask(server, OTTO, { method: "DELEGATE", body: task });
    expect(delegated.body["sub_agent"]).toMatchObject({ error: { reason: "not-delegable" } });
  });
});

// AGTP-API §10.1.5
describe("EXECUTE under a key", () => {
  it("executes once, whether the key is a header or a member", async () => {
    const server = await openServer(FILES);
    const body = { action: "BOOK /rooms/a", idempotency_key: "k-1" };
    const first = await execute(server, body);
    const again = await execute(server, body, { "Idempotency-Key": "k-1" });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    const other = await execute(server, { ...body, parameters: { nights: 2 } });
    expect([other.status, other.body["error"]?.["code"]]).toEqual([409, "idempotency-key-reuse"]);
  });

  it("takes no two keys that differ", async () => {
    const server = await openServer(FILES);
    const body = { action: "BOOK /rooms/a", idempotency_key: "k-1" };
    const reply = await execute(server, body, { "Idempotency-Key": "k-2" });
    expect([reply.status, reply.body["error"]?.["code"]]).toEqual([400, "invalid-identifier"]);
    const malformed = await execute(server, { ...body, idempotency_key: "a b" });
    expect(malformed.status).toBe(400);
  });

  it("lets a refused action be tried again", async () => {
    const server = await openServer(FILES);
    const body = { action: "BOOK /rooms/a", idempotency_key: "k-3" };
    expect((await execute(server, body, { "Authority-Scope": "" })).status).toBe(455);
    expect((await execute(server, body)).status).toBe(200);
  });

  it("executes once what answers a failure in the words of a refusal", async () => {
    const busy = `let calls = 0;
export const busy = () => ({ status: 503, body: { error: { code: "busy" }, calls: ++calls } });`;
    const handler = { type: "registered_function", function: "busy.busy" };
    const endpoint = endpointFile({ method: "BOOK", path: "/busy", handler });
    const server = await openServer({
      ...FILES,
      "busy.mjs": busy,
      "endpoints/busy.toml": endpoint,
    });
    const body = { action: "BOOK /busy", idempotency_key: "k-4" };
    expect(await execute(server, body)).toMatchObject({ status: 503, body: { calls: 1 } });
    const again = await execute(server, body);
    expect(again).toMatchObject({ status: 503, body: { calls: 1 } });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });
});

// AGTP-API §5.8.4
describe("DISCOVER /tools", () => {
  it("lists what EXECUTE takes, in MCP's shape", async () => {
    const server = await openServer(FILES);
    const { body } = await server.send({ method: "DISCOVER", path: "/tools" });
    expect(body).toHaveLength(3);
    expect(body).toContainEqual({
      name: "book_rooms",
      description: "An endpoint of a test.",
      inputSchema: expect.objectContaining({ type: "object", required: ["room_type"] }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
      action: "BOOK /rooms/{room_type}",
      method: "BOOK",
      path: "/rooms/{room_type}",
      required_scopes: ["booking:room"],
    });
  });
});
