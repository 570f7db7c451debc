import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { jsonExcess } from "../../src/base/json-bounds.ts";
import type { AgtpClient } from "../../src/client/agtp-client.ts";
import { createClient } from "../../src/client/client.ts";
import { lateConnection } from "../../src/client/connect.ts";
import { type AgtpPeer, type Answer, reply, startPeer } from "../support/agtp-peer.ts";
import { makeCertificate } from "../support/certificate.ts";

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(
  answer: Answer,
  options: Partial<Parameters<typeof createClient>[0]> = {},
): Promise<{ client: AgtpClient; peer: AgtpPeer }> {
  const peer = await startPeer(answer);
  cleanups.push(() => peer.close());
  const client = createClient({ host: "localhost", port: peer.port, ca: peer.cert, ...options });
  cleanups.push(() => client.close());
  return { client, peer };
}

const echoPath: Answer = (socket, request) =>
  socket.write(reply(JSON.stringify({ path: request.path })));
const closing: Answer = (socket, request) =>
  socket.end(reply(JSON.stringify({ path: request.path })));
const silent: Answer = () => {};

describe("a request", () => {
  it("resolves to status, header fields and body", async () => {
    const { client } = await start((socket) =>
      socket.write(reply('{"a":[1]}', "459 Method Violation", "Server-ID: acme\r\n")),
    );
    const response = await client.request({ method: "BOOK", path: "/room" });
    expect(response).toMatchObject({ status: 459, statusText: "Method Violation" });
    expect(response.headers.get("server-id")).toBe("acme");
    expect(response).toMatchObject({ body: { a: [1] }, text: '{"a":[1]}' });
  });

  it("has the text as it came, with the mark of its byte order, which JSON is read without", async () => {
    const text = '\ufeff{"a":[1]}';
    const { client } = await start((socket) => socket.write(reply(text)));
    expect(await client.request({ method: "QUERY" })).toMatchObject({ body: { a: [1] }, text });
  });

  it("has no JSON body when the text is none", async () => {
    const { client } = await start((socket) => socket.write(reply("plain")));
    expect(await client.request({ method: "QUERY" })).toMatchObject({
      body: undefined,
      text: "plain",
    });
  });

  it.each([
    ["nested without end", "[".repeat(1_000) + "]".repeat(1_000)],
    ["of more lists and objects than can be borne", `[${"{},".repeat(1_048_576)}1]`],
    ["that never closes what it opens", "[".repeat(2_000_000)],
  ])("has none either where the text is JSON %s", async (_, text) => {
    const { client } = await start((socket) => socket.write(reply(text)));
    expect(await client.request({ method: "QUERY" })).toMatchObject({ body: undefined, text });
  });

  it("carries identity, scopes, a UUIDv7 and its own length", async () => {
    const { client, peer } = await start(echoPath);
    await client.request({
      ...{ method: "QUERY", path: "/facts", query: "a=b", agentId: "f00", ownerId: "acme" },
      ...{ scopes: ["a:b", "c:d"], headers: [["X-Odd", "é"]] },
    });
    const [request] = peer.requests;
    expect(request).toMatchObject({ method: "QUERY", path: "/facts", query: "a=b" });
    expect(Object.fromEntries(request!.headers)).toEqual({
      "agent-id": "f00",
      "owner-id": "acme",
      "authority-scope": "a:b, c:d",
      "request-id": expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      "content-length": "0",
      "x-odd": "é",
    });
  });

  it("sends plain parameters, or an envelope around them", async () => {
    const { client, peer } = await start(echoPath);
    await client.request({ method: "BOOK", parameters: { guest: "é" } });
    await client.request({ method: "BOOK", parameters: { guest: 1 }, envelope: true });
    const envelope = { taskId: "t", sessionId: "s", context: { a: 1 } };
    await client.request({ method: "BOOK", envelope });
    const bodies = peer.requests.map(({ body }) => JSON.parse(Buffer.from(body).toString()));
    expect(bodies).toEqual([
      { guest: "é" },
      { method: "BOOK", parameters: { guest: 1 } },
      { method: "BOOK", task_id: "t", session_id: "s", parameters: {}, context: { a: 1 } },
    ]);
    expect(peer.requests[0]?.headers.get("content-type")).toBe("application/vnd.agtp+json");
  });

  it("lets a header field of the caller stand instead of the client's own", async () => {
    const { client, peer } = await start(echoPath);
    const headers = [
      ["request-id", "mine"],
      ["content-type", "text/plain"],
    ] as const;
    await client.request({ method: "EXECUTE", body: "x", headers });
    expect(peer.requests[0]?.headers.get("request-id")).toBe("mine");
    expect(peer.requests[0]?.headers.get("content-type")).toBe("text/plain");
  });

  it.each([
    ["a CR in a value", { headers: [["A", "b\r\nC: d"]] }],
    ["a character in a value that would be written as LF", { headers: [["A", "\u010a"]] }],
    ["a name that is no token", { headers: [["A b", "c"]] }],
    ["a length of its own", { headers: [["content-length", "0"]] }],
    ["a transfer coding", { headers: [["Transfer-Encoding", "chunked"]] }],
    ["a line end in an identity", { agentId: "a\nB: c" }],
    ["a line end in a scope", { scopes: ["a:b\r\nX: y"] }],
    ["a space in the path", { path: "/a b" }],
    ["a line end in the path", { path: "/a\r\nX: y" }],
    ["a fragment", { path: "/a#b" }],
    ["a path that is not ASCII", { path: "/é" }],
    ["a line end in the query", { query: "\r\n" }],
    ["an empty path", { path: "" }],
    ["a method that is no token", { method: "A B" }],
    ["two bodies", { parameters: {}, body: "" }],
  ])("is refused before anything is sent for %s", async (_, part) => {
    const { client, peer } = await start(echoPath);
    const asked = client.request({ method: "BOOK", ...(part as object) });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_REQUEST" });
    expect(peer.connections).toBe(0);
  });
});

