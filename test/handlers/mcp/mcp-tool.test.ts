import { EventEmitter, once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { sharedEncoding } from "../../../src/base/kept-text.ts";
import type { McpToolBinding } from "../../../src/endpoint/endpoint.ts";
import type { UpstreamProgress } from "../../../src/handlers/call-upstream.ts";
import type { HandlerResult } from "../../../src/handlers/handler.ts";
import type { McpServer } from "../../../src/handlers/mcp/mcp-server.ts";
import { createMcpTool, progressReader } from "../../../src/handlers/mcp/mcp-tool.ts";
import { type McpServerSettings, Secrets } from "../../../src/handlers/mcp/read-settings.ts";
import { readTool } from "../../../src/handlers/mcp/tool-pins.ts";
import type { JsonSchema } from "../../../src/schema/json-schema.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { makeDirectory } from "../../support/directory.ts";
import { longestTurnOf } from "../../support/event-loop.ts";
import { makeCall } from "../../support/handler-call.ts";
import { sendJson, serveHostile, writeEvents } from "../../support/hostile-mcp-http.ts";
import { makeServer } from "../../support/mcp-server.mjs";
import { HOSTILE, makeMcpServer, SANE, scriptSettings } from "../../support/mcp-upstream.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function open(settings: McpServerSettings, now?: () => number) {
  const heard = makeMcpServer(settings, now);
  closing.push(() => heard.server.close());
  return heard;
}

const NEVER = new AbortController().signal;

/** Calls a tool through its handler, with the pin of what is offered unless another is given. */
async function call(
  server: McpServer,
  tool: string,
  input: Readonly<Record<string, unknown>> = {},
  more: Partial<McpToolBinding> = {},
  outputSchema: JsonSchema = {},
): Promise<HandlerResult> {
  const offered = (await server.tools(NEVER)).get(tool);
  const binding: McpToolBinding = {
    ...{ type: "mcp_tool", server: "tools", tool, definition: offered?.pin ?? "sha256:none" },
    ...{ errorMap: {}, ...more },
  };
  const pins = { pinOf: ({ definition }: { definition: string }) => definition };
  const handler = createMcpTool(binding, { server, pins, outputSchema });
  return handler(makeCall({ input }));
}

/** The same server over HTTP. */
async function serveHttp(
  make: Parameters<typeof createMcpHandler>[0] = () => makeServer(),
): Promise<McpServerSettings> {
  const { fetch } = createMcpHandler(make);
  const http = createServer(async (request, response) => {
    const body = request.method === "POST" ? await text(request) : undefined;
    const headers = new Headers(request.headers as Record<string, string>);
    const init = {
      method: request.method ?? "GET",
      headers,
      ...(body === undefined ? {} : { body }),
    };
    const answer = await fetch(new Request(`http://127.0.0.1${request.url}`, init));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) response.end();
    else await answer.body.pipeTo(Writable.toWeb(response)).catch(() => undefined);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => http.close(resolve)));
  const { port } = http.address() as AddressInfo;
  return httpSettings(`http://127.0.0.1:${port}/mcp`);
}

/** Over HTTP, in the older protocol. */
async function serveLong(
  frame: (json: string) => string,
  type: string,
): Promise<McpServerSettings> {
  const content = '"content":[],"structuredContent":{"id":9007199254740993,"far":[1e400,2]}';
  const url = await serveHostile((response, id) => {
    response.writeHead(200, { "content-type": type });
    response.end(frame(`{"jsonrpc":"2.0","id":${id},"result":{${content}}}`));
  });
  return httpSettings(url);
}

function httpSettings(url: string, timeoutMs = 15_000): McpServerSettings {
  const place = { kind: "http", url } as const;
  return { name: "tools", place, timeoutMs, connectMs: timeoutMs, maxResponseBytes: 1_048_576 };
}

function manyNames(): object {
  return Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`n${at}`, 0]));
}

