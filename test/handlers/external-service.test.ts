import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import { setImmediate } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { sharedEncoding } from "../../src/base/kept-text.ts";
import type { ExternalServiceBinding } from "../../src/endpoint/endpoint.ts";
import { createExternalService } from "../../src/handlers/external-service.ts";
import type { Handler, HandlerResult } from "../../src/handlers/handler.ts";
import { createUpstreamPools, type UpstreamPools } from "../../src/handlers/upstream-pools.ts";
import { parseUpstreamUrl } from "../../src/handlers/upstream-url.ts";
import { makeCertificate } from "../support/certificate.ts";
import { makeUpstreamBinding } from "../support/endpoint-definition.ts";
import { type CallOptions, makeCall } from "../support/handler-call.ts";
import { type HttpsUpstream, type SeenRequest, startUpstream } from "../support/https-upstream.ts";

let upstream: HttpsUpstream;
let pools: UpstreamPools;

beforeAll(async () => {
  upstream = await startUpstream();
  pools = createUpstreamPools();
});
afterEach(() => upstream.respond((response) => response.end("{}")));
afterAll(async () => {
  await pools.close();
  await upstream.close();
});

function createUpstreamHandler(binding: ExternalServiceBinding, from: UpstreamPools): Handler {
  const url = parseUpstreamUrl(binding.url);
  if (typeof url === "string") throw new Error(url);
  return createExternalService(binding, url, from).handler;
}

const HEAD = "HTTP/1.1 200 OK\r\n";

type BindingChoice = Partial<ExternalServiceBinding> & { readonly path?: string };

/** Calls the upstream through a handler bound as given. */
async function call(
  { path = "/", ...rest }: BindingChoice = {},
  options: CallOptions = {},
): Promise<HandlerResult> {
  const binding = makeUpstreamBinding({ url: upstream.origin + path, ca: upstream.ca, ...rest });
  return createUpstreamHandler(binding, pools)(makeCall(options));
}

function lastSeen(): SeenRequest {
  const seen = upstream.seen.at(-1);
  if (seen === undefined) throw new Error("the upstream was not asked");
  return seen;
}

// AGTP-API §12.3
describe("the request of createExternalService", () => {
  it("fills the URL, maps the query and sends the rest as a renamed JSON body", async () => {
    const input = {
      property_id: "a/b c",
      check_in: "2026-01-02",
      tags: ["x", "y z"],
      filter: { a: 1 },
      nothing: null,
      guest_id: "g1",
      nights: 2,
    };
    const binding = {
      path: "/v1/hotels/{property_id}/rooms?fixed=1",
      query: { check_in: "from", tags: "t", filter: "f", nothing: "n", missing: "m" },
      inputTransform: { guest_id: "guestId" },
    };
    await call(binding, { input });
    const { method, url, headers, body } = lastSeen();
    expect(method).toBe("POST");
    const query = "fixed=1&from=2026-01-02&t=x&t=y%20z&f=%7B%22a%22%3A1%7D";
    expect(url).toBe(`/v1/hotels/a%2Fb%20c/rooms?${query}`);
    expect(JSON.parse(body)).toEqual({ guestId: "g1", nights: 2 });
    expect(headers).toMatchObject({
      "content-type": "application/json",
      accept: "application/json",
      "accept-encoding": "identity",
      "user-agent": "agtpd",
    });
  });

  it.each(["GET", "HEAD", "DELETE", "OPTIONS"] as const)(
    "sends the rest of %s in the query string, without a body",
    async (method) => {
      const input = { id: 7, a: "1+1", b: [1, 2], skipped: null };
      await call({ method, path: "/x/{id}", inputTransform: { a: "alpha" } }, { input });
      const { url, headers, body } = lastSeen();
      const [path, query = ""] = url.split("?");
      expect(path).toBe("/x/7");
      expect(query.split("&").sort()).toEqual(["alpha=1%2B1", "b=1", "b=2"]);
      expect(body).toBe("");
      expect(headers["content-type"]).toBeUndefined();
    },
  );

  it.each(["POST", "PUT", "PATCH"] as const)("sends %s with {} for no input", async (method) => {
    await call({ method });
    expect(lastSeen()).toMatchObject({ method, body: "{}" });
  });

  it("sends configured headers as written, over its own", async () => {
    const headers = { Authorization: "Bearer t0ken", "User-Agent": "acme/1", "X-Tenant": "é" };
    await call({ headers });
    expect(lastSeen().headers).toMatchObject({
      authorization: "Bearer t0ken",
      "user-agent": "acme/1",
    });
  });

  // AGTP-API §12.3: "MUST NOT forward AGTP-Agent-ID or AGTP-Principal-ID by default."
  it("forwards nothing of the caller", async () => {
    await call({}, { input: { a: 1 } });
    const sent = JSON.stringify(lastSeen());
    for (const secret of ["a".repeat(64), "Bearer caller", "of-the-caller"]) {
      expect(sent).not.toContain(secret);
    }
  });

  it("treats the key __proto__ as any other", async () => {
    await call({ inputTransform: { a: "__proto__" } }, { input: { a: { b: 1 } } });
    expect(lastSeen().body).toBe('{"__proto__":{"b":1}}');
  });
});

