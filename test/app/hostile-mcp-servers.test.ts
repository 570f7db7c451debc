/** MCP servers that misbehave, behind a daemon that an MCP client calls.   formats §10 */
import { EventEmitter, once } from "node:events";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readTool } from "../../src/handlers/mcp/tool-pins.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { endpointFile } from "../support/deployment.ts";
import {
  type HttpPlay,
  sendEvents,
  sendJson,
  serveHostile,
  writeEvents,
  writeMany,
} from "../support/hostile-mcp-http.ts";
import { mcpFiles, openMcp, postMcp, type TestMcp } from "../support/mcp.ts";
import { messageOf } from "../support/mcp-session.ts";
import { HOSTILE } from "../support/mcp-upstream.ts";
import { recordIn } from "../support/records.ts";

const UPSTREAM_ERRORS = [
  ...["upstream_error", "upstream_timeout", "upstream_connection_error"],
  ...["upstream_malformed_response", "upstream_authentication_failed"],
  "upstream_definition_changed",
];
const SSE = { "content-type": "text/event-stream" };
const TEXT = { content: [{ type: "text", text: "done" }] };
/** A busy machine takes long to send as much as is too much. */
const PATIENT = { timeout_ms: 90_000 };
/** Servers are started in this time as well. */
const QUICK = { timeout_ms: 3_000 };
const SUM = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
const OUTPUT_OF: Readonly<Record<string, object>> = { lies: SUM, forgets: SUM };

/** A daemon whose one tool of an upstream is `create_work`. */
function openBefore(
  place: object,
  output: object | undefined,
  more: object = {},
): Promise<TestMcp> {
  const tool = {
    ...{ name: "work", description: "Works.", inputSchema: { type: "object" } },
    ...(output === undefined ? {} : { outputSchema: output }),
  };
  const definition = readTool(tool)?.pin;
  const endpoint = endpointFile({
    ...{ method: "CREATE", path: "/work", errors: UPSTREAM_ERRORS, output_schema: output ?? {} },
    handler: { type: "mcp_tool", server: "tools", tool: "work", definition },
  });
  const server = { name: "tools", ...PATIENT, max_response_bytes: 1_048_576, ...place, ...more };
  const mcp = { enabled: true, anonymous: true, servers: [server] };
  const tables = { mcp, limits: { handler_timeout_ms: 100_000 } };
  return openMcp(mcpFiles(tables, { "endpoints/work.toml": endpoint }));
}

interface Called {
  readonly text: string;
  readonly isError: boolean;
  readonly record: Readonly<Record<string, unknown>>;
}

async function callWork(server: TestMcp): Promise<Called> {
  const params = { name: "create_work", arguments: {} };
  const { result } = await messageOf(
    await postMcp(server, "tools/call", { ...params, _meta: { "io.agtp/record": true } }),
  );
  return {
    text: JSON.stringify(result?.["content"]),
    isError: result?.["isError"] === true,
    record: recordIn(result?.["_meta"]),
  };
}

async function expectFailure(server: TestMcp, error: string): Promise<void> {
  const called = await callWork(server);
  expect(called.text).toContain(error);
  expect(called.isError).toBe(true);
  expect(called.record).toMatchObject({ method: "CREATE", path: "/work", requested_via: "mcp" });
  expect(called.record["status"]).toBeGreaterThanOrEqual(400);
  // The daemon itself is well.
  const listed = await messageOf(await postMcp(server, "tools/list"));
  expect(listed.result).toHaveProperty("tools");
}