// formats §10
describe("a tool behind an endpoint", () => {
  it.each([
    ["a child process", async () => scriptSettings(SANE)],
    ["Streamable HTTP", () => serveHttp()],
    ["the older protocol", async () => scriptSettings(HOSTILE)],
  ])("is called over %s", async (_, settings) => {
    const { server } = open(await settings());
    const isSane = (await server.tools(NEVER)).has("add");
    const result = isSane
      ? await call(server, "add", { left: 1, right: 2 })
      : await call(server, "work");
    const body = isSane ? { sum: 3 } : { content: [{ type: "text", text: "done" }] };
    expect(result).toEqual({ body });
  });

  it("waits for a program that starts slowly as long as that may take, though calls are over before", async () => {
    const ready = join(makeDirectory(), "ready");
    const slow = `const { existsSync } = require("node:fs");
      const timer = setInterval(() => {
        if (!existsSync(${JSON.stringify(ready)})) return;
        clearInterval(timer);
        process.argv[1] = ${JSON.stringify(SANE)};
        import(process.argv[1]);
      }, 5);`;
    const times = { timeoutMs: 2_000, connectMs: 60_000 };
    const { server, warnings } = open(scriptSettings("-e", [slow], times));
    const handler = createMcpTool(
      { type: "mcp_tool", server: "tools", tool: "echo", definition: "", errorMap: {} },
      { server, pins: { pinOf: () => "" }, outputSchema: {} },
    );
    expect(await handler(makeCall())).toMatchObject({ error: "upstream_timeout" });
    writeFileSync(ready, "");
    expect(await call(server, "echo", { text: "list" })).toEqual({ body: ["tea", 2] });
    expect(warnings).toEqual([]);
  });

  it("is called where its server has no answer to what it does not know", async () => {
    const answers = {
      initialize: {
        ...{ protocolVersion: "2025-06-18", capabilities: { tools: {} } },
        serverInfo: { name: "old", version: "1" },
      },
      "tools/list": { tools: [{ name: "work", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: "done" }] },
    };
    const old = `require("node:readline").createInterface(process.stdin).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      const result = ${JSON.stringify(answers)}[method];
      if (result) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });`;
    const { server } = open(scriptSettings("-e", [old], { connectMs: 4_000 }));
    const body = { content: [{ type: "text", text: "done" }] };
    expect(await call(server, "work")).toEqual({ body });
  });

  it("gives any value that is no record as well", async () => {
    const { server } = open(scriptSettings(SANE));
    expect(await call(server, "echo", { text: "list" })).toEqual({ body: ["tea", 2] });
  });

  // RFC 8259 §6
  it("answers with an object that is its text, numbers to the digit", async () => {
    const { server } = open(scriptSettings(SANE));
    const text = '{"id":9007199254740993,"far":1e400}';
    const schema = { type: "object", properties: { id: { type: "integer" } } };
    const result = await call(server, "echo", { text }, {}, schema);
    const { body } = result as { readonly body: object };
    expect(body).toEqual(JSON.parse(text));
    expect(sharedEncoding(body)).toBe(text);
  });

  it.each<[string, () => Promise<McpServerSettings>]>([
    ["a child process", async () => scriptSettings(HOSTILE, ["long-numbers"])],
    ["Streamable HTTP", () => serveLong((json) => json, "application/json")],
    ["its events", () => serveLong((json) => `id: 1\ndata: ${json}\n\n`, "text/event-stream")],
  ])("answers with a value that has its numbers to the digit, over %s", async (_, settings) => {
    const { server } = open(await settings());
    const { body } = (await call(server, "work")) as { readonly body: object };
    expect(body).toEqual({ id: 9007199254740992, far: [Number.POSITIVE_INFINITY, 2] });
    expect(sharedEncoding(body)).toBe('{"id":9007199254740993,"far":[1e400,2]}');
  });

  it.each([
    ["JSON", (response: ServerResponse, id: unknown) => sendJson(response, { id, result: null })],
    [
      "events that go on",
      (response: ServerResponse, id: unknown) => {
        writeEvents(response, { id, result: null });
      },
    ],
  ])("has answered malformed where that is no message, as %s", async (_, answer) => {
    const url = await serveHostile(answer);
    const { server } = open(httpSettings(url, 3_000));
    expect(await call(server, "work")).toMatchObject({ error: "upstream_malformed_response" });
  });

  // The library would ask for the rest of a stream with ids, and know of no reason.
  it.each([
    ["is too long", "upstream_error", "x".repeat(1_048_576)],
    ["has too many names", "upstream_malformed_response", manyNames()],
  ])("has answered where its event %s, with that reason", async (_, error, value) => {
    for (const id of ["", "id: 1\ndata:\n\n"]) {
      const url = await serveHostile((response, call) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const message = { jsonrpc: "2.0", id: call, result: { content: [], value } };
        response.end(`${id}data: ${JSON.stringify(message)}\n\n`);
      });
      const place = { kind: "http", url } as const;
      const bounds = { timeoutMs: 15_000, connectMs: 15_000, maxResponseBytes: 1_048_576 };
      const { server } = open({ name: "tools", place, ...bounds });
      expect(await call(server, "work")).toMatchObject({ error });
    }
  });

  it("gets its arguments by the operator's template", async () => {
    const { server } = open(scriptSettings(SANE));
    const template = { left: "{one}", right: 40 };
    const result = await call(server, "add", { one: 2, two: 3 }, { arguments: template });
    expect(result).toEqual({ body: { sum: 42 } });
  });

  it("answers with the declared error that isError stands for, and its text", async () => {
    const { server } = open(scriptSettings(SANE));
    const plain = await call(server, "echo", { text: "fail" });
    const mapped = await call(
      server,
      "echo",
      { text: "fail" },
      { errorMap: { tool_error: "odd" } },
    );
    expect(plain).toMatchObject({ error: "upstream_error", details: { message: "it failed" } });
    expect(mapped).toMatchObject({ error: "odd", details: { message: "it failed" } });
  });

  it("is not called under another definition than the pinned one", async () => {
    const { server } = open(scriptSettings(SANE));
    const result = await call(server, "echo", { text: "exit" }, { definition: "sha256:other" });
    expect(result).toMatchObject({ error: "upstream_definition_changed" });
    expect(JSON.stringify(result)).not.toContain("Says it again");
    expect(server.health).toEqual({ status: "connected" });
  });

  it("is compared again once its list is a minute old", async () => {
    let now = 1_000;
    const { server } = open(scriptSettings(HOSTILE, ["changes"]), () => now);
    const pin = (await server.tools(NEVER)).get("work")?.pin ?? "";
    expect(await call(server, "work", {}, { definition: pin })).toHaveProperty("body");
    now += 60_001;
    const result = await call(server, "work", {}, { definition: pin });
    expect(result).toMatchObject({ error: "upstream_definition_changed" });
  });

  it("is looked at again once in five seconds, however often its server says that its list has changed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let now = 0;
    const { server } = open(scriptSettings(HOSTILE, ["tells"]), () => now);
    for (let change = 0; change < 3; change += 1) {
      await call(server, "work");
      await vi.advanceTimersByTimeAsync(300);
    }
    const heard = new EventEmitter();
    server.watch(() => heard.emit("read"));
    const read = once(heard, "read");
    now = 5_000;
    await vi.advanceTimersByTimeAsync(4_400);
    await read;
    await vi.advanceTimersByTimeAsync(600);
    const text = "4 lists";
    expect(await call(server, "work")).toEqual({ body: { content: [{ type: "text", text }] } });
  });

  it.each([
    ["silent", "upstream_timeout"],
    ["other-id", "upstream_timeout"],
    ["huge", "upstream_connection_error"],
    ["endless", "upstream_connection_error"],
    ["exits", "upstream_connection_error"],
    ["odd-content", "upstream_malformed_response"],
    ["no-result", "upstream_malformed_response"],
    ["refuses", "upstream_error"],
  ])("of a server that is %s answers %s", async (play, error) => {
    const isSlow = error === "upstream_timeout";
    const settings = scriptSettings(HOSTILE, [play], { env: { TOKEN: "s3cr3t-token" } });
    const { server, warnings } = open(settings);
    await server.tools(NEVER);
    const quick = isSlow ? { ...settings, timeoutMs: 50 } : settings;
    Object.assign(server, { settings: quick });
    const result = await call(server, "work");
    expect(result).toMatchObject({ error });
    expect(JSON.stringify([result, warnings])).not.toContain("s3cr3t-token");
  });

  it.each([
    ["twice", "first"],
    ["garbage", "after"],
    ["echoes", "[secret]"],
    ["samples", "refused with -32601"],
  ])("of a server that %s answers %s", async (play, text) => {
    const env = { TOKEN: "s3cr3t-token" };
    const { server } = open(scriptSettings(HOSTILE, [play], { env }));
    expect(await call(server, "work")).toEqual({ body: { content: [{ type: "text", text }] } });
    expect(server.health).toEqual({ status: "connected" });
  });

  it("is none where a server says what is no tool, or two of one name", async () => {
    const { server: odd } = open(scriptSettings(HOSTILE, ["odd"]));
    expect([...(await odd.tools(NEVER)).keys()]).toEqual(["work"]);
    for (const play of ["twins", "no-list"]) {
      const { server } = open(scriptSettings(HOSTILE, [play]));
      await expect(server.tools(NEVER)).rejects.toThrow();
    }
  });

  // MCP "Pagination"
  it("is listed also behind a cursor that is empty", async () => {
    const cursors: unknown[] = [];
    const make = (): Server => {
      const server = new Server({ name: "paged", version: "1" }, { capabilities: { tools: {} } });
      server.setRequestHandler("tools/list", async ({ params: { cursor } = {} }) => {
        cursors.push(cursor);
        const name = cursor === undefined ? "first" : "second";
        const page = { tools: [{ name, inputSchema: { type: "object" } as const }] };
        return { ...page, ...(cursor === undefined ? { nextCursor: "" } : {}) };
      });
      return server;
    };
    const { server } = open(await serveHttp(make));
    expect([...(await server.tools(NEVER)).keys()]).toEqual(["first", "second"]);
    expect(cursors).toEqual([undefined, ""]);
  });

  it("is none where all that a server lists is too long to be kept", async () => {
    const { server } = open(scriptSettings(HOSTILE, ["long-list"]));
    await expect(server.tools(NEVER)).rejects.toThrow("its list of tools is too long");
  });

  it("is read in turns with everybody else, however many a server lists", async () => {
    const { server } = open(scriptSettings(HOSTILE, ["many-small-tools"]));
    const longest = await longestTurnOf(async () => {
      await expect(server.tools(NEVER)).rejects.toThrow("its list of tools does not end");
    });
    const since = cpuMs();
    for (let at = 0; at < 30_000; at += 1) readTool({ name: `${at}`, inputSchema: {} });
    // All of them in one turn took four times as long as once more.
    expect(longest).toBeLessThan(1.5 * (cpuMs() - since));
  });
});

