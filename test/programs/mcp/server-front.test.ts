/** `agtp-mcp URI` over streams, before a real daemon: what clients of either protocol see. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { mcpProgram } from "../../../src/programs/mcp/command.ts";
import { ALMA, approvingFiles } from "../../support/approving.ts";
import { askOnce, openDaemon, type TestDaemon } from "../../support/daemon.ts";
import { endpointFile } from "../../support/deployment.ts";
import { openDesktop } from "../../support/desktop.ts";
import type { TestReply, TestRequest } from "../../support/dispatch.ts";
import { DESK, gatewayFiles } from "../../support/gateway.ts";
import { VERSIONS } from "../../support/mcp.ts";
import { JUDGE, NORA, negotiationFiles } from "../../support/negotiation.ts";
import { HANDLER_PROCESS, processEndpoints } from "../../support/processes.ts";
import { runIn } from "../../support/terminal.ts";

function argsFor(port: number, agent = DESK): readonly string[] {
  return [`agtp://localhost:${port}`, "--insecure", "--agent-id", agent];
}

/** A way to a server that can be broken and mended. */
async function openWay(
  target: number,
): Promise<{ readonly port: number; break(): void; mend(): void }> {
  const sockets = new Set<Socket>();
  let isBroken = false;
  const server = createServer((socket) => {
    if (isBroken) return void socket.destroy();
    const onward = connect(target, "127.0.0.1");
    for (const one of [socket, onward]) {
      sockets.add(one);
      one.on("error", () => undefined);
      one.on("close", () => {
        socket.destroy();
        onward.destroy();
      });
    }
    socket.pipe(onward).pipe(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return {
    port: (server.address() as AddressInfo).port,
    break: () => {
      isBroken = true;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => {
      isBroken = false;
    },
  };
}

describe.each(VERSIONS)("agtp-mcp before a server, to a client of %s", (version) => {
  it("lists the server's tools, and calls one as the agent that it is given", async () => {
    const { daemon } = await openDaemon(gatewayFiles());
    const { client, end } = await openDesktop(version, argsFor(daemon.port));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("agtp_approved_call");
    expect(tools.find(({ name }) => name === "cancel_orders")).toMatchObject({
      inputSchema: { type: "object", properties: { order_id: { type: "string" } } },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
    });
    const result = await client.callTool({
      ...{ name: "cancel_orders", arguments: { order_id: "a/b", quantity: 2 } },
      _meta: { "io.agtp/record": true },
    });
    expect(result).toMatchObject({
      structuredContent: { method: "CANCEL", path: "/orders/a%2Fb", agent_id: DESK },
      _meta: {
        "io.agtp/audit-id": expect.any(String),
        "io.agtp/response-id": expect.any(String),
        "io.agtp/server-id": "test",
        "io.agtp/attribution-record": expect.any(String),
      },
    });
    expect(await end()).toBe(0);
  });

  it("calls a tool that has an argument of an envelope's name", async () => {
    const file = endpointFile({
      ...{ method: "CREATE", path: "/templates" },
      properties: { parameters: { type: "object" } },
      handler: { type: "registered_function", function: "desk.echo" },
    });
    const { daemon } = await openDaemon(gatewayFiles({}, { "endpoints/templates.toml": file }));
    const { client } = await openDesktop(version, argsFor(daemon.port));
    const parameters = { size: "A4" };
    const result = await client.callTool({ name: "create_templates", arguments: { parameters } });
    expect(result).toMatchObject({ structuredContent: { input: { parameters } } });
  });

  // RFC 8259 §6
  it("hands on the numbers of a tool to the digit, as its value too", async () => {
    const tables = { processes: [{ name: "rooms", command: [process.execPath, HANDLER_PROCESS] }] };
    const { daemon } = await openDaemon(gatewayFiles(tables, processEndpoints("long")));
    const { client, written } = await openDesktop(version, argsFor(daemon.port));
    await client.callTool({ name: "query_longs", arguments: {} });
    expect(written()).toContain('"structuredContent":{"id":9007199254740993,"far":1e400}');
  });

  it("hands on a refusal by status and name, and knows no tool that the server has not", async () => {
    const { daemon } = await openDaemon(gatewayFiles());
    const { client } = await openDesktop(version, argsFor(daemon.port));
    const refused = await client.callTool({
      ...{ name: "cancel_orders", arguments: { order_id: "7", quantity: "two" } },
    });
    expect(refused.isError).toBe(true);
    expect(refused.content[0]).toMatchObject({
      text: expect.stringMatching(/^422 schema-validation-failed: /),
    });
    const climbing = await client.callTool({
      name: "cancel_orders",
      arguments: { order_id: ".." },
    });
    expect(climbing.isError).toBe(true);
    const rounded = await client.callTool({
      ...{ name: "cancel_orders", arguments: { order_id: "7", quantity: 2 ** 53 } },
    });
    expect(rounded.isError).toBe(true);
    expect(JSON.stringify(rounded.content)).toContain("/quantity: an integer beyond 2^53 cannot");
    await expect(client.callTool({ name: "none", arguments: {} })).rejects.toMatchObject({
      ...{ code: -32_602, message: expect.stringContaining("none") },
    });
  });

  it("says that a server is gone, and finds it again", async () => {
    const { daemon } = await openDaemon(gatewayFiles());
    const way = await openWay(daemon.port);
    const { client } = await openDesktop(version, argsFor(way.port));
    const call = { name: "fetch_orders", arguments: { order_id: "7" } };
    way.break();
    await expect(client.listTools()).rejects.toMatchObject({ code: -32_603 });
    const lost = await client.callTool(call);
    expect(lost).toMatchObject({ isError: true, content: [{ type: "text" }] });
    way.mend();
    expect((await client.callTool(call)).isError).toBeUndefined();
    way.break();
    expect((await client.callTool(call)).isError).toBe(true);
    way.mend();
    expect((await client.callTool(call)).isError).toBeUndefined();
  });

  it("names the escalation of a call that waits for an operator, and asks for that call again", async () => {
    const { daemon } = await openDaemon(await approvingFiles());
    const { client } = await openDesktop(version, argsFor(daemon.port, ALMA));
    const call = { name: "book_rooms", arguments: { room: "7", guest: "Ada" } };
    const asked = await client.callTool(call);
    expect(asked.isError).toBe(true);
    const [, id] =
      /escalation_id "([^"]+)"/.exec(JSON.stringify(asked.content).replaceAll("\\", "")) ?? [];
    expect(id).toBeDefined();
    const again = await client.callTool({
      ...{ name: "agtp_approved_call", arguments: { escalation_id: id } },
    });
    const byMeta = await client.callTool({ ...call, _meta: { "io.agtp/escalation-id": id } });
    for (const waiting of [again, byMeta]) {
      expect(waiting.isError).toBe(true);
      expect(JSON.stringify(waiting.content)).toContain(id);
    }
    const unknown = await client.callTool({
      ...{ name: "agtp_approved_call", arguments: { escalation_id: "none" } },
    });
    expect(unknown.isError).toBe(true);
  });
});

describe("the command line of agtp-mcp", () => {
  it.each([["agtp://localhost/orders"], ["https://localhost"], []])(
    "is refused for %s, which names no server",
    async (...args) => {
      expect(await runIn(".", mcpProgram, args)).toMatchObject({ exitCode: 2, out: "" });
    },
  );
});

async function ask(server: TestDaemon, request: TestRequest): Promise<TestReply> {
  return askOnce(server, { ...request, headers: { "Agent-ID": NORA, ...request.headers } });
}

/** A contract for a pair that a recipe answers; its id. */
async function agree(server: TestDaemon): Promise<string> {
  const request = { method: "AUDIT", path: "/reviews", body: { subject: "barn" } };
  const offered = await ask(server, { ...request, headers: { "Allow-RCNS": "true" } });
  expect(offered.status, offered.text).toBe(461);
  const id = String(offered.body["synthesis_id"]);
  const done = await ask(server, { ...request, headers: { "Contract-Synthesized": id } });
  expect(done.status, done.text).toBe(200);
  return id;
}

describe.each(VERSIONS)("a contract of the agent of a desktop client of %s", (version) => {
  it("is a tool as long as it holds", async () => {
    const server = await openDaemon(negotiationFiles());
    const id = await agree(server);
    const args = [`agtp://localhost:${server.daemon.port}`, "--insecure", "--agent-id", NORA];
    const { client } = await openDesktop(version, args);
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => name === "audit_reviews");
    expect(tool).toMatchObject({
      title: "AUDIT /reviews",
      inputSchema: { type: "object", properties: { subject: {} } },
    });
    const call = { name: "audit_reviews", arguments: { subject: "barn" } };
    const done = await client.callTool(call);
    expect(done.isError, JSON.stringify(done.content)).toBeUndefined();
    expect(done.structuredContent).toMatchObject({ verdict: "2 facts" });
    const body = { synthesis_id: id };
    expect((await ask(server, { method: "SUSPEND", body })).status).toBe(200);
    expect((await client.callTool(call)).isError).toBe(true);
  });

  it("is made by a proposal, and is a tool with the answer", async () => {
    const server = await openDaemon(negotiationFiles());
    const args = [`agtp://localhost:${server.daemon.port}`, "--insecure", "--agent-id", NORA];
    const { client } = await openDesktop(version, args);
    const before = (await client.listTools()).tools.map(({ name }) => name);
    expect(before).toContain("agtp_propose");
    expect(before).not.toContain("evaluate_verdicts");
    const { semantic: _unused, ...proposal } = JUDGE;
    const made = await client.callTool({ name: "agtp_propose", arguments: proposal });
    expect(made.isError, JSON.stringify(made.content)).toBeUndefined();
    expect(made.structuredContent).toMatchObject({ method: "EVALUATE", path: "/verdicts" });
    expect(JSON.stringify(made.content)).toContain("evaluate_verdicts");
    const judged = { name: "evaluate_verdicts", arguments: { subject: "barn" } };
    expect((await client.callTool(judged)).structuredContent).toMatchObject({ verdict: "2 facts" });
    const refused = await client.callTool({
      ...{ name: "agtp_propose", arguments: { ...proposal, method: "FROBNICATE" } },
    });
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused.content)).toContain("method-not-in-catalog");
  });

  it("is none of another agent's", async () => {
    const server = await openDaemon(negotiationFiles());
    await agree(server);
    const args = [`agtp://localhost:${server.daemon.port}`, "--insecure"];
    const { client } = await openDesktop(version, args);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("audit_reviews");
  });
});
