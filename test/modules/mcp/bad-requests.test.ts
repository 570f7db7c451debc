/** Requests that keep to no rule: each is answered by the codes of its protocol.   MCP "Transports" */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, expect, it } from "vitest";
import { mcpFiles, openMcp, type TestMcp, VERSIONS } from "../../support/mcp.ts";
import {
  ACCEPT,
  beginSession,
  current,
  currentFields,
  inSession,
  message,
  messageOf,
  post,
} from "../../support/mcp-session.ts";

const anyText: unknown = expect.any(String);
const LIST = currentFields("tools/list");

const ITEMS = new Array<number>(60_000).fill(0);
const NAMES = Object.fromEntries(Array.from({ length: 12_000 }, (_, at) => [`n${at}`, 0]));

interface Outcome {
  readonly status: number;
  readonly code: unknown;
}

async function outcome(response: Response): Promise<Outcome> {
  const { error } = await messageOf(response);
  return { status: response.status, code: error?.code };
}

describe("a body that is no message", () => {
  it.each([
    ["is no JSON", "{", 400, -32_700],
    ["is empty", "", 400, -32_700],
    ["is nested too deeply", `${"[".repeat(5_000)}${"]".repeat(5_000)}`, 400, -32_700],
    ["is long and nested too deeply", "[".repeat(500_000) + "]".repeat(500_000), 400, -32_700],
    ["has too many items", JSON.stringify({ ...message("tools/list"), a: ITEMS }), 400, -32_700],
    ["has too many members", JSON.stringify({ ...message("tools/list"), a: NAMES }), 400, -32_700],
    ["is a number", "7", 400, -32_600],
    ["is a batch", [message("tools/list"), message("tools/list", {}, 2)], 400, -32_600],
    ["is an empty batch", "[]", 400, -32_600],
    ["names no version of JSON-RPC", { id: 1, method: "tools/list" }, 400, -32_600],
  ])("because it %s is refused", async (_, body, status, code) => {
    const server = await openMcp();
    expect(await outcome(await post(server, body))).toEqual({ status, code });
    expect(await outcome(await post(server, body, LIST))).toMatchObject({ status });
    const id = await beginSession(server);
    expect(await outcome(await post(server, body, inSession(id)))).toMatchObject({ status });
  });

  it("because it is not UTF-8 is refused, and a tool is given nothing else in its place", async () => {
    const server = await openMcp();
    const call = current("tools/call", { name: "fetch_fields", arguments: { order: ["é"] } });
    const fields = { ...currentFields("tools/call", "fetch_fields"), accept: ACCEPT };
    const response = await server.fetch("/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", ...fields },
      body: Buffer.from(JSON.stringify(call), "latin1"),
    });
    expect(await outcome(response)).toEqual({ status: 400, code: -32_700 });
  });

  it("because it is more than is read is refused as what type of JSON soever it comes", async () => {
    const server = await openMcp();
    const body = JSON.stringify({ ...current("tools/list"), a: ITEMS });
    const fields = { ...LIST, "content-type": "text/x; like=application/json" };
    const { status, code } = await outcome(await post(server, body, fields));
    expect([status, code]).toEqual([400, -32_700]);
  });

  it("because it is over the limit is 413", async () => {
    const server = await openMcp(mcpFiles({ limits: { body_bytes: 4_096 } }));
    const body = current("tools/list", { padding: "x".repeat(8_192) });
    expect(await outcome(await post(server, body, LIST))).toEqual({ status: 413, code: -32_600 });
    expect((await post(server, current("tools/list"), LIST)).status).toBe(200);
  });
});

describe("header fields", () => {
  it.each([
    ["another content type", { "content-type": "text/plain" }, 415],
    ["no event streams accepted", { accept: "application/json" }, 406],
    ["nothing accepted that is sent", { accept: "text/html" }, 406],
  ])("with %s are refused in a session", async (_, headers, status) => {
    const server = await openMcp();
    const id = await beginSession(server);
    const fields = { ...inSession(id), ...headers };
    expect((await post(server, message("tools/list"), fields)).status).toBe(status);
  });

  it.each([
    ["another content type", { "content-type": "text/plain" }, 415],
    ["another method than the body", { "mcp-method": "tools/call" }, 400],
    ["another version than the body", { "mcp-protocol-version": "2025-11-25" }, 400],
    ["no method", { "mcp-method": "" }, 400],
  ])("with %s are refused of 2026-07-28", async (_, headers, status) => {
    const server = await openMcp();
    const response = await post(server, current("tools/list"), { ...LIST, ...headers });
    expect(response.status).toBe(status);
  });

  it("with another name than the body are a mismatch", async () => {
    const server = await openMcp();
    const call = current("tools/call", { name: "fetch_fields", arguments: {} });
    const response = await post(server, call, currentFields("tools/call", "cancel_orders"));
    expect(await outcome(response)).toEqual({ status: 400, code: -32_020 });
  });

  it("with a version that is none are refused, and those that there are are named", async () => {
    const server = await openMcp();
    const unknown = "2027-01-01";
    const id = await beginSession(server);
    expect((await post(server, message("tools/list"), inSession(id, unknown))).status).toBe(400);
    const asked = JSON.stringify(current("tools/list")).replace("2026-07-28", unknown);
    const response = await post(server, asked, { ...LIST, "mcp-protocol-version": unknown });
    const { error } = await messageOf(response);
    expect(response.status).toBe(400);
    expect(error).toMatchObject({ code: -32_022, data: { supported: ["2026-07-28"] } });
  });

  it("without a version are those of the session", async () => {
    const server = await openMcp();
    const id = await beginSession(server);
    const response = await post(server, message("tools/list"), { "mcp-session-id": id });
    expect(await messageOf(response)).toHaveProperty("result.tools");
  });

  it.each([
    ["Origin", { origin: "https://evil.example" }, 403],
    ["Host", { host: "evil.example" }, 421],
  ])("with a foreign %s are refused, whatever the request is", async (_, headers, status) => {
    const server = await openMcp();
    const id = await beginSession(server);
    for (const method of ["POST", "GET", "DELETE"]) {
      const sent = { port: server.port, path: "/mcp", method };
      const asking = request({ ...sent, headers: { ...inSession(id), ...headers } }).end();
      const [{ statusCode }] = (await once(asking, "response")) as [IncomingMessage];
      expect(statusCode).toBe(status);
    }
  });
});