describe("a server that fails", () => {
  it("is not started again at every call, and is there once it is", async () => {
    let now = 0;
    const { server } = open(scriptSettings(SANE), () => now);
    expect(await call(server, "echo", { text: "hi" })).toHaveProperty("body");
    const pin = server.offered?.get("echo")?.pin ?? "";
    const failing = { definition: pin };
    expect(await call(server, "echo", { text: "exit" }, failing)).toHaveProperty("error");
    await expect(server.tools(NEVER)).rejects.toThrow();
    now += 30_001;
    expect(await call(server, "echo", { text: "hi" }, failing)).toHaveProperty("body");
  });

  it("is started less and less often where it starts, and cannot say what its tools are", async () => {
    let now = 0;
    const { server, warnings } = open(scriptSettings(HOSTILE, ["no-list"]), () => now);
    for (let count = 0; count < 3; count += 1) {
      await expect(server.tools(NEVER)).rejects.toThrow();
      now += 30_001;
    }
    const pauses = warnings.map((one) => (one as { readonly retry_ms: number }).retry_ms);
    expect(pauses).toEqual([250, 500, 1_000]);
  });

  it("is given up in time that grows with the length of its refusal", async () => {
    const { server } = open(scriptSettings(HOSTILE, ["refuses-at-length"]));
    const reason = await server.tools(NEVER).catch(String);
    expect(String(reason).slice(-10)).toBe("     thing");
  });

  it("that was closed is not started again", async () => {
    const { server } = open(scriptSettings(SANE));
    await server.tools(NEVER);
    await server.close();
    await expect(server.tools(NEVER)).rejects.toThrow("closed");
    expect(server.health).toEqual({ status: "not-connected" });
  });

  it("that cannot be started is unreachable, and says why to operators alone", async () => {
    const settings = scriptSettings("/no/such/script.mjs");
    const { server, warnings } = open(settings);
    await expect(server.tools(NEVER)).rejects.toThrow();
    expect(server.health).toMatchObject({ status: "unreachable" });
    expect(warnings).toHaveLength(1);
  });
});