describe("a child process behind a tool", () => {
  it.each([
    ["silent", "upstream_timeout"],
    ["other-id", "upstream_timeout"],
    ["huge", "upstream_connection_error"],
    ["endless", "upstream_connection_error"],
    ["floods", "upstream_connection_error"],
    ["floods-with-answers", "upstream_connection_error"],
    ["floods-with-junk", "upstream_connection_error"],
    ["exits", "upstream_connection_error"],
    ["odd-content", "upstream_malformed_response"],
    ["lies", "upstream_malformed_response"],
    ["forgets", "upstream_malformed_response"],
    ["refuses", "upstream_error"],
  ])("that is %s is %s, with a record", async (play, error) => {
    const more = error === "upstream_timeout" ? QUICK : {};
    const place = { command: process.execPath, args: [HOSTILE, play], env: { TOKEN: "s3cr3t-42" } };
    const server = await openBefore(place, OUTPUT_OF[play], more);
    await expectFailure(server, error);
    expect(JSON.stringify(server.log)).not.toContain("s3cr3t-42");
  });

  it.each([
    ["has-no-parts", "upstream_malformed_response"],
    ["asks-for-much", "more than 5000 values"],
    ["has-many-icons", "upstream_"],
  ])("that is %s costs little more than one that says as much in one text", async (play, text) => {
    const costOf = async (script: string): Promise<[number, Called]> => {
      const place = { command: process.execPath, args: [HOSTILE, script] };
      const server = await openBefore(place, undefined);
      const before = cpuMs();
      const called = await callWork(server);
      return [cpuMs() - before, called];
    };
    await costOf("sane");
    const [plain] = await costOf("long-text");
    const [cost, called] = await costOf(play);
    expect(called.text).toContain(text);
    // Judged in one go it was 20 to 200 times as much.
    expect(cost).toBeLessThan(10 * plain);
  });

  it("that floods before it has said its version is ended, and asked again as one that knows none", async () => {
    const place = { command: process.execPath, args: [HOSTILE, "floods-at-first"] };
    // Otherwise a call waits half as long for that version.
    const server = await openBefore(place, undefined, { startup_timeout_ms: 600_000 });
    expect(await callWork(server)).toMatchObject({ isError: false });
  });

  it("that answers twice is heard once", async () => {
    const place = { command: process.execPath, args: [HOSTILE, "twice"] };
    const server = await openBefore(place, undefined);
    for (const _ of [1, 2]) {
      const called = await callWork(server);
      expect(called.text).toContain("first");
      expect(called.text).not.toContain("second");
    }
  });

  it("whose definition is another one is not called", async () => {
    const place = { command: process.execPath, args: [HOSTILE, "sane"] };
    const server = await openBefore(place, { type: "object" });
    await expectFailure(server, "upstream_definition_changed");
  });
});

const HTTP_PLAYS: [string, HttpPlay, string, object][] = [
  ["closes in the middle of a message", closeInside, "upstream_connection_error", {}],
  [
    "closes a stream before it has answered",
    (response) => sendEvents(response),
    "upstream_connection_error",
    {},
  ],
  ["answers with another id", otherId, "upstream_connection_error", {}],
  ["answers with a page", page, "upstream_malformed_response", {}],
  ["answers 500", (response) => void response.writeHead(500).end("no"), "upstream_error", {}],
  [
    "answers 401",
    (response) => void response.writeHead(401).end(),
    "upstream_authentication_failed",
    {},
  ],
  ["sends its caller elsewhere", elsewhere, "upstream_error", {}],
  ["answers with what is compressed", compressed, "upstream_malformed_response", {}],
  ["answers what is no JSON", noJson, "upstream_malformed_response", {}],
  ["answers with a list of messages", list, "upstream_malformed_response", {}],
  ["never answers", () => undefined, "upstream_timeout", QUICK],
];

function closeInside(response: Parameters<HttpPlay>[0]): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.write('{"jsonrpc":"2.0","id":2,"result":{"content":[', () => response.destroy());
}

function otherId(response: Parameters<HttpPlay>[0]): void {
  sendEvents(response, { id: 900, result: TEXT });
}

function page(response: Parameters<HttpPlay>[0]): void {
  response.writeHead(200, { "content-type": "text/html" }).end("<p>hello</p>");
}

function elsewhere(response: Parameters<HttpPlay>[0]): void {
  response.writeHead(307, { location: "http://127.0.0.1:9/mcp" }).end();
}

function noJson(response: Parameters<HttpPlay>[0]): void {
  response.writeHead(200, { "content-type": "application/json" }).end("{");
}

function compressed(response: Parameters<HttpPlay>[0], id: unknown): void {
  const type = { "content-type": "application/json", "content-encoding": "gzip" };
  response.writeHead(200, type);
  response.end(gzipSync(JSON.stringify({ jsonrpc: "2.0", id, result: TEXT })));
}

function list(response: Parameters<HttpPlay>[0], id: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify([{ jsonrpc: "2.0", id, result: TEXT }]));
}

