/** What an HTTP client sees of a daemon that has its sidecar. */

import { writeFileSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeCertificate } from "../support/certificate.ts";
import { askOnce } from "../support/daemon.ts";
import { configFile, endpointFile } from "../support/deployment.ts";
import {
  connectPlain,
  DESK,
  gatewayFiles,
  openGateway,
  statusesIn,
  withGateway,
} from "../support/gateway.ts";
import { negotiationFiles } from "../support/negotiation.ts";
import { readJws } from "../support/records.ts";
import { makeIssuerKey, signToken } from "../support/token-issuer.ts";

const JSON_TYPE = "application/json; charset=utf-8";

async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

// formats "The HTTP sidecar"
describe("a request over HTTP", () => {
  it("reaches the endpoint whose method the verb is another name of", async () => {
    const { fetch, send } = await openGateway();
    const read = await fetch("/orders/7?quantity=2");
    expect(read.status).toBe(200);
    expect(await bodyOf(read)).toMatchObject({
      ...{ method: "FETCH", path: "/orders/7", requested_method: "GET" },
      input: { order_id: "7", quantity: 2 },
    });
    const put = await send("PUT", "/orders/7?quantity=2", { quantity: 3 });
    expect(await bodyOf(put)).toMatchObject({ method: "REPLACE", input: { quantity: 3 } });
    expect((await fetch("/orders/a%2Fb")).status).toBe(200);
  });

  it("may repeat a name in its query, where the endpoint takes a list", async () => {
    const tags = { type: "array", items: { type: "integer" } };
    const { fetch } = await openGateway(
      gatewayFiles(
        {},
        {
          "endpoints/tagged.toml": endpointFile({
            ...{ method: "FETCH", path: "/tagged/{id}" },
            properties: { id: { type: "string" }, tags, n: { type: "integer" } },
            handler: { type: "registered_function", function: "desk.echo" },
          }),
        },
      ),
    );
    const ask = async (query: string, init: RequestInit = {}): Promise<unknown> =>
      (await bodyOf(await fetch(`/tagged/7${query}`, init)))["input"];
    expect(await ask("?tags=1&n=3&tags=2")).toEqual({ id: "7", n: 3, tags: [1, 2] });
    expect(await ask("?tags=1", { headers: { "content-type": "text/plain" } })).toEqual({
      ...{ id: "7", tags: [1] },
    });
    expect((await fetch("/tagged/7?tags=x")).status).toBe(422);
    expect((await fetch("/tagged/7?tags=%zz")).status).toBe(400);
  });

  it("writes a space of its query as forms do, and a plus as an octet", async () => {
    const tags = { type: "array", items: { type: "string" } };
    const { fetch } = await openGateway(
      gatewayFiles(
        {},
        {
          "endpoints/tagged.toml": endpointFile({
            ...{ method: "FETCH", path: "/tagged" },
            properties: { tags, "a b": { type: "string" } },
            handler: { type: "registered_function", function: "desk.echo" },
          }),
        },
      ),
    );
    const query = new URLSearchParams([
      ["tags", "two words"],
      ["tags", "1+1"],
      ["a b", "c + d"],
    ]);
    expect(await bodyOf(await fetch(`/tagged?${query}`))).toMatchObject({
      input: { tags: ["two words", "1+1"], "a b": "c + d" },
    });
  });

  it("reaches the endpoint whose method ends the path, and keeps the verb on the record", async () => {
    const { fetch, log } = await openGateway();
    for (const path of ["/orders/7/cancel", "/orders/7:cancel"]) {
      const response = await fetch(path, { method: "POST" });
      expect(await bodyOf(response)).toMatchObject({
        ...{ method: "CANCEL", path: "/orders/7", requested_method: "POST" },
      });
      expect(readJws(String(response.headers.get("attribution-record"))).payload).toMatchObject({
        ...{ agent_id: DESK, method: "CANCEL", requested_method: "POST", path: "/orders/7" },
      });
    }
    expect(log.filter(({ event }) => event === "request")[0]).toMatchObject({
      ...{ method: "POST", path: "/orders/7", answered_as: "CANCEL", agent_id: DESK },
    });
    const read = await fetch("/orders/audit?quantity=1");
    expect(await bodyOf(read)).toMatchObject({ method: "AUDIT", input: { quantity: 1 } });
  });

  it("cancels nothing for whoever only follows a link", async () => {
    const { fetch } = await openGateway();
    for (const method of ["GET", "HEAD"]) {
      const response = await fetch("/orders/7/cancel", { method });
      expect([response.status, response.headers.get("x-agtp-status")]).toEqual([400, "460"]);
    }
  });

  it("speaks as the sidecar's agent, with what that agent holds, whatever HTTP says", async () => {
    const { fetch } = await openGateway();
    const headers = {
      ...{ "Agent-ID": "e".repeat(64), "Owner-ID": "evil", "X-Agent-Id": "evil" },
      ...{ "Allow-RCNS": "true", Cookie: "a=b", "Task-ID": "task-1", "Session-ID": "s-1" },
    };
    const response = await fetch("/fields", { headers });
    const { headers: seen } = (await bodyOf(response)) as { headers: Record<string, string> };
    expect(Object.keys(seen).toSorted()).toEqual([
      ...["accept", "agent-id", "owner-id", "session-id", "task-id"],
    ]);
    expect([seen["agent-id"], seen["owner-id"]]).toEqual([DESK, "desk-owner"]);
    expect(response.headers.get("task-id")).toBe("task-1");
    expect((await fetch("/orders/search", { method: "POST" })).status).toBe(200);
    const refused = await fetch("/orders/archive", { method: "POST" });
    expect([refused.status, refused.headers.get("x-agtp-status")]).toEqual([403, "455"]);
    const narrowed = { "Authority-Scope": "orders:write" };
    const post = { method: "POST", headers: narrowed };
    expect((await fetch("/orders/search", post)).status).toBe(403);
  });

  it("is believed in process where AGTP asks for certificates", async () => {
    const identity = { assurance: "certificate" };
    const tables = {
      policies: { identity },
      tls: { client_auth: "optional", client_ca: "ca.pem" },
    };
    const { cert } = await makeCertificate();
    const server = await openGateway(gatewayFiles(tables, { "ca.pem": cert }));
    expect((await server.fetch("/orders/7")).status).toBe(200);
    const reply = await askOnce(server, {
      method: "FETCH",
      path: "/orders/7",
      headers: { "Agent-ID": DESK },
    });
    expect(reply?.body?.["error"]?.["code"]).toBe("certificate-required");
  });

  it("carries a bearer token to whoever validates it", async () => {
    const key = await makeIssuerKey();
    const oauth = { issuer: "https://id.example", jwks_file: "jwks.json" };
    const policies = { oauth: { ...oauth, required_on_methods: ["FETCH"] } };
    const jwks = JSON.stringify({ keys: [key.jwk] });
    const { fetch } = await openGateway(gatewayFiles({ policies }, { "jwks.json": jwks }));
    const now = Math.floor(Date.now() / 1000);
    const token = await signToken(key, { iss: oauth.issuer, sub: "ada", exp: now + 60 });
    const good = await fetch("/orders/7", { headers: { authorization: `Bearer ${token}` } });
    expect(await bodyOf(good)).toMatchObject({ principal_id: "ada" });
    const missing = await fetch("/orders/7");
    expect(missing.status).toBe(401);
    expect(missing.headers.get("www-authenticate")).toBe('Bearer realm="test"');
    const { paths } = await bodyOf(await fetch("/openapi.json"));
    expect(paths).toMatchObject({
      "/orders/{order_id}": { get: { security: [{ bearer: [] }] } },
    });
    const wrong = await fetch("/orders/7", { headers: { authorization: "Bearer x.y.z" } });
    expect(wrong.headers.get("www-authenticate")).toBe(
      'Bearer realm="test", error="invalid_token"',
    );
  });
});

