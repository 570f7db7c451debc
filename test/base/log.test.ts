import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { openStdout } from "../../src/base/log.ts";
import { startProgram } from "../support/agtpd.ts";
import { openDaemon, type TestDaemon } from "../support/daemon.ts";
import { makeDeployment } from "../support/deployment.ts";
import { encodeRequest } from "../support/dispatch.ts";
import { AGENT_ID, call, echo, serverFiles } from "../support/server-deployment.ts";

const SECRET = "hunter2-5f3e";

/** Sends bytes on a connection of their own; waits for the answers, and for the lines of the log. */
async function send({ connect }: TestDaemon, ...requests: (Buffer | string)[]) {
  const client = await connect();
  for (const request of requests) client.write(request);
  const replies = await client.replies(requests.length);
  client.destroy();
  return replies;
}

function requestLines({ log }: TestDaemon) {
  return log.filter(({ event }) => event === "request");
}

describe("the request log", () => {
  it("has one line a request, with ids, method, path, status and duration", async () => {
    const server = await openDaemon(serverFiles());
    const headers = {
      "Agent-ID": AGENT_ID,
      "Request-ID": "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42",
      "Task-ID": "task-1",
      "Session-ID": "session-1",
    };
    const bytes = encodeRequest({ method: "QUERY", path: "/echoes", headers, body: { text: "x" } });
    const [reply] = await send(server, bytes);
    expect(requestLines(server)).toEqual([
      {
        level: "info",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        event: "request",
        method: "QUERY",
        path: "/echoes",
        status: 200,
        duration_ms: expect.any(Number),
        agent_id: AGENT_ID,
        request_id: headers["Request-ID"],
        response_id: reply?.headers.get("response-id"),
        task_id: "task-1",
        session_id: "session-1",
        remote: "127.0.0.1",
      },
    ]);
  });

  it("says of each request on a connection what is its own", async () => {
    const server = await openDaemon(serverFiles());
    const query = (path: string, agentId?: string) =>
      encodeRequest({
        ...{ method: "QUERY", path, body: { text: "x" } },
        headers: agentId === undefined ? {} : { "Agent-ID": agentId },
      });
    const other = "0".repeat(64);
    await send(
      server,
      ...[query("/echoes", AGENT_ID), query("/echoes", AGENT_ID), query("/echoes", other)],
      ...[query("/echoes"), query("/nothing"), call("BOOKK", "/nothing")],
    );
    const lines = requestLines(server);
    expect(lines.map(({ method, path, agent_id }) => [method, path, agent_id])).toEqual([
      ...[AGENT_ID, AGENT_ID, other, undefined].map((id) => ["QUERY", "/echoes", id]),
      ["QUERY", "/nothing", undefined],
      ["BOOKK", "/nothing", AGENT_ID],
    ]);
  });

  it("names the refusal, and the method that was meant", async () => {
    const server = await openDaemon(serverFiles());
    await send(server, call("GET", "/nothing"), call("BOOKK", "/nothing"));
    expect(requestLines(server)).toMatchObject([
      { method: "GET", answered_as: "FETCH", status: 404, code: expect.any(String) },
      { method: "BOOKK", status: 459, code: "method-not-in-catalog" },
    ]);
  });

  // The sink parses every line: one that is not JSON would fail the test.
  it.each([
    'AGTP/1.0 QUERY /"\\x"\r\nContent-Length: 0\r\n\r\n',
    'AGTP/1.0 QUERY /{"a":1}\\u0000%00%0A\r\nContent-Length: 0\r\n\r\n',
    'AGTP/1.0 QUERY /a\r\nAgent-ID: "}\\\r\nTask-ID: a"b\\u0022\xff\r\nContent-Length: 0\r\n\r\n',
    "AGTP/1.0 QUERY /a\r\nRequest-ID: \x80\xff\xe2\x80\xa8\r\nContent-Length: 0\r\n\r\n",
    `AGTP/1.0 ${"!#$%&*+-.^_`|~".replace("#", "")} /a\r\nContent-Length: 0\r\n\r\n`,
  ])("is valid JSON for %j", async (bytes) => {
    const server = await openDaemon(serverFiles());
    await send(server, Buffer.from(bytes, "latin1"));
    expect(requestLines(server)).toHaveLength(1);
  });

  it("clips what is long", async () => {
    const server = await openDaemon(serverFiles());
    await send(server, call("QUERY", `/${"x".repeat(5_000)}`));
    expect(String(requestLines(server)[0]?.["path"]).length).toBeLessThan(600);
  });
});