// AGTP "Connection Lifetime"
describe("connections", () => {
  it("are reused", async () => {
    const { client, peer } = await start(echoPath);
    for (const path of ["/a", "/b", "/c"]) await client.request({ method: "QUERY", path });
    expect(peer.connections).toBe(1);
  });

  it("carry pipelined requests, answered in order, once the peer has kept one open", async () => {
    let held: (() => void)[] = [];
    const { client, peer } = await start((socket, request, index) => {
      if (index < 2) return void echoPath(socket, request, index);
      held.push(() => echoPath(socket, request, index));
      // Nobody is answered until all are there, so they cannot have been sent one by one.
      if (held.length === 20) for (const answer of held.splice(0)) answer();
    });
    held = [];
    for (const path of ["/x", "/y"]) await client.request({ method: "QUERY", path });
    const paths = Array.from({ length: 20 }, (_, index) => `/${index}`);
    const responses = await Promise.all(
      paths.map((path) => client.request({ method: "BOOK", path })),
    );
    expect(responses.map(({ body }) => body)).toEqual(paths.map((path) => ({ path })));
    expect(peer.connections).toBe(1);
  });

  it("are opened anew, without a word, to a peer that closes after each response", async () => {
    const { client, peer } = await start(closing);
    const paths = ["/a", "/b", "/c", "/d"];
    for (const path of paths) {
      expect((await client.request({ method: "BOOK", path })).body).toEqual({ path });
    }
    const together = paths.map((path) => client.request({ method: "BOOK", path }));
    expect((await Promise.all(together)).map(({ body }) => body)).toEqual(
      paths.map((path) => ({ path })),
    );
    expect(peer.connections).toBe(8);
    expect(peer.requests).toHaveLength(8);
  });

  it("may be several, to have several requests answered out of order", async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    // Which connection is there first is open.
    const answer: Answer = async (socket, request, index) => {
      if (request.path === "/slow") await released;
      echoPath(socket, request, index);
    };
    const { client, peer } = await start(answer, { maxConnections: 2 });
    const first = client.request({ method: "QUERY", path: "/slow" });
    expect((await client.request({ method: "QUERY", path: "/fast" })).status).toBe(200);
    release();
    expect((await first).body).toEqual({ path: "/slow" });
    expect(peer.connections).toBe(2);
  });

  it("never half-close: the peer sees no end before its answer is out", async () => {
    const order: string[] = [];
    const { client } = await start((socket, request, index) => {
      socket.on("end", () => order.push("end"));
      setImmediate(() => {
        order.push("answer");
        echoPath(socket, request, index);
      });
    });
    await client.request({ method: "QUERY" });
    await client.close();
    expect(order[0]).toBe("answer");
  });
});