function reader() {
  const told: UpstreamProgress[] = [];
  let time = 0;
  const secrets = new Secrets({ place: { kind: "http", url: "", token: "s3cr3t-token" } });
  const read = progressReader(
    (one) => told.push(one),
    secrets,
    () => time,
  );
  return { told, read, pass: (ms: number) => (time += ms) };
}

// MCP "Progress"
describe("progressReader", () => {
  it("hands on a number that grows, a bounded message and no secret", () => {
    const { told, read, pass } = reader();
    read({ progress: 1, total: 4, message: `s3cr3t-token ${"x".repeat(1_000)}` });
    expect(told).toEqual([
      { progress: 1, total: 4, message: expect.stringMatching(/^\[secret\]/) },
    ]);
    expect(told[0]?.message?.length).toBeLessThanOrEqual(256);
    pass(1_000);
    for (const odd of [{ progress: 1 }, { progress: "2" }, { progress: Number.NaN }, {}]) read(odd);
    expect(told).toHaveLength(1);
  });

  it("tells ten at once, then ten a second, the end once more, and a thousand times in all", () => {
    const { told, read, pass } = reader();
    for (let step = 1; step <= 50; step += 1) read({ progress: step, total: 100 });
    expect(told.map(({ progress }) => progress)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for (let step = 100; step <= 150; step += 1) read({ progress: step, total: 100 });
    expect(told.slice(10)).toEqual([{ progress: 100, total: 100 }]);
    pass(200);
    for (let step = 151; step <= 200; step += 1) read({ progress: step });
    expect(told.slice(11)).toEqual([{ progress: 151 }]);
    for (let step = 201; step < 3_000; step += 1) {
      pass(50);
      read({ progress: step });
    }
    expect(told).toHaveLength(1_000);
  });

  it("has ten at once again after a second in which there was nothing to tell", () => {
    const { told, read, pass } = reader();
    for (let step = 1; step <= 50; step += 1) read({ progress: step });
    pass(1_000);
    for (let step = 51; step <= 100; step += 1) read({ progress: step });
    expect(told.map(({ progress }) => progress).slice(10)).toEqual(
      Array.from({ length: 10 }, (_, index) => 51 + index),
    );
  });
});
