/** How the sidecar deals with connections: limits, order, hang-ups, drains and reloads. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { agentFile, configFile } from "../support/deployment.ts";
import {
  connectPlain,
  DESK,
  gatewayFiles,
  openGateway,
  statusesIn,
  withGateway,
} from "../support/gateway.ts";
import { bus, heard, serverFiles } from "../support/server-deployment.ts";

describe("the sidecar's limits", () => {
  it("refuse what is too large with HTTP's own words", async () => {
    const limits = {
      body_bytes: 100,
      request_line_bytes: 200,
      header_bytes: 2000,
      header_count: 20,
    };
    const { fetch, send, port } = await openGateway(gatewayFiles({ limits }));
    const large = await send("PUT", "/orders/7", { text: "x".repeat(100) });
    expect([large.status, large.headers.get("x-agtp-status")]).toEqual([413, "400"]);
    expect((await fetch(`/${"a".repeat(200)}`)).status).toBe(414);
    const headers = { "x-large": "x".repeat(2500) };
    expect((await fetch("/orders/7", { headers })).status).toBe(431);
    // What the request line leaves is not for the fields.
    const over = await fetch("/orders/7", { headers: { "x-large": "x".repeat(1950) } });
    expect([over.status, await over.json()]).toMatchObject([
      431,
      { error: { code: "header-too-large" } },
    ]);
    const many = Object.fromEntries([...Array(20).keys()].map((n) => [`x-${n}`, "1"]));
    expect((await fetch("/orders/7", { headers: many })).status).toBe(431);
    const chunked = await connectPlain(port);
    chunked.write("PUT /orders/7 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    chunked.write(`65\r\n${"x".repeat(0x65)}\r\n`);
    expect(statusesIn(await chunked.until("\r\n\r\n"))).toEqual([413]);
  });

  it("leave the answer to a client that goes on sending what is too large", async () => {
    const { send, port } = await openGateway(gatewayFiles({ limits: { body_bytes: 100 } }));
    const large = await send("PUT", "/orders/7", { text: "x".repeat(8_000_000) });
    expect([large.status, large.headers.get("x-agtp-status")]).toEqual([413, "400"]);
    // The connection serves on, once all of it was sent.
    const client = await connectPlain(port);
    client.write("PUT /orders/7 HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n");
    await client.until("body-too-large");
    client.write(
      `${"x".repeat(200)}GET /orders/7 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    expect(statusesIn(await client.closed())).toEqual([413, 200]);
  });

  it("refuse bodies that are encoded, or no JSON", async () => {
    const { fetch } = await openGateway();
    const put = (type: string, encoding: string) =>
      fetch("/orders/7", {
        ...{ method: "PUT", body: "{}" },
        headers: { "content-type": type, "content-encoding": encoding },
      });
    expect((await put("application/json", "gzip")).status).toBe(415);
    expect((await put("application/json", "identity")).status).toBe(200);
    expect((await put("text/plain", "identity")).status).toBe(400);
    expect((await put("nonsense", "identity")).status).toBe(400);
  });

  it("end requests that do not arrive", async () => {
    const limits = { header_timeout_ms: 200, body_timeout_ms: 100 };
    const { port } = await openGateway(gatewayFiles({ limits }));
    const silent = await connectPlain(port);
    const slow = await connectPlain(port);
    slow.write("PUT /orders/7 HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{");
    expect(statusesIn(await slow.closed())).toEqual([408]);
    expect(statusesIn(await silent.closed())).toEqual([408]);
  });

  it("let go of a client that does not read its answer", async () => {
    const limits = { idle_timeout_ms: 100, max_connections_per_address: 1 };
    const { port } = await openGateway(waitingFiles({ limits }));
    const size = 64 * 1024 * 1024;
    const deaf = connect({ host: "127.0.0.1", port });
    onTestFinished(() => void deaf.destroy());
    deaf.on("error", () => undefined);
    deaf.pause();
    deaf.write(`POST /blobs/query?size=${size} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
    let received = "";
    // There is room for one connection, once the first one is gone.
    while (received === "") {
      const client = await connectPlain(port);
      client.write("POST /echoes/query HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
      received = await client.until("}");
    }
    expect(statusesIn(received)).toEqual([200]);
  });

  it("hold for connections, in all and from one address", async () => {
    const limits = { max_connections_per_address: 1 };
    const { port } = await openGateway(gatewayFiles({ limits }));
    const first = await connectPlain(port);
    first.write("GET /orders/7 HTTP/1.1\r\nHost: x\r\n\r\n");
    await first.until("}");
    const second = await connectPlain(port);
    expect(await second.closed()).toBe("");
    first.write("GET /orders/7 HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(statusesIn(await first.until("}HTTP"))).toEqual([200, 200]);
  });

  it.each([
    ["no HTTP", "HELLO\r\n\r\n"],
    ["no host", "GET / HTTP/1.1\r\n\r\n"],
    ["two lengths", "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    [
      "a length beside chunks",
      "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
    ["a control character", "GET /a HTTP/1.1\r\nHost: x\r\nX-A: \u0001\r\n\r\n"],
    [
      "a broken chunk",
      "PUT /orders/7 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    [
      "a coding below the chunks",
      "PUT /orders/7 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ],
    [
      "a coding of the body in HTTP/1.0",
      "PUT /orders/7 HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET /orders/9 HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    [
      "two credentials, whoever is asked",
      "GET /openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
    ],
    ["two hosts", "GET /orders/7 HTTP/1.1\r\nHost: x\r\nHOST: y\r\n\r\n"],
    ["another major version", "GET /orders/7 HTTP/2.0\r\nHost: x\r\n\r\n"],
    ["a request line without a version", "GET /orders/7\r\n\r\n"],
  ])("answer %s with 400 and close", async (_what, octets) => {
    const { port } = await openGateway();
    const client = await connectPlain(port);
    client.write(octets);
    const received = await client.closed();
    expect(statusesIn(received)).toEqual([400]);
    expect(received.toLowerCase()).toContain("connection: close");
  });

  it("refuse a request without a Host field as whatever cannot be read, with a record", async () => {
    const { port } = await openGateway();
    const client = await connectPlain(port);
    const bare = "PUT /orders/8 HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
    const next = "GET /orders/9 HTTP/1.1\r\nHost: x\r\n\r\n";
    client.write(`GET /orders/7 HTTP/1.1\r\nHost: x\r\n\r\n${bare}${next}`);
    const received = await client.closed();
    expect(statusesIn(received)).toEqual([200, 400]);
    const [, refused = ""] = received.split(/(?=HTTP\/1\.1 400)/);
    expect(refused).toContain('"code":"invalid-framing","message":"the request has no Host field"');
    for (const name of ["server-id", "response-id", "audit-id", "x-agtp-status"]) {
      expect(refused.toLowerCase()).toContain(`\r\n${name}: `);
    }
    const older = await connectPlain(port);
    older.write("GET /orders/7 HTTP/1.0\r\n\r\n");
    expect(statusesIn(await older.closed())).toEqual([200]);
  });

  it.each(["websocket", "h2c"])("answer a request to change to %s, and close", async (protocol) => {
    const { port } = await openGateway();
    const client = await connectPlain(port);
    const upgrade = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`;
    // Node never reads what came with it: a client that waited for its answer would wait in vain.
    const next = "GET /orders/9 HTTP/1.1\r\nHost: x\r\n\r\n";
    client.write(`GET /orders/7 HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n${next}`);
    const received = await client.closed();
    expect(statusesIn(received)).toEqual([200]);
    expect(received.toLowerCase()).toContain("connection: close");
  });

  it("refuse a tunnel behind what came before it", async () => {
    const { port } = await openGateway();
    const client = await connectPlain(port);
    client.write(
      "GET /orders/7 HTTP/1.1\r\nHost: x\r\n\r\nCONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n",
    );
    const received = await client.closed();
    expect(statusesIn(received)).toEqual([200, 400]);
    expect(received).toContain("this is no proxy: CONNECT is not served");
    const rude = connect({ host: "127.0.0.1", port });
    rude.write("CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", () => rude.resetAndDestroy());
    await once(rude, "close");
    const next = await connectPlain(port);
    next.write("GET /orders/7 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(statusesIn(await next.closed())).toEqual([200]);
  });

  it("pass over what a client expects beyond 100-continue", async () => {
    const { port } = await openGateway();
    const client = await connectPlain(port);
    const fields = "Host: x\r\nExpect: 200-ok\r\nConnection: close\r\n";
    client.write(`GET /orders/7 HTTP/1.1\r\n${fields}\r\n`);
    expect(statusesIn(await client.closed())).toEqual([200]);
  });

  it("answer what came before what cannot be read", async () => {
    const { port } = await openGateway();
    const client = await connectPlain(port);
    client.write(
      "GET /orders/7 HTTP/1.1\r\nHost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\n\r\nBAD\r\n\r\n",
    );
    expect(statusesIn(await client.closed())).toEqual([200, 404, 400]);
  });

  it.each([
    ["behind what cannot be read", "BAD\r\n\r\n"],
    [
      "what is too large for the last answer",
      "PUT /orders/7 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9999999\r\n\r\n",
    ],
  ])("leave the answer to a client that goes on sending %s", async (_what, beginning) => {
    const { port, fetch } = await openGateway(gatewayFiles({ limits: { idle_timeout_ms: 3_000 } }));
    const client = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
    onTestFinished(() => void client.destroy());
    const ends: string[] = [];
    for (const event of ["error", "close"]) client.on(event, () => void ends.push(event));
    client.resume().write(beginning);
    await once(client, "end");
    // Each piece is read before the next one is sent.
    for (let piece = 0; piece < 3; piece += 1) {
      client.write("more");
      expect((await fetch("/orders/7")).status).toBe(200);
    }
    expect(ends).toEqual([]);
    // It has the time of an idle connection, however long it goes on.
    const sending = setInterval(() => client.write("more"), 20);
    onTestFinished(() => clearInterval(sending));
    await new Promise((resolve) => client.once("close", resolve));
  });
});

describe("whatever is sent to the sidecar", () => {
  it("is answered with a status of HTTP or not at all, and the next client is served", async () => {
    const limits = { header_timeout_ms: 100, body_timeout_ms: 100, body_bytes: 1000 };
    const { port, fetch } = await openGateway(gatewayFiles({ limits }));
    const piece = fc.oneof(
      fc.constantFrom(...["GET", "POST", "QUERY", "OPTIONS", " ", "/", "/orders/7/cancel", "?"]),
      fc.constantFrom(
        ...[" HTTP/1.1\r\n", "Host: x\r\n", "\r\n", "\r\n\r\n", "Content-Length: 3\r\n"],
      ),
      fc.constantFrom(
        ...["Transfer-Encoding: chunked\r\n", "Expect: 100-continue\r\n", "0\r\n\r\n"],
      ),
      fc.constantFrom(
        ...["Upgrade: h2c\r\n", "Connection: upgrade\r\n", "%00", "..", "\u0000", "\u00ff"],
      ),
      fc.string({ unit: "binary-ascii", maxLength: 8 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 24 }), async (pieces) => {
        const client = await connectPlain(port);
        client.write(pieces.join(""));
        client.end();
        const received = await client.closed();
        for (const status of statusesIn(received)) {
          expect([100, 200, 204, 400, 404, 405, 408, 413, 414, 415, 422, 431]).toContain(status);
        }
        expect(received === "" || received.startsWith("HTTP/1.1 ")).toBe(true);
      }),
      { numRuns: 60 },
    );
    expect((await fetch("/orders/7")).status).toBe(200);
  });
});

/** The deployment with a handler that waits, reached as its sidecar's own agent. */
function waitingFiles(tables: Readonly<Record<string, object>> = {}) {
  const files = serverFiles(withGateway({ limits: { max_pipelined: 2 }, ...tables }));
  const policies = { scope_required_for_invocation: false, identity: { unknown_agents: "accept" } };
  const desk = agentFile({ agent_id: DESK, name: "desk" });
  const config = configFile({
    policies,
    ...withGateway({ limits: { max_pipelined: 2 }, ...tables }),
  });
  return { ...files, "agtp-server.toml": config, "agents/desk.agent.json": desk };
}