describe("a connection that closes before any answer", () => {
  const closeFirst: Answer = (socket, request, index) => {
    if (index === 0) socket.destroy();
    else echoPath(socket, request, index);
  };

  it.each([
    ["an idempotent method", { method: "QUERY" }],
    ["an Idempotency-Key", { method: "BOOK", headers: [["idempotency-key", "k"]] as const }],
  ])("is not noticed with %s: the request is sent once more", async (_, request) => {
    const { client, peer } = await start(closeFirst);
    expect((await client.request(request)).status).toBe(200);
    expect(peer.requests).toHaveLength(2);
    expect(peer.requests[1]?.headers.get("request-id")).toBe(
      peer.requests[0]?.headers.get("request-id"),
    );
  });

  it("is an error when the request may have been acted upon", async () => {
    const { client, peer } = await start(closeFirst);
    const asked = client.request({ method: "BOOK" });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_CLOSED" });
    expect(peer.requests).toHaveLength(1);
    expect((await client.request({ method: "BOOK" })).status).toBe(200);
  });

  it("is an error the second time", async () => {
    const { client, peer } = await start((socket) => socket.destroy());
    const asked = client.request({ method: "QUERY" });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_CLOSED" });
    expect(peer.requests).toHaveLength(2);
  });
});

describe("a peer that misbehaves", () => {
  it("by closing within a response is not asked again", async () => {
    const { client, peer } = await start((socket) => socket.end(reply("1234").subarray(0, -2)));
    await expect(client.request({ method: "QUERY" })).rejects.toMatchObject({
      code: "ERR_AGTP_CLOSED",
      message: expect.stringContaining("middle of a response"),
    });
    expect(peer.requests).toHaveLength(1);
  });

  it.each([
    ["no AGTP", "HTTP/1.1 200 OK\r\n\r\n"],
    ["no length it can have", "AGTP/1.0 200 OK\r\nContent-Length: x\r\n\r\n"],
  ])("by sending %s is an error", async (_, bytes) => {
    const { client } = await start((socket) => socket.write(bytes));
    const asked = client.request({ method: "QUERY" });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_RESPONSE" });
  });

  it("by sending more than the client takes is an error before the body comes", async () => {
    const { client } = await start(
      (socket) => socket.write("AGTP/1.0 200 OK\r\nContent-Length: 11\r\n\r\n"),
      { limits: { headBytes: 1000, bodyBytes: 10 } },
    );
    const asked = client.request({ method: "QUERY" });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_RESPONSE" });
  });

  it("by saying more than its client parses is an error", async () => {
    const { client } = await start((socket) => socket.write(reply(`[${"0,".repeat(20_000)}0]`)), {
      excessOf: (body) => jsonExcess(body, { depth: 64, members: 1_000, values: 10_000 }),
    });
    const asked = client.request({ method: "QUERY" });
    await expect(asked).rejects.toMatchObject({
      ...{ code: "ERR_AGTP_RESPONSE", message: "the response has more than 10000 values" },
    });
  });

  it("is not kept as a connection when its peer goes on where nothing was asked", async () => {
    let closed: Promise<unknown> | undefined;
    const { client } = await start((socket) => {
      closed = once(socket, "close");
      socket.on("error", () => undefined);
      socket.write(Buffer.concat([reply(), Buffer.from("AGTP/1.0 200 OK")]));
    });
    expect((await client.request({ method: "QUERY" })).status).toBe(200);
    await closed;
  });

  it("by answering twice does not answer the next request with it", async () => {
    const { client } = await start((socket, request, index) => {
      socket.write(Buffer.concat([reply(`"${request.path}"`), reply('"extra"')]));
      return index;
    });
    expect((await client.request({ method: "QUERY", path: "/a" })).body).toBe("/a");
    expect((await client.request({ method: "QUERY", path: "/b" })).body).toBe("/b");
  });
});

