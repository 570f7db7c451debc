/** Faces beside the AGTP endpoints: what is theirs, and what holds for them all the same. */
import { once } from "node:events";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import type { HttpRoute } from "../../../src/dispatch/module/http-route.ts";
import { LoopTime } from "../../../src/dispatch/rates/loop-time.ts";
import { Rates } from "../../../src/dispatch/rates/rates.ts";
import { createToll } from "../../../src/dispatch/rates/toll.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { createGateway, type GatewayParts } from "../../../src/modules/gateway/gateway.ts";

const DEFAULTS = {
  server: { serverId: "test" },
  gateway: { host: "127.0.0.1", corsOrigins: ["https://app.example"], hosts: [] },
  limits: {
    ...{
      bodyBytes: 100,
      requestLineBytes: 200,
      headerBytes: 2000,
      headerCount: 20,
      idleTimeoutMs: 1000,
    },
  },
};

/** What the pipeline would answer; here it says which path it was asked for. */
function parts(httpRoutes: readonly HttpRoute[], faults: unknown[] = []): GatewayParts {
  const rates = new Rates();
  return {
    toll: createToll(rates, new LoopTime(rates)),
    config: DEFAULTS as unknown as GatewayParts["config"],
    httpRoutes,
    dispatcher: {
      answer: ({ request }) => ({
        ...{ status: 200, responseId: "r", body: JSON.stringify({ path: request.path }) },
        fields: "Content-Type: application/json\r\n",
      }),
      answerFault: ({ code }) => ({ status: 400, responseId: "r", fields: "", body: code }),
    },
    verbs: {
      translate: (method, path) => ({ method, path }),
      mayChange: () => false,
      shapeOf: () => undefined,
      allowed: () => [],
    },
    agent: { agentId: "d".repeat(64) } as AgentDocument,
    isAgentIssued: false,
    ledger: { whenSettled: (done) => done(undefined) },
    openapiSource: () => {
      throw new Error("a secret");
    },
    reportFault: (errorId, error) => faults.push([errorId, error]),
  };
}

/** The body that is answered to a target as it is written. */
async function request(url: string, path: string): Promise<string> {
  const asked = get(url, { path });
  const [response] = await once(asked, "response");
  return text(response);
}

async function serve(routes: readonly HttpRoute[], faults?: unknown[]): Promise<string> {
  const gateway = await createGateway(parts(routes, faults));
  const server = createServer((request, response) => gateway.handle(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await gateway.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const API = { name: "runs", description: "Runs." };

const RUNS: readonly HttpRoute[] = [
  {
    prefix: "/v1",
    api: API,
    plugin: (app) => {
      app.get("/", () => ({ root: true }));
      app.get("/runs/:id", ({ params }) => params);
      app.post("/runs", async ({ body }, reply) => reply.code(201).send(body as object));
      app.get("/fail", () => {
        throw new Error("a secret");
      });
    },
  },
  {
    prefix: "/.well-known/runs",
    api: API,
    plugin: (app) => {
      app.get("/", () => ({ known: true }));
      app.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: "words" }));
    },
  },
];

describe("an HTTP API of the sidecar", () => {
  it("has everything under its prefixes, and nothing beside them", async () => {
    const url = await serve(RUNS);
    const json = async (path: string): Promise<unknown> => (await fetch(url + path)).json();
    expect(await json("/v1")).toEqual({ root: true });
    expect(await json("/v1/runs/a%2Fb")).toEqual({ id: "a/b" });
    expect(await json("/.well-known/runs")).toEqual({ known: true });
    expect(await json("/.well-known/runs/more")).toEqual({ own: "words" });
    const absolute = await request(url, "http://localhost/v1/runs/7?x=1");
    expect(absolute).toBe('{"id":"7"}');
    for (const path of ["/v10", "/v1x/runs", "/V1", "/.well-known", "/%761", "//v1", "/"]) {
      expect(await json(path)).toEqual({ path });
    }
  });

  it("answers 404 in the sidecar's words where it has none of its own", async () => {
    const url = await serve(RUNS);
    const response = await fetch(`${url}/v1/nothing`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "endpoint-not-found" } });
    expect((await fetch(`${url}/v1/runs/%zz`)).status).toBe(400);
    expect((await fetch(`${url}/v1/runs`, { method: "DELETE" })).status).toBe(404);
  });

  it("keeps the cause of a fault to the log", async () => {
    const faults: unknown[] = [];
    const url = await serve(RUNS, faults);
    for (const path of ["/v1/fail", "/openapi.json"]) {
      const response = await fetch(url + path);
      expect(response.status).toBe(500);
      const body = await response.text();
      expect(body).not.toContain("secret");
      const { error_id: errorId } = JSON.parse(body);
      expect(errorId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
      expect(faults.at(-1)).toEqual([errorId, expect.objectContaining({ message: "a secret" })]);
    }
  });

  it("obeys the limits and the rules for origins", async () => {
    const url = await serve(RUNS);
    const post = (body: string, headers: Record<string, string> = {}) =>
      fetch(`${url}/v1/runs`, {
        ...{ method: "POST", body },
        headers: { "content-type": "application/json", ...headers },
      });
    expect((await post("{}")).status).toBe(201);
    expect((await post("{}")).headers.get("server-id")).toBe("test");
    expect((await post(`"${"x".repeat(100)}"`)).status).toBe(413);
    expect((await post("{")).status).toBe(400);
    expect((await post('{"__proto__":{}}')).status).toBe(400);
    expect((await post("{}", { origin: "https://evil.example" })).status).toBe(403);
    const allowed = await post("{}", { origin: "https://app.example" });
    expect(allowed.headers.get("access-control-allow-origin")).toBe("https://app.example");
  });

  it("leaves the bodies of the AGTP endpoints alone", async () => {
    const url = await serve(RUNS);
    const headers = { "content-type": "text/plain" };
    const response = await fetch(`${url}/orders`, { method: "POST", body: "x", headers });
    expect(await response.json()).toEqual({ path: "/orders" });
  });

  it.each([
    ["orders", "is no path prefix"],
    ["/v1/", "is no path prefix"],
    ["/v1/:id", "is no path prefix"],
    ["/", "is no path prefix"],
    ["/openapi.json", "overlaps"],
  ])("cannot be mounted at %s", async (prefix, message) => {
    const broken = { prefix, api: API, plugin: () => undefined };
    await expect(createGateway(parts([broken]))).rejects.toThrow(message);
  });

  it("cannot be mounted where another one is", async () => {
    const other = { prefix: "/v1/runs", api: API, plugin: () => undefined };
    await expect(createGateway(parts([...RUNS, other]))).rejects.toThrow("overlaps with");
  });
});