function gate(id: string, more = ""): string {
  const body = JSON.stringify({ id, obeys: true });
  const head = `POST /gates/execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}`;
  return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
}

describe("a connection to the sidecar", () => {
  it("aborts the call of a client that hangs up", async () => {
    const { port } = await openGateway(waitingFiles());
    const client = await connectPlain(port);
    const started = heard("started", "h1");
    client.write(gate("h1"));
    await started;
    const aborted = heard("aborted", "h1");
    client.destroy();
    expect(await aborted).toBe("the caller left");
  });

  it("is asked one thing at a time, and answered in order, however much is sent ahead", async () => {
    const { port } = await openGateway(waitingFiles());
    const client = await connectPlain(port);
    const started: string[] = [];
    const ids = ["p1", "p2", "p3", "p4", "p5"];
    for (const id of ids) bus.once(`started ${id}`, () => started.push(id));
    const first = heard("started", "p1");
    client.write(ids.map((id) => gate(id)).join(""));
    await first;
    for (const [index, id] of ids.entries()) {
      expect(started).toEqual(ids.slice(0, index + 1));
      const next = ids[index + 1];
      const begun = next === undefined ? undefined : heard("started", next);
      bus.emit(`release ${id}`);
      await begun;
    }
    const received = await client.until('"p5"}');
    expect([...received.matchAll(/"id":"(p\d)"/g)].map(([, id]) => id)).toEqual(ids);
  });

  it("is answered and closed in a drain, whatever else it keeps open", async () => {
    const { daemon, port } = await openGateway(waitingFiles());
    const idle = await connectPlain(port);
    const busy = await connectPlain(port);
    const started = heard("started", "d1");
    busy.write(gate("d1"));
    await started;
    const drained = daemon.drain();
    expect(await idle.closed()).toBe("");
    bus.emit("release d1");
    const received = await busy.closed();
    expect(statusesIn(received)).toEqual([200]);
    expect(received.toLowerCase()).toContain("connection: close");
    await drained;
    await expect(connectPlain(port)).rejects.toThrow("ECONNREFUSED");
  });

  it("begins nothing that is sent behind the last answer of a drain", async () => {
    const { daemon, port } = await openGateway(waitingFiles({ limits: { body_bytes: 100 } }));
    const client = await connectPlain(port);
    const fields = "Host: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue";
    client.write(`PUT /orders/7 HTTP/1.1\r\n${fields}\r\n\r\n`);
    await client.until("100 Continue");
    const drained = daemon.drain();
    const begun: string[] = [];
    bus.once("started l2", () => begun.push("l2"));
    client.write(`65\r\n${"x".repeat(0x65)}\r\n`);
    await client.until("body-too-large");
    client.write(`0\r\n\r\n${gate("l2")}`);
    expect(statusesIn(await client.closed())).toEqual([100, 413]);
    expect(begun).toEqual([]);
    await drained;
  });

  it("is closed when a drain is out of time, and its call aborted", async () => {
    const { daemon, port } = await openGateway(waitingFiles({ limits: { drain_timeout_ms: 50 } }));
    const client = await connectPlain(port);
    const started = heard("started", "d2");
    client.write(gate("d2"));
    await started;
    const aborted = heard("aborted", "d2");
    await daemon.drain();
    await aborted;
    expect(await client.closed()).toBe("");
  });
});