describe("deadlines", () => {
  it("end a request that is not answered, and its connection", async () => {
    const { client, peer } = await start((socket, request, index) => {
      if (index !== 1) echoPath(socket, request, index);
    });
    // The deadline is for the answer: the handshake is done by then.
    expect((await client.request({ method: "QUERY" })).status).toBe(200);
    const asked = client.request({ method: "QUERY", timeoutMs: 20 });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_TIMEOUT" });
    expect((await client.request({ method: "QUERY" })).status).toBe(200);
    expect(peer.connections).toBe(2);
  });

  it("end a connection whose other requests are answered, when the last of it was given up", async () => {
    const ended: Promise<unknown>[] = [];
    let release: () => void = () => undefined;
    const controller = new AbortController();
    const { client } = await start((socket, request, index) => {
      if (index === 0) ended.push(once(socket, "close"));
      if (index < 2) echoPath(socket, request, index);
      if (index === 2) release = () => echoPath(socket, request, index);
      // This one is never answered.
      if (index === 3) controller.abort();
    });
    for (const path of ["/x", "/y"]) await client.request({ method: "QUERY", path });
    const earlier = client.request({ method: "BOOK", path: "/a" });
    const { signal } = controller;
    const given = client.request({ method: "BOOK", path: "/b", signal });
    await expect(given).rejects.toMatchObject({ code: "ERR_AGTP_ABORTED" });
    release();
    expect((await earlier).status).toBe(200);
    await Promise.all(ended);
    await client.close();
  });

  it("may be further away than a timer can wait", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => void timers.mockRestore());
    const never = { timeoutMs: Infinity, connectTimeoutMs: Infinity, idleTimeoutMs: Infinity };
    const { client } = await start(echoPath, never);
    const asked = client.request({ method: "QUERY", path: "/a" });
    expect((await asked).body).toEqual({ path: "/a" });
    const delays = timers.mock.calls.map(([, delay]) => delay);
    // One for the request, one for the handshake, and one for the time that the connection is unused.
    expect(delays.filter((delay) => delay === 2 ** 31 - 1)).toHaveLength(3);
  });

  it("end a request that still waits for its turn", async () => {
    const { client, peer } = await start(silent);
    const first = client.request({ method: "QUERY", timeoutMs: 60 });
    const second = client.request({ method: "QUERY", timeoutMs: 20 });
    await expect(second).rejects.toMatchObject({ code: "ERR_AGTP_TIMEOUT" });
    await expect(first).rejects.toMatchObject({ code: "ERR_AGTP_TIMEOUT" });
    expect(peer.requests.length).toBeLessThan(2);
  });

  it("end a handshake that does not come about", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const client = createClient({ host: "127.0.0.1", port, connectTimeoutMs: 20 });
    const asked = client.request({ method: "QUERY" });
    const late = (host: string) => `no TLS connection to ${host}:${port} within 20 ms`;
    const message = late("127.0.0.1");
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_TIMEOUT", message });
    expect(lateConnection({ host: "::1", port }, 20)).toBe(late("[::1]"));
    await client.close();
    server.close();
  });

  it("are the caller's too, by an AbortSignal", async () => {
    const { client, peer } = await start(silent);
    const controller = new AbortController();
    const asked = client.request({ method: "QUERY", signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(asked).rejects.toMatchObject({
      code: "ERR_AGTP_ABORTED",
      cause: expect.objectContaining({ message: "enough" }),
    });
    const late = client.request({ method: "QUERY", signal: controller.signal });
    await expect(late).rejects.toMatchObject({ code: "ERR_AGTP_ABORTED" });
    expect(peer.requests).toHaveLength(0);
  });
});