describe("a response over HTTP", () => {
  it("is plain JSON with the server's fields and the record of the answer", async () => {
    const { fetch } = await openGateway();
    const { status, headers } = await fetch("/orders/7");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe(JSON_TYPE);
    expect(headers.get("x-agtp-status")).toBe("200");
    expect(headers.get("server-id")).toBe("test");
    expect(headers.get("audit-id")).toMatch(/^[0-9a-f]{64}$/);
    for (const name of ["response-id", "attribution-record", "agent-id", "date"]) {
      expect(headers.has(name), name).toBe(true);
    }
    expect(headers.has("access-control-allow-origin")).toBe(false);
    const own = await fetch("/orders/7", { headers: { accept: "application/vnd.agtp+json" } });
    expect(own.headers.get("content-type")).toMatch(/^application\/vnd\.agtp\+json/);
    const page = await fetch("/pages");
    expect(page.headers.get("content-type")).toBe("text/html");
    expect(await page.text()).toBe("<p>é</p>");
  });

  it("has the handler's fields, but none of the connection's", async () => {
    const { send } = await openGateway();
    const response = await send("POST", "/orders", {});
    expect(response.headers.get("location")).toBe("/orders/7");
    expect(response.headers.get("x-own")).toBe("1");
    expect(response.headers.get("connection")).toBe("keep-alive");
  });

  it("is spared whoever has it already", async () => {
    const { fetch } = await openGateway();
    const first = await fetch("/pages");
    const tag = first.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[^"]+"$/);
    const again = await fetch("/pages", { headers: { "if-none-match": `"x", W/${tag}` } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect(again.headers.get("etag")).toBe(tag);
    const other = await fetch("/pages", { headers: { "if-none-match": '"x"' } });
    expect(other.status).toBe(200);
    const sent = await fetch("/orders/7", {
      ...{ method: "PUT", body: "{}" },
      headers: { "if-none-match": "*", "content-type": "application/json" },
    });
    expect([sent.status, sent.headers.has("etag")]).toEqual([200, false]);
  });

  it("has no body for HEAD, and everything else that GET has", async () => {
    const { fetch } = await openGateway();
    const read = await fetch("/pages");
    const head = await fetch("/pages", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    for (const name of ["content-type", "content-length", "etag"]) {
      expect(head.headers.get(name)).toBe(read.headers.get(name));
    }
  });

  it("says which methods a path has", async () => {
    const { fetch } = await openGateway();
    const options = await fetch("/orders/7", { method: "OPTIONS" });
    expect([options.status, options.headers.get("allow")]).toEqual([
      204,
      "GET, HEAD, OPTIONS, PUT",
    ]);
    const wrong = await fetch("/orders/7", { method: "DELETE" });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS, PUT"]);
    const unknown = await fetch("/orders/7", { method: "PROPFIND" });
    expect([unknown.status, unknown.headers.get("x-agtp-status")]).toEqual([405, "459"]);
    expect((await fetch("/nowhere", { method: "OPTIONS" })).status).toBe(404);
  });

  it.each([
    ["GET", "/nowhere", 404, "endpoint-not-found"],
    ["GET", "/orders/", 400, "path-grammar-violation"],
    ["GET", "/orders/%zz", 400, "path-grammar-violation"],
    ["GET", "/orders/7?quantity=many", 422, "schema-validation-failed"],
    ["GET", "/orders/7?other=1", 422, "schema-validation-failed"],
    ["GET", "/orders/7?quantity=%ff", 400, "invalid-query"],
    ["POST", "/failures", 500, "internal-error"],
  ])("refuses %s %s with %i in JSON, and no more than that", async (method, path, status, code) => {
    const { fetch } = await openGateway();
    const response = await fetch(path, { method });
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe(JSON_TYPE);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ error: { code } });
    expect(text).not.toMatch(/secret|\bat \w+ \(|\.mjs/);
  });

  it("lets no link or picture of another site call what does more than inform", async () => {
    const draw = endpointFile({
      ...{ method: "FETCH", path: "/tickets/{ticket_id}" },
      properties: { ticket_id: { type: "string" } },
      semantic: {
        ...{ intent: "Draw a ticket.", actor: "agent", outcome: "The ticket is drawn." },
        ...{ capability: "transaction", confidence: 0.5, is_idempotent: false },
        impact: "irreversible",
      },
      handler: { type: "registered_function", function: "desk.echo" },
    });
    const { fetch } = await openGateway(gatewayFiles({}, { "endpoints/draw.toml": draw }));
    const from = (site: string): RequestInit => ({ headers: { "sec-fetch-site": site } });
    for (const method of ["GET", "HEAD"]) {
      const asked = await fetch("/tickets/7", { method, ...from("cross-site") });
      expect([asked.status, asked.headers.has("audit-id")]).toEqual([403, false]);
    }
    const named = await fetch("/tickets/7", { headers: { origin: "https://evil.example" } });
    expect(await named.json()).toMatchObject({ error: { code: "origin-not-allowed" } });
    expect((await fetch("/tickets/7", from("same-site"))).status).toBe(403);
    expect((await fetch("/tickets/7", from("none"))).status).toBe(200);
    expect((await fetch("/tickets/7")).status).toBe(200);
    expect((await fetch("/orders/7", from("cross-site"))).status).toBe(200);
  });

  it("keeps pages of other origins from changing anything, and lets configured ones read", async () => {
    const { fetch } = await openGateway();
    const evil = { origin: "https://evil.example" };
    const refused = await fetch("/orders/7/cancel", { method: "POST", headers: evil });
    expect([refused.status, (await bodyOf(refused))["error"]]).toMatchObject([
      403,
      { code: "origin-not-allowed" },
    ]);
    const preflight = { ...evil, "access-control-request-method": "PUT" };
    const asked = await fetch("/orders/7", { method: "OPTIONS", headers: preflight });
    expect(asked.headers.has("access-control-allow-origin")).toBe(false);

    const app = "https://app.example";
    const open = await openGateway(gatewayFiles({ gateway: { cors_origins: [app] } }));
    const allowed = await open.fetch("/orders/7", {
      ...{ method: "OPTIONS", headers: { ...preflight, origin: app } },
    });
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get("access-control-allow-methods")).toContain("PUT");
    const read = await open.fetch("/orders/7", { headers: { origin: app } });
    expect(read.headers.get("access-control-allow-origin")).toBe(app);
    expect(read.headers.get("vary")).toBe("Origin, Accept");
  });
});

describe("a name that is another server's", () => {
  it("is not answered to, on any path: a page may have it resolve to this machine", async () => {
    const { port, fetch } = await openGateway();
    for (const target of ["/orders/7", "/openapi.json", "/v1/agents", "/%zz", "/orders/7/cancel"]) {
      const client = await connectPlain(port);
      client.write(`POST ${target} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`);
      const answer = await client.closed();
      expect(answer).toMatch(/^HTTP\/1\.1 421 /);
      expect(answer).toContain('{"error":{"code":"host-not-allowed"');
    }
    const twice = await connectPlain(port);
    const hosts = "Host: localhost\r\nHost: evil.example\r\n";
    twice.write(`GET /orders/7 HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`);
    expect(await twice.closed()).toMatch(/^HTTP\/1\.1 400 .*"invalid-framing"/s);
    expect((await fetch("/orders/7")).status).toBe(200);
  });

  it("is answered to where it is configured", async () => {
    const { port } = await openGateway(gatewayFiles({ gateway: { hosts: ["desk.example"] } }));
    const client = await connectPlain(port);
    client.write("GET /orders/7 HTTP/1.1\r\nHost: desk.example:80\r\nConnection: close\r\n\r\n");
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("what the sidecar says of itself", () => {
  it("is in the ready line, in DISCOVER /apis and in the manifest", async () => {
    const { fetch, log, port } = await openGateway();
    const ready = log.find(({ event }) => event === "listening");
    expect(ready?.["gateway_port"]).toBe(port);
    const url = `http://127.0.0.1:${port}`;
    const entry = {
      name: "http-gateway",
      base_url: url,
      http_documentation: `${url}/openapi.json`,
    };
    expect(await (await fetch("/apis/discover")).json()).toEqual([expect.objectContaining(entry)]);
    const accept = "application/vnd.agtp.manifest+json";
    const manifest = await fetch("/discover", { headers: { accept } });
    expect(manifest.headers.get("content-type")).toBe(accept);
    expect(await bodyOf(manifest)).toMatchObject({
      apis: [entry],
      server: { supported_features: expect.arrayContaining(["http-gateway"]) },
    });
  });

  it("is off by default", async () => {
    const files = gatewayFiles();
    const { daemon, log } = await openGateway({ ...files, "agtp-server.toml": configFile() });
    expect(daemon.gatewayPort).toBeUndefined();
    expect(log.find(({ event }) => event === "listening")).not.toHaveProperty("gateway_port");
  });

  it("is an OpenAPI document by which every operation finds its endpoint", async () => {
    const { fetch, port } = await openGateway();
    const response = await fetch("/openapi.json");
    expect(response.headers.get("content-type")).toBe(JSON_TYPE);
    const document = (await bodyOf(response)) as {
      openapi: string;
      servers: readonly { url: string }[];
      paths: Record<string, Record<string, Record<string, string>>>;
    };
    expect(document.openapi).toBe("3.1.0");
    expect(document.servers).toEqual([{ url: `http://127.0.0.1:${port}` }]);
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([verb, operation]) => ({ path, verb, operation })),
    );
    expect(operations.length).toBeGreaterThan(8);
    for (const { path, verb, operation } of operations) {
      const target = path.replace("{order_id}", "7");
      const options = await fetch(target, { method: "OPTIONS" });
      expect(options.headers.get("allow"), `${verb} ${path}`).toContain(verb.toUpperCase());
      const called = await fetch(target, { method: verb.toUpperCase() });
      const { method } =
        called.headers.get("content-type") === JSON_TYPE ? await bodyOf(called) : {};
      // Some handlers do not say how they were called.
      if (method !== undefined) expect(method).toBe(operation["x-agtp-method"]);
    }
    const tag = response.headers.get("etag") ?? "";
    const again = await fetch("/openapi.json", { headers: { "if-none-match": tag } });
    expect(again.status).toBe(304);
    for (const method of ["PUT", "PROPFIND"]) {
      const { status, headers } = await fetch("/openapi.json?a", { method });
      expect([method, status, headers.get("allow")]).toEqual([method, 405, "GET, HEAD, OPTIONS"]);
    }
  });
});

const PROPOSAL = {
  ...{ method: "AUDIT", path: "/reviews", description: "Audits a subject." },
  semantic: {
    ...{ intent: "Audit a subject.", actor: "agent", outcome: "A verdict is returned." },
    ...{ capability: "analysis", confidence: 0.9, impact: "informational" },
    is_idempotent: true,
  },
  input_schema: { type: "object", properties: { subject: { type: "string" } } },
  output_schema: { type: "object" },
};

// AGTP-API §10: what an agent may propose and hold, it may through the sidecar, too.
describe("negotiation over HTTP", () => {
  const files = () => negotiationFiles(withGateway({ gateway: { agent: "nora" } }));

  it("says which endpoints are out of its reach, behind an API of the same path", async () => {
    const handler = { type: "registered_function", function: "desk.echo" };
    const at = (path: string): string => endpointFile({ method: "FETCH", path, handler });
    const { fetch, log } = await openGateway(
      gatewayFiles(
        { mcp: { enabled: true, path: "/tools", anonymous: true } },
        {
          "endpoints/below.toml": at("/tools/paint"),
          "endpoints/beside.toml": at("/toolshed"),
          "endpoints/document.toml": at("/openapi.json"),
        },
      ),
    );
    expect(log.filter(({ event }) => event === "problem")).toMatchObject([
      {
        ...{ file: "endpoints/below.toml", key: "endpoint.path", level: "warn" },
        problem: expect.stringContaining('is not served over HTTP, where "/tools" is the API mcp'),
      },
      { file: "endpoints/document.toml", key: "endpoint.path", level: "warn" },
    ]);
    const { paths } = (await bodyOf(await fetch("/openapi.json"))) as { paths: object };
    const listed = ["/tools/paint", "/toolshed", "/openapi.json"].map((path) => path in paths);
    expect(listed).toEqual([false, true, false]);
    expect((await fetch("/tools/paint")).status).toBe(405);
    expect((await fetch("/toolshed")).status).toBe(200);
  });

  it("answers an approved proposal with 201 and where it is called", async () => {
    const { send, fetch } = await openGateway(files());
    const approved = await send("POST", "/propose", { endpoint: PROPOSAL });
    const body = await bodyOf(approved);
    expect([approved.status, approved.headers.get("x-agtp-status")]).toEqual([201, "263"]);
    expect(approved.headers.get("location")).toBe("/reviews/audit");
    const headers = {
      "Contract-Synthesized": String(body["synthesis_id"]),
      "content-type": "application/json",
    };
    const called = await fetch("/reviews/audit", {
      ...{ method: "POST", headers, body: JSON.stringify({ subject: "ship" }) },
    });
    expect(await bodyOf(called)).toMatchObject({ verdict: "2 facts" });
    const revoked = { ...headers, "Contract-Synthesized": "01a1ff55-0000-7000-8000-000000000000" };
    const unknown = await fetch("/reviews/audit", { method: "POST", headers: revoked });
    expect(unknown.status).toBe(404);
  });

  it("is never opted into from outside", async () => {
    const { fetch } = await openGateway(files());
    const headers = { "Allow-RCNS": "true", "content-type": "application/json" };
    const body = JSON.stringify({ subject: "ship" });
    const missed = await fetch("/reviews/audit", { method: "POST", headers, body });
    expect([missed.status, missed.headers.get("x-agtp-status")]).toEqual([404, "404"]);
  });

  it("says where a proposal is asked for that takes its time", async () => {
    const tables = { gateway: { agent: "nora" }, synthesis: { async_evaluation: true } };
    const { send, fetch } = await openGateway(negotiationFiles(withGateway(tables)));
    const taken = await send("POST", "/propose", { endpoint: PROPOSAL });
    expect([taken.status, taken.headers.get("x-agtp-status")]).toEqual([202, "261"]);
    const location = taken.headers.get("location") ?? "";
    expect(location).toMatch(/^\/proposals\/[\w-]+\/query$/);
    expect([201, 202]).toContain((await fetch(location)).status);
  });
});

describe("the sidecar over TLS", () => {
  it("shows its own certificate, and a new one after a reload", async () => {
    const [first, second] = [await makeCertificate(), await makeCertificate()];
    const gateway = { cert: "http.pem", key: "http-key.pem" };
    const server = await openGateway(
      gatewayFiles({ gateway }, { "http.pem": first.cert, "http-key.pem": first.key }),
    );
    expect(await fetchSecurely(server.port, first.cert)).toMatchObject({ status: 200 });
    expect(await fetchSecurely(server.port, second.cert)).toEqual({
      code: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
    writeFileSync(join(server.directory, "http.pem"), second.cert);
    writeFileSync(join(server.directory, "http-key.pem"), second.key);
    expect(await server.daemon.reload()).toEqual([]);
    expect(await fetchSecurely(server.port, second.cert)).toMatchObject({ status: 200 });
    const plain = await connectPlain(server.port);
    plain.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(statusesIn(await plain.closed())).toEqual([]);
  });

  it("does not start with a certificate that cannot serve", async () => {
    const { cert } = await makeCertificate();
    const { key } = await makeCertificate();
    const gateway = { cert: "http.pem", key: "http-key.pem" };
    const files = gatewayFiles({ gateway }, { "http.pem": cert, "http-key.pem": key });
    await expect(openGateway(files)).rejects.toThrow("is not the certificate's key");
  });
});

/** One GET over TLS, trusting one certificate; its status, or why there is none. */
function fetchSecurely(port: number, ca: string): Promise<object> {
  return new Promise((resolve) => {
    const options = { host: "127.0.0.1", port, path: "/orders/7", ca, agent: false };
    get(options, (response) => {
      response.resume();
      resolve({ status: response.statusCode });
    }).on("error", (error) => resolve({ code: "code" in error ? error.code : error.message }));
  });
}