// A header field, a query and a body may carry a secret; a path and the ids do not.
describe("no line of the log", () => {
  it("shows what callers keep to themselves", async () => {
    const server = await openDaemon(serverFiles());
    const secret = { "Agent-ID": AGENT_ID, Authorization: `Bearer ${SECRET}`, "X-Key": SECRET };
    await send(
      server,
      encodeRequest({ method: "QUERY", path: "/echoes", headers: secret, body: { text: SECRET } }),
      encodeRequest({ method: "QUERY", path: "/echoes", query: `text=${SECRET}`, headers: secret }),
      encodeRequest({ method: "QUERY", path: "/echoes", headers: secret, body: { [SECRET]: 1 } }),
      encodeRequest({ method: "QUERY", path: "/echoes", headers: secret, body: `{"${SECRET}` }),
      encodeRequest({ method: "BOOKK", path: "/echoes", query: SECRET, headers: secret }),
      encodeRequest({ method: "QUERY", path: "/a//", query: SECRET, headers: secret }),
    );
    expect(requestLines(server)).toHaveLength(6);
    expect(JSON.stringify(server.log)).not.toContain(SECRET);
  });

  it.each([
    ["a body longer than it says", `AGTP/1.0 QUERY /a\r\nContent-Length: 2\r\n\r\n{}${SECRET}\r\n`],
    ["a broken field", `AGTP/1.0 QUERY /a\r\nAuthorization: Bearer\r\n${SECRET}\r\n\r\n`],
    ["a field name", `AGTP/1.0 QUERY /a\r\n${SECRET}\r\n\r\n`],
    ["a length", `AGTP/1.0 QUERY /a\r\nContent-Length: ${SECRET}\r\n\r\n`],
    ["a method", `AGTP/1.0 (${SECRET} /a\r\n\r\n`],
    ["a version", `${SECRET}/1.0 QUERY /a\r\n\r\n`],
  ])("shows what could not be framed: %s", async (_, bytes) => {
    const server = await openDaemon(serverFiles());
    const client = await server.connect();
    client.write(bytes);
    const replies = await client.closed();
    expect(replies.at(-1)?.status).toBe(400);
    expect(requestLines(server).at(-1)).toMatchObject({ status: 400, code: expect.any(String) });
    expect(JSON.stringify(server.log)).not.toContain(SECRET);
  });
});

describe("--log-level warn", () => {
  it("still logs every answer with a status of AGTP's own", async () => {
    const { configPath } = makeDeployment(serverFiles({ policies: {} }));
    const daemon = await startProgram(configPath, { args: ["--log-level", "warn"] });
    const client = await daemon.connect();
    client.write(
      Buffer.concat([
        ...[Buffer.from("AGTP/1.0 DISCOVER /\r\n\r\n"), Buffer.from("AGTP/1.0 BOOKK /\r\n\r\n")],
        ...[echo(1), encodeRequest({ method: "QUERY", path: "/echoes" }), call("QUERY", "/a")],
      ]),
    );
    await client.replies(5);
    daemon.child.kill("SIGTERM");
    await daemon.outcome;
    const statuses = daemon.log.filter(({ event }) => event === "request");
    expect(statuses.map(({ status }) => status)).toEqual([459, 262]);
  });
});

describe("what escapes from an operator's module", () => {
  it("is logged, without the secrets in it, and ends nothing", async () => {
    const module = `export const echo = ({ input }) => ({ body: input });
      export { echo as blob, echo as later, echo as soon, echo as wait };
      void Promise.reject(new Error("with " + process.env.DOOR_KEY + " and sk-canary-0123456789"));`;
    const { configPath } = makeDeployment(serverFiles({}, { "handlers.mjs": module }));
    const daemon = await startProgram(configPath, { env: { DOOR_KEY: "opensesame-please" } });
    const fault = await daemon.line("fault");
    expect(fault["trace"]).toContain("with [REDACTED:DOOR_KEY] and [REDACTED:api-key]");
    const client = await daemon.connect();
    client.write(echo(1));
    expect((await client.replies(1))[0]?.status).toBe(200);
    expect(JSON.stringify(daemon.log)).not.toMatch(/opensesame|sk-canary/);
  });
});

/** A stream whose reader takes what it is given, when it takes it. */
function createStream(take: (text: string, done: (error?: Error) => void) => void): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => take(chunk.toString(), done),
  });
}

describe("the log on standard output", () => {
  it("collects lines, and writes all of them in order", async () => {
    const written: string[] = [];
    const sink = openStdout(
      createStream((text, done) => {
        written.push(text);
        done();
      }),
    );
    const lines = Array.from({ length: 1_000 }, (_, index) => `{"index":${index}}\n`);
    for (const line of lines) sink.write(line);
    await sink.flush();
    expect(written.join("")).toBe(lines.join(""));
    expect(written.length).toBeLessThan(10);
  });

  it("keeps lines whole and in order, whatever they are made of and however long they are", async () => {
    let written = "";
    const sink = openStdout(
      createStream((text, done) => {
        written += text;
        done();
      }),
    );
    const lines = Array.from({ length: 400 }, (_, index) =>
      index % 150 === 149 ? `${"\u2603".repeat(70_000)}\n` : `${"grüezi ☃ 𝄞 ".repeat(index)}\n`,
    );
    for (const line of lines) sink.write(line);
    await sink.flush();
    expect(written === lines.join("")).toBe(true);
  });

  it("writes what was collected without being told to", async () => {
    const first = await new Promise((resolve) => {
      openStdout(createStream(resolve)).write("line\n");
    });
    expect(first).toBe("line\n");
  });

  it("drops lines rather than hold them for a reader that stalls", async () => {
    const stream = createStream(() => undefined);
    const sink = openStdout(stream);
    const line = `${"x".repeat(1_023)}\n`;
    for (let count = 0; count < 40 * 1024; count += 1) sink.write(line);
    expect(stream.writableLength).toBeGreaterThan(15 * 1024 * 1024);
    expect(stream.writableLength).toBeLessThan(17 * 1024 * 1024);
    await sink.flush();
  });

  it("outlives its reader", async () => {
    const sink = openStdout(createStream((_, done) => done(new Error("EPIPE"))));
    for (let count = 0; count < 3; count += 1) {
      sink.write("line\n");
      await sink.flush();
    }
  });

  it("outlives a full disk", async () => {
    const sink = openStdout(
      createStream(() => {
        throw new Error("ENOSPC");
      }),
    );
    sink.write("line\n");
    await sink.flush();
  });
});