describe("a server over HTTP behind a tool", () => {
  it.each(HTTP_PLAYS)("that %s is an error with a record", async (_, play, error, more) => {
    const url = await serveHostile(play);
    const server = await openBefore({ url, allow_http: true }, undefined, more);
    await expectFailure(server, error);
  });

  it("that answers twice is heard once", async () => {
    const url = await serveHostile((response, id) => {
      const second = { content: [{ type: "text", text: "second" }] };
      sendEvents(response, { id, result: TEXT }, { id, result: second });
    });
    const server = await openBefore({ url, allow_http: true }, undefined);
    const called = await callWork(server);
    expect(called.isError).toBe(false);
    expect(called.text).toContain("done");
  });

  it.each(["application/json", "text/event-stream"])(
    "that answers with 100 MB of %s is cut short",
    async (type) => {
      let written: Promise<number> = Promise.resolve(0);
      const url = await serveHostile((response) => {
        response.writeHead(200, { "content-type": type });
        response.write(type === "application/json" ? '"' : "data: ");
        written = writeMany(response, 100_000_000);
      });
      const server = await openBefore({ url, allow_http: true }, undefined);
      await expectFailure(server, "upstream_error");
      expect(await written).toBeLessThan(20_000_000);
    },
  );

  it("that answers well is well", async () => {
    const url = await serveHostile((response, id) => sendJson(response, { id, result: TEXT }));
    const server = await openBefore({ url, allow_http: true }, undefined);
    expect(await callWork(server)).toMatchObject({ isError: false });
  });

  it("that asks on and on and takes no replies is left", async () => {
    let taken: Promise<number> = Promise.resolve(0);
    const ping = JSON.stringify({ jsonrpc: "2.0", id: "ping", method: "ping" });
    const pings = Buffer.from(`data: ${ping}\n\n`.repeat(1_000));
    const play: HttpPlay = (response) => {
      response.writeHead(200, SSE);
      taken = writeMany(response, 10_000_000, pings);
    };
    const url = await serveHostile(play, { take: () => undefined });
    const server = await openBefore({ url, allow_http: true }, undefined);
    await expectFailure(server, "upstream_connection_error");
    expect(await taken).toBeLessThan(10_000_000);
  });

  it.each<[string, HttpPlay]>([
    ["has answered", (response, id) => writeEvents(response, { id, result: TEXT })],
    ["is late", (response) => void response.writeHead(200, SSE).write(": yes\n\n")],
  ])("that holds a connection on when it %s loses it", async (_, play) => {
    const heard = new EventEmitter();
    const closed = once(heard, "closed");
    const url = await serveHostile((response, id) => {
      response.on("close", () => heard.emit("closed"));
      return play(response, id);
    });
    const server = await openBefore({ url, allow_http: true }, undefined, { timeout_ms: 1_000 });
    await callWork(server);
    await closed;
  });

  it("that has forgotten the session is called in another one", async () => {
    let session = "first";
    const url = await serveHostile((response, id) => sendJson(response, { id, result: TEXT }), {
      session: () => session,
    });
    const server = await openBefore({ url, allow_http: true }, undefined);
    expect(await callWork(server)).toMatchObject({ isError: false });
    session = "second";
    expect(await callWork(server)).toMatchObject({ isError: false });
  });

  it("is told that its session is over, and holds up nobody who leaves", async () => {
    const ended: unknown[] = [];
    const url = await serveHostile((response, id) => sendJson(response, { id, result: TEXT }), {
      session: () => "only",
      end: (_, session) => ended.push(session),
    });
    const server = await openBefore({ url, allow_http: true }, undefined);
    expect(await callWork(server)).toMatchObject({ isError: false });
    expect(ended).toEqual([]);
    // It is never told that its word has come.
    await server.close();
    expect(ended).toEqual(["only"]);
  });

  it("that asks for much is refused, and hears so", async () => {
    const heard = new EventEmitter();
    const replied = once(heard, "reply");
    const fields = Array.from({ length: 20_000 }, (_, at) => [`f${at}`, {}]);
    const requestedSchema = { type: "object", properties: Object.fromEntries(fields) };
    const params = { mode: "form", message: "Which?", requestedSchema };
    const url = await serveHostile(
      async (response, id) => {
        writeEvents(response, { id: "much", method: "elicitation/create", params });
        await replied;
        response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: TEXT })}\n\n`);
      },
      {
        take: (response) => {
          response.writeHead(202).end();
          heard.emit("reply");
        },
      },
    );
    const server = await openBefore({ url, allow_http: true }, undefined);
    expect(await callWork(server)).toMatchObject({ isError: false });
  });

  it("that ends its stream at once is not asked for it again at once", async () => {
    const asked: number[] = [];
    const heard = new EventEmitter();
    const again = once(heard, "again");
    const stream = (response: Parameters<HttpPlay>[0]): void => {
      asked.push(performance.now());
      if (asked.length === 2) heard.emit("again");
      response.writeHead(200, SSE).end("id: 1\nretry: 0\n\n");
    };
    const play: HttpPlay = (response, id) => sendJson(response, { id, result: TEXT });
    const url = await serveHostile(play, { stream });
    const server = await openBefore({ url, allow_http: true }, undefined);
    await callWork(server);
    await again;
    const [first = 0, second = 0] = asked;
    expect(second - first).toBeGreaterThan(900);
  });
});