describe.each(VERSIONS)("a tool that its caller may not call, over %s", (version) => {
  it("is not listed, and refused with a record", async () => {
    const server = await openMcp();
    const client = await server.connectClient(version);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("archive_orders");
    const result = await client.callTool({ name: "archive_orders", arguments: {} });
    expect(result).toMatchObject({ isError: true, _meta: { "io.agtp/audit-id": anyText } });
    expect(JSON.stringify(result.content)).toContain("scope-violation");
  });
});

describe("a task of nobody's", () => {
  it.each(["tasks/get", "tasks/cancel", "tasks/update"])("is -32602 to %s", async (method) => {
    const server = await openMcp();
    const taskId = "00000000-0000-4000-8000-000000000000";
    const tasks = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    for (const forged of [taskId, "", "../../tasks", 7]) {
      const params = current(method, { taskId: forged }, tasks);
      const fields = currentFields(method, String(forged) || undefined);
      const { code } = await outcome(await post(server, params, fields));
      expect([-32_602, -32_020]).toContain(code);
    }
  });
});

describe("HTTP methods", () => {
  it("that MCP has not are 405, and those that it has are named", async () => {
    const { fetch } = await openMcp();
    for (const method of ["PUT", "PATCH"]) {
      const response = await fetch("/mcp", { method });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toContain("POST");
    }
  });

  it("of sessions are refused without one", async () => {
    const { fetch } = await openMcp();
    const accept = "text/event-stream";
    for (const method of ["GET", "DELETE"]) {
      const response = await fetch("/mcp", { method, headers: { accept } });
      expect([400, 405]).toContain(response.status);
    }
  });
});

type Params = Readonly<Record<string, unknown>>;

describe.each(VERSIONS)("parameters of %s", (version) => {
  async function ask(server: TestMcp, method: string, params: Params): Promise<Outcome> {
    if (version === "2026-07-28") {
      const { name } = params as { name?: unknown };
      const fields = currentFields(method, typeof name === "string" ? name : undefined);
      return outcome(await post(server, current(method, params), fields));
    }
    const id = await beginSession(server);
    return outcome(await post(server, message(method, params), inSession(id)));
  }

  it.each([
    ["a name that is a number", "tools/call", { name: 7, arguments: {} }],
    ["arguments that are a list", "tools/call", { name: "fetch_fields", arguments: [] }],
    ["a cursor that is a number", "tools/list", { cursor: 7 }],
    ["a cursor of nobody's", "tools/list", { cursor: "bm9uZQ" }],
    ["a cursor that is changed", "tools/list", { cursor: "YWZ0ZXI6Li4vLi4v" }],
    ["an escalation that is a list", "tools/call", escalated(["esc-1"])],
    ["a key that is a line too many", "tools/call", escalated("a\r\nAgent-ID: b")],
  ])("with %s are -32602", async (_, method, params) => {
    expect(await ask(await openMcp(), method, params)).toMatchObject({ code: -32_602 });
  });

  it("of a method that is none are -32601", async () => {
    expect(await ask(await openMcp(), "tools/delete", {})).toMatchObject({ code: -32_601 });
  });
});

function escalated(value: unknown): Params {
  return { name: "fetch_fields", arguments: {}, _meta: { "io.agtp/escalation-id": value } };
}

it("refuses an argument that the library would drop, as one that nobody declared", async () => {
  const server = await openMcp();
  const params = (text: object): string => JSON.stringify(text).replaceAll("PROTO", "__proto__");
  const call = { name: "fetch_fields", arguments: { PROTO: { admin: true } } };
  const streamed = { ...call, _meta: { progressToken: 1 } };
  const id = await beginSession(server);
  for (const one of [call, streamed]) {
    for (const response of [
      await post(
        server,
        params(current("tools/call", one)),
        currentFields("tools/call", call.name),
      ),
      await post(server, params(message("tools/call", one)), inSession(id)),
    ]) {
      const text = await response.text();
      expect(text).toContain('"isError":true');
      expect(text).toMatch(/schema-validation-failed.*\/__proto__/);
    }
  }
});