describe("trust", () => {
  it("is refused to a certificate that nobody vouched for", async () => {
    const { client } = await start(echoPath, { ca: undefined });
    const asked = client.request({ method: "QUERY" });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_TLS" });
  });

  it("is refused to a certificate for another name", async () => {
    const { cert, key } = await makeCertificate({ names: ["other.example"] });
    const peer = await startPeer(echoPath, { cert, key });
    cleanups.push(() => peer.close());
    const client = createClient({ host: "localhost", port: peer.port, ca: cert });
    const asked = client.request({ method: "QUERY" });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_TLS" });
    await client.close();
  });

  it("can be given to anybody", async () => {
    const { client } = await start(echoPath, { ca: undefined, rejectUnauthorized: false });
    expect((await client.request({ method: "QUERY" })).status).toBe(200);
  });

  it("is shown with a certificate of the client's own", async () => {
    const own = await makeCertificate({ names: ["agent.example"] });
    const peer = await startPeer(echoPath, { requestCert: true, ca: own.cert });
    cleanups.push(() => peer.close());
    const options = { host: "127.0.0.1", port: peer.port, ca: peer.cert };
    const known = createClient({ ...options, cert: own.cert, key: own.key });
    expect((await known.request({ method: "QUERY" })).status).toBe(200);
    await known.close();
    const stranger = createClient(options);
    const asked = stranger.request({ method: "QUERY" });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_TLS" });
    await stranger.close();
  });

  it("in a certificate that cannot be read is an error, and not the last word", async () => {
    const { client } = await start(echoPath, { cert: "nonsense", key: "nonsense" });
    for (let time = 0; time < 2; time += 1) {
      const asked = client.request({ method: "QUERY" });
      await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_TLS" });
    }
  });

  // AGTP "Transport"
  it.each([
    [
      "TLS 1.3",
      (key: string, cert: string) => createTlsServer({ key, cert, maxVersion: "TLSv1.2" }),
    ],
    ["TLS", () => createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))],
  ])("is not asked for where nobody speaks %s", async (protocol, make) => {
    const { cert, key } = await makeCertificate();
    const server = make(key, cert).listen(0, "127.0.0.1");
    cleanups.push(async () => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const client = createClient({ host: "127.0.0.1", port, ca: cert });
    await expect(client.request({ method: "QUERY" })).rejects.toMatchObject({
      code: "ERR_AGTP_TLS",
      message: `127.0.0.1:${port} does not speak ${protocol}`,
    });
  });

  it("says that a server wants a certificate, and no more of what the TLS library says", async () => {
    const peer = await startPeer(() => undefined, { requestCert: true });
    cleanups.push(() => peer.close());
    const client = createClient({ host: "127.0.0.1", port: peer.port, ca: peer.cert });
    const refused = client.request({ method: "QUERY" });
    await expect(refused).rejects.toThrow(/asks for a certificate of the client$|closed before/);
  });

  it("is not what ended a connection that somebody put octets into: the request may have been done", async () => {
    let toClient: Socket | undefined;
    // A record of TLS that nobody has sealed.
    const forged = Buffer.concat([Buffer.from([23, 3, 3, 0, 32]), Buffer.alloc(32, 7)]);
    const peer = await startPeer(() => toClient?.write(forged));
    cleanups.push(() => peer.close());
    const relay = createServer((socket) => {
      toClient = socket;
      const onward = connect(peer.port, "127.0.0.1");
      for (const one of [socket, onward]) one.on("error", () => undefined);
      socket.pipe(onward).pipe(socket);
    }).listen(0, "127.0.0.1");
    cleanups.push(async () => void relay.close());
    await once(relay, "listening");
    const { port } = relay.address() as AddressInfo;
    const client = createClient({ host: "127.0.0.1", port, ca: peer.cert });
    const asked = client.request({ method: "DELEGATE" });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_CLOSED" });
    expect(peer.requests).toHaveLength(1);
    await client.close();
  });

  it("needs no word for a server that is not there", async () => {
    const peer = await startPeer(echoPath);
    await peer.close();
    const client = createClient({ host: "localhost", port: peer.port });
    const asked = client.request({ method: "QUERY" });
    await expect(asked).rejects.toMatchObject({ code: "ERR_AGTP_CONNECT" });
    await client.close();
  });
});

describe("close", () => {
  it("waits for what is under way, and takes nothing more", async () => {
    const { client } = await start(echoPath);
    const asked = client.request({ method: "QUERY", path: "/a" });
    const closed = client.close();
    const late = client.request({ method: "QUERY" });
    await expect(late).rejects.toMatchObject({ code: "ERR_AGTP_CLOSED" });
    expect((await asked).body).toEqual({ path: "/a" });
    await closed;
  });
});