describe("the result of createExternalService", () => {
  it.each([
    ["an object", { a: 1 }],
    ["an array", [1, "b"]],
    ["null", null],
    ["a string", "text"],
    ["a number", 7],
  ])("passes %s through", async (_, body) => {
    upstream.respondJson(201, body);
    expect(await call()).toEqual({ body });
  });

  it("makes {} of an empty 2xx, of a 204 and of HEAD", async () => {
    upstream.respond((response) => response.writeHead(200).end());
    expect(await call()).toEqual({ body: {} });
    upstream.respond((response) => response.writeHead(204).end());
    expect(await call()).toEqual({ body: {} });
    upstream.respond((response) => response.writeHead(200, { "content-length": "9" }).end());
    expect(await call({ method: "HEAD" })).toEqual({ body: {} });
  });

  it("renames the keys of an object, or of each object of an array, inverted", async () => {
    const outputTransform = { reservation_id: "confirmationNumber" };
    upstream.respondJson(200, { confirmationNumber: "c1", reservation_id: "shadowed", x: {} });
    expect(await call({ outputTransform })).toEqual({ body: { reservation_id: "c1", x: {} } });
    upstream.respondJson(200, [{ confirmationNumber: "c1" }, 3, [{ confirmationNumber: 1 }]]);
    expect(await call({ outputTransform })).toEqual({
      body: [{ reservation_id: "c1" }, 3, [{ confirmationNumber: 1 }]],
    });
  });

  it("does not let an upstream reach a prototype", async () => {
    upstream.respond((response) => response.end('{"__proto__":{"polluted":1},"a":2}'));
    const result = await call({ outputTransform: { b: "a" } });
    expect(JSON.stringify(result)).toBe('{"body":{"__proto__":{"polluted":1},"b":2}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  // RFC 8259 §6
  it("has the numbers of the upstream to the digit, under whatever name", async () => {
    const encodingOf = async (choice: BindingChoice): Promise<unknown> => {
      const result = await call(choice);
      const { body } = result as { body: object };
      return sharedEncoding(body);
    };
    const text = '{ "id": 9007199254740993, "list": [1, 1234567890123456789], "id_text": "é" }';
    upstream.respond((response) => response.end(text));
    expect(await encodingOf({})).toBe(
      '{"id":9007199254740993,"list":[1,1234567890123456789],"id_text":"é"}',
    );
    expect(await encodingOf({ outputTransform: { number: "id" } })).toBe(
      '{"list":[1,1234567890123456789],"id_text":"é","number":9007199254740993}',
    );
    // RFC 8259 §8.1
    upstream.respond((response) => response.end('\ufeff{"id": 9007199254740993}'));
    expect(await encodingOf({})).toBe('{"id":9007199254740993}');
    upstream.respond((response) => response.end('{"far": [-1E+400], "near": 1e300}'));
    expect(await encodingOf({})).toBe('{"far":[-1E+400],"near":1e+300}');
    upstream.respond((response) => response.end('{"id": 9007199254740992}'));
    expect(await encodingOf({})).toBeUndefined();
  });

  it("ignores informational responses", async () => {
    upstream.respond((response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: "</a>; rel=preload" });
      response.end('{"a":1}');
    });
    expect(await call()).toEqual({ body: { a: 1 } });
  });
});

// AGTP-API §12.3, Table 8
describe("the errors of createExternalService", () => {
  it.each([
    [400, "upstream_error"],
    [401, "upstream_authentication_failed"],
    [403, "upstream_authentication_failed"],
    [404, "upstream_error"],
    [429, "upstream_error"],
    [500, "upstream_error"],
    [503, "upstream_error"],
    [301, "upstream_error"],
    [304, "upstream_error"],
  ])("calls %i %s, with the status as its only detail", async (status, error) => {
    upstream.respond((response) => {
      response.writeHead(status, { location: `${upstream.origin}/elsewhere` });
      response.end(status === 304 ? undefined : '{"secret":"inner"}');
    });
    const asked = upstream.seen.length;
    const result = await call();
    expect(result).toEqual({
      error,
      message: `the upstream answered ${status}`,
      details: { status },
    });
    expect(upstream.seen).toHaveLength(asked + 1);
  });

  it.each([401, 404, 409, 500, 302])("maps %i where the endpoint does", async (status) => {
    upstream.respondJson(status, {});
    const errorMap = { [status]: "room_unavailable" };
    expect(await call({ errorMap })).toMatchObject({
      error: "room_unavailable",
      details: { status },
    });
  });

  it.each([
    ["text", Buffer.from("<html>")],
    ["an abyss", Buffer.from(`${"[".repeat(5000)}${"]".repeat(5000)}`)],
    ["truncated JSON", Buffer.from('{"a":')],
    ["white space", Buffer.from("  ")],
    ["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["too many names", `{${Array.from({ length: 60_000 }, (_, at) => `"n${at}":0`).join()}}`],
  ])("calls a 2xx of %s malformed", async (_, body) => {
    upstream.respond((response) => response.end(body));
    expect(await call()).toMatchObject({
      error: "upstream_malformed_response",
      details: { status: 200 },
    });
  });

  it("calls a compressed 2xx malformed", async () => {
    upstream.respond((response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.end(gzipSync('{"a":1}'));
    });
    expect(await call()).toMatchObject({ error: "upstream_malformed_response" });
  });

  it("takes a response of exactly the cap, and refuses one byte more, announced or not", async () => {
    const maxResponseBytes = 64;
    const exact = JSON.stringify("x".repeat(62));
    upstream.respond((response) => response.end(exact));
    expect(await call({ maxResponseBytes })).toEqual({ body: "x".repeat(62) });
    const longer = JSON.stringify("x".repeat(63));
    for (const headers of [{ "content-length": "65" }, { "transfer-encoding": "chunked" }]) {
      upstream.respond((response) => response.writeHead(200, headers).end(longer));
      const result = await call({ maxResponseBytes });
      expect(result).toMatchObject({ error: "upstream_error", details: { status: 200 } });
    }
  });

  it("stops receiving an endless response at the cap", async () => {
    const closed = new Promise((resolve) => {
      upstream.respond((response) => {
        const write = (): void => {
          while (!response.destroyed && response.write("x".repeat(65_536)));
        };
        response.on("drain", write).on("close", resolve);
        write();
      });
    });
    expect(await call({ maxResponseBytes: 1000 })).toMatchObject({ error: "upstream_error" });
    await closed;
  });
});

describe("the failures of createExternalService", () => {
  it.each([
    ["before a response", false],
    ["in the middle of one", true],
  ])("calls a reset %s upstream_connection_error", async (_, hasHead) => {
    upstream.respond((response) => {
      if (!hasHead) response.socket?.destroy();
      else response.write('{"a":', () => response.socket?.destroy());
    });
    expect(await call()).toMatchObject({ error: "upstream_connection_error" });
  });

  it("calls a refused connection upstream_connection_error", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const result = await call({ url: `https://127.0.0.1:${port}/` });
    expect(result).toMatchObject({ error: "upstream_connection_error" });
  });

  it("says whether a request was sent before its connection broke", async () => {
    upstream.respond((response) => response.socket?.destroy());
    expect(await call()).toMatchObject({
      message: expect.stringContaining("the upstream may have done what it asks"),
      details: { sent: true },
    });
    const { cert } = await makeCertificate();
    expect(await call({ ca: cert })).toMatchObject({
      message: "the upstream cannot be reached",
      details: { sent: false },
    });
  });

  it.each([
    ["another protocol", "SSH-2.0-Server\r\n"],
    ["two lengths", `${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `],
    ["a length beside chunks", `${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ["a chunk without a length", `${HEAD}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`],
    ["a head without an end", `${HEAD}X: ${"x".repeat(40_000)}\r\n`],
  ])("calls what is not HTTP malformed: %s", async (_, octets) => {
    upstream.respond((response) => void response.socket?.write(octets));
    expect(await call({ method: "POST" })).toEqual({
      error: "upstream_malformed_response",
      message: "the upstream's response is not HTTP",
    });
  });

  it("calls a peer that speaks no TLS upstream_connection_error", async () => {
    const server = createServer((socket) =>
      socket
        .on("error", () => {})
        .resume()
        .end("hello\n"),
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as { port: number };
    const result = await call({ url: `https://127.0.0.1:${port}/` });
    expect(result).toMatchObject({ error: "upstream_connection_error" });
    await new Promise((resolve) => server.close(resolve));
  });

  it("trusts neither another CA nor the system's for a private one, nor another name", async () => {
    const { cert } = await makeCertificate();
    expect(await call({ ca: cert })).toMatchObject({ error: "upstream_connection_error" });
    const { ca: _, ...binding } = makeUpstreamBinding({ url: upstream.origin, ca: upstream.ca });
    const handler = createUpstreamHandler(binding, pools);
    const result = await handler(makeCall());
    expect(result).toMatchObject({ error: "upstream_connection_error" });
    const asked = upstream.seen.length;
    const url = `https://127.0.0.2:${upstream.port}/`;
    expect(await call({ url })).toMatchObject({ error: "upstream_connection_error" });
    expect(upstream.seen).toHaveLength(asked);
  });

  it("tells the operator's log what it keeps from the caller", async () => {
    upstream.respond((response) => response.socket?.destroy());
    const binding = makeUpstreamBinding({ url: `${upstream.origin}/secret`, ca: upstream.ca });
    const testCall = makeCall();
    const result = await createUpstreamHandler(binding, pools)(testCall);
    expect(JSON.stringify(result)).not.toContain(upstream.origin);
    expect(testCall.logged).toMatchObject([{ upstream: upstream.origin }]);
    expect(JSON.stringify(testCall.logged)).not.toContain("/secret");
  });

  it.each([
    ["the head", false],
    ["the rest of the body", true],
  ])("gives up waiting for %s at the endpoint's own deadline", async (_, hasHead) => {
    const closed = new Promise((resolve) => {
      upstream.respond((response) => {
        response.on("close", resolve);
        if (hasHead) response.write('{"a":');
      });
    });
    expect(await call({ timeoutMs: 1_000 })).toMatchObject({ error: "upstream_timeout" });
    await closed;
  });

  it.each([
    ["before the response", false],
    ["during the response", true],
  ])("aborts the upstream request when the caller leaves %s", async (_, hasHead) => {
    const caller = new AbortController();
    const closed = new Promise((resolve) => {
      upstream.respond((response) => {
        response.on("close", resolve);
        if (hasHead) response.write('{"a":', () => caller.abort());
        else caller.abort();
      });
    });
    const result = await call({}, { signal: caller.signal });
    await closed;
    expect(result).toMatchObject({ error: "upstream_timeout" });
  });

  it("gives up an upstream that sends interim responses on and on", async () => {
    upstream.respond((response) => {
      for (let sent = 0; sent < 100; sent += 1) response.writeProcessing();
    });
    const failure = { error: "upstream_connection_error" };
    expect(await call({ timeoutMs: 5_000 })).toMatchObject(failure);
  });

  it("waits for the answer behind a few interim responses", async () => {
    upstream.respond((response) => {
      for (let sent = 0; sent < 5; sent += 1) response.writeProcessing();
      response.end('{"done":true}');
    });
    expect(await call()).toEqual({ body: { done: true } });
  });

  it("ends in time where there is no connection yet, and where none is free", async () => {
    const silent = createServer();
    const accepted = once(silent, "connection");
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as { port: number };
    const late = { error: "upstream_timeout" };
    const timeoutMs = 50;
    expect(await call({ url: `https://127.0.0.1:${port}/`, timeoutMs })).toMatchObject(late);
    const [socket] = await accepted;
    socket.destroy();
    silent.close();

    const own = createUpstreamPools(1);
    const asked = new Promise<() => void>((resolve) => {
      upstream.respond((response) => resolve(() => response.end("{}")));
    });
    const { origin: url, ca } = upstream;
    const slow = createUpstreamHandler(makeUpstreamBinding({ url, ca }), own)(makeCall());
    const brief = makeUpstreamBinding({ url, ca, timeoutMs });
    expect(await createUpstreamHandler(brief, own)(makeCall())).toMatchObject(late);
    const answer = await asked;
    answer();
    expect(await slow).toEqual({ body: {} });
    await own.close();
  });

  it("asks nothing for a caller who left already", async () => {
    const asked = upstream.seen.length;
    await call({}, { signal: AbortSignal.abort() });
    expect(upstream.seen).toHaveLength(asked);
  });
});

describe("createUpstreamPools", () => {
  it("shares connections between endpoints of one upstream", async () => {
    const own = createUpstreamPools();
    const before = upstream.connections;
    for (let round = 0; round < 10; round += 1) {
      const url = `${upstream.origin}/${round}`;
      const binding = makeUpstreamBinding({ url, ca: upstream.ca });
      await createUpstreamHandler(binding, own)(makeCall());
      // undici takes a socket back with the next turn of the event loop.
      await setImmediate();
    }
    expect(upstream.connections - before).toBeLessThan(4);
    await own.close();
  });

  it("closes beside an upstream whose error body does not end", async () => {
    const own = createUpstreamPools();
    upstream.respond((response) => {
      response.writeHead(500).write("x");
      const dripping = setInterval(() => response.write("x"), 20);
      response.on("close", () => clearInterval(dripping));
    });
    const { origin: url, ca } = upstream;
    const binding = makeUpstreamBinding({ url, ca });
    expect(await createUpstreamHandler(binding, own)(makeCall())).toMatchObject({
      error: "upstream_error",
    });
    await own.close();
  });

  it("keeps a connection whose error body nobody read", async () => {
    const own = createUpstreamPools();
    const before = upstream.connections;
    upstream.respondJson(404, { text: "x".repeat(10_000) });
    const binding = makeUpstreamBinding({ url: upstream.origin, ca: upstream.ca });
    const handler = createUpstreamHandler(binding, own);
    for (let round = 0; round < 10; round += 1) {
      await handler(makeCall());
      await setImmediate();
    }
    expect(upstream.connections - before).toBeLessThan(10);
    await own.close();
  });

  it("separates upstreams that trust different CAs", () => {
    const { origin } = upstream;
    const own = createUpstreamPools();
    expect(own.pool({ origin, ca: "a" })).toBe(own.pool({ origin, ca: "a" }));
    expect(own.pool({ origin, ca: "a" })).not.toBe(own.pool({ origin, ca: undefined }));
  });

  it("answers a call after its close with an error", async () => {
    const own = createUpstreamPools();
    const binding = makeUpstreamBinding({ url: upstream.origin, ca: upstream.ca });
    const handler = createUpstreamHandler(binding, own);
    await own.close();
    expect(await handler(makeCall())).toMatchObject({ error: "upstream_connection_error" });
  });
});

// RFC 9110 §9.2.2, RFC 9112 §9.3.1
describe("a connection that an upstream gives up as a request is sent on it", () => {
  type Hang = (response: ServerResponse) => void;
  const closes: Hang = (response) => response.destroy();
  const resets: Hang = (response) => upstream.reset(response);

  /** Calls on a connection that has served `served` answers; from then on the upstream hangs up `times` times. */
  async function callGivenUp(
    binding: BindingChoice,
    hang: Hang,
    { served = 1, times = 1 }: { readonly served?: number; readonly times?: number } = {},
  ): Promise<{ readonly result: HandlerResult; readonly asked: readonly string[] }> {
    const own = createUpstreamPools(1);
    const { origin: url, ca } = upstream;
    for (let round = 0; round < served; round += 1) {
      await createUpstreamHandler(makeUpstreamBinding({ url, ca, method: "GET" }), own)(makeCall());
    }
    const before = upstream.seen.length;
    let left = times;
    upstream.respond((response) => {
      left -= 1;
      if (left >= 0) hang(response);
      else response.end('{"again":true}');
    });
    const asking = makeUpstreamBinding({ url, ca, ...binding });
    const result = await createUpstreamHandler(asking, own)(makeCall());
    await own.close();
    return { result, asked: upstream.seen.slice(before).map(({ method }) => method) };
  }

  it.each([
    ["a GET that it closes", "GET", closes, { again: true }],
    ["a GET that it resets", "GET", resets, { again: true }],
    ["a HEAD that it closes", "HEAD", closes, {}],
  ] as const)("is replaced, once, for %s", async (_which, method, hang, body) => {
    expect(await callGivenUp({ method }, hang)).toEqual({
      result: { body },
      asked: [method, method],
    });
  });

  it("is replaced for the twentieth request on it as for the second", async () => {
    const { result, asked } = await callGivenUp({ method: "GET" }, closes, { served: 20 });
    expect({ result, asked }).toEqual({ result: { body: { again: true } }, asked: ["GET", "GET"] });
  });

  it("is not replaced twice", async () => {
    const { result, asked } = await callGivenUp({ method: "GET" }, closes, { times: 2 });
    expect(result).toMatchObject({ error: "upstream_connection_error" });
    expect(asked).toEqual(["GET", "GET"]);
  });

  it.each([
    ["a POST", { method: "POST" }, closes, 1],
    ["a PUT, though it may be repeated", { method: "PUT" }, resets, 1],
    ["a DELETE, though it may be repeated", { method: "DELETE" }, closes, 1],
    ["a GET on a connection that has served nothing", { method: "GET" }, closes, 0],
    ["a GET on a connection that has served nothing and is reset", { method: "GET" }, resets, 0],
    [
      "a GET of whose answer a part has come",
      { method: "GET" },
      (response: ServerResponse) =>
        response.socket?.write("HTTP/1.1 200 OK\r\n", () => response.destroy()),
      1,
    ],
  ] as const)("is not replaced for %s", async (_which, binding, hang, served) => {
    const { result, asked } = await callGivenUp(binding, hang, { served });
    expect(result).toMatchObject({ error: "upstream_connection_error" });
    expect(asked).toEqual([binding.method]);
  });

  it("is not replaced for a GET whose time is over", async () => {
    const silent: Hang = () => {};
    const { result, asked } = await callGivenUp({ method: "GET", timeoutMs: 50 }, silent);
    expect(result).toMatchObject({ error: "upstream_timeout" });
    expect(asked).toEqual(["GET"]);
  });
});