describe("a reload of the sidecar", () => {
  it("serves the new deployment on connections that are open, and lets the old one answer", async () => {
    const server = await openGateway(waitingFiles());
    const client = await connectPlain(server.port);
    const started = heard("started", "r1");
    client.write(gate("r1"));
    await started;
    const renamed = { "X-Old": "1" };
    expect((await server.fetch("/echoes/query", { method: "POST", headers: renamed })).status).toBe(
      200,
    );
    const { "endpoints/echoes.toml": endpoint = "" } = serverFiles();
    writeFileSync(
      join(server.directory, "endpoints/echoes.toml"),
      String(endpoint).replace('"/echoes"', '"/novelties"'),
    );
    expect(await server.daemon.reload()).toEqual([]);
    expect((await server.fetch("/novelties/query", { method: "POST" })).status).toBe(200);
    expect((await server.fetch("/echoes/query", { method: "POST" })).status).toBe(404);
    const document = (await (await server.fetch("/openapi.json")).json()) as Record<string, object>;
    expect(Object.keys(document["paths"] ?? {})).toContain("/novelties/query");
    bus.emit("release r1");
    expect(statusesIn(await client.until('"r1"}'))).toEqual([200]);
  });

  it("changes nothing when the sidecar's agent is gone, and stops serving when it is switched off", async () => {
    const server = await openGateway();
    const write = (tables: Readonly<Record<string, object>>): void =>
      writeFileSync(join(server.directory, "agtp-server.toml"), configFile(tables));
    write(withGateway({ gateway: { agent: "nobody" } }));
    expect(await server.daemon.reload()).toEqual([
      expect.objectContaining({
        key: "gateway.agent",
        message:
          'no agent is called "nobody" (agents here: desk; without the key the server issues one)',
      }),
    ]);
    expect((await server.fetch("/orders/7")).status).toBe(200);
    write(withGateway({ gateway: { enabled: false } }));
    expect(await server.daemon.reload()).toEqual([]);
    expect((await server.fetch("/orders/7")).status).toBe(503);
    expect(server.log.some(({ key }) => key === "gateway.enabled")).toBe(true);
    write(withGateway({}));
    expect(await server.daemon.reload()).toEqual([]);
    expect((await server.fetch("/orders/7")).status).toBe(200);
  });
});
