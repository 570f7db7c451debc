/** One account for every face of the HTTP listener, and for AGTP beside it. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openDaemon, type TestDaemon } from "../support/daemon.ts";
import { configFile, type DeploymentFiles, endpointFile } from "../support/deployment.ts";
import { encodeRequest } from "../support/dispatch.ts";

const KEY = "hk_of_the_desk";
const OTHER_KEY = "hk_of_another_desk";
const STRANGER = "3c".repeat(32);

const SPIN = `
export const spin = () => {
  const started = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(started);
    if (user + system >= 60_000) return { body: {} };
  }
};
`;

function filesOf(more: object = {}): DeploymentFiles {
  const scopes = ["manifest:read", "runs:create", "runs:read"];
  const api_keys = [KEY, OTHER_KEY].map((key) => ({
    sha256: createHash("sha256").update(key).digest("hex"),
    ...{ tenant: "default", scopes, agtp_scopes: [] },
  }));
  const handler = { type: "registered_function", function: "handlers.spin" };
  return {
    "agtp-server.toml": configFile({
      // What is owed is paid off in so long that no test sees it.
      limits: { work_ms_per_second: 1 },
      policies: { scope_required_for_invocation: false, identity: { unknown_agents: "accept" } },
      gateway: { enabled: true, port: 0 },
      openwop: { conformance: true, api_keys },
      ...more,
    }),
    "handlers.mjs": SPIN,
    "endpoints/spins.toml": endpointFile({ method: "QUERY", path: "/spins", handler }),
  };
}

interface Asked extends RequestInit {
  readonly key?: string;
}

function ask({ daemon }: TestDaemon, path: string, { key, ...init }: Asked = {}) {
  const headers = new Headers(init.headers);
  if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
  return fetch(`http://127.0.0.1:${daemon.gatewayPort}${path}`, { ...init, headers });
}

/** A daemon of which somebody at this address has had too much, over AGTP. */
async function openExhausted(more?: object): Promise<TestDaemon> {
  const server = await openDaemon(filesOf(more));
  const client = await server.connect();
  client.write(
    encodeRequest({ method: "QUERY", path: "/spins", headers: { "Agent-ID": STRANGER } }),
  );
  expect((await client.replies(1))[0]?.status).toBe(200);
  return server;
}

// `[limits] work_ms_per_second`
describe("who has had too much over AGTP", () => {
  it.each(["/.well-known/openwop", "/v1/agents", "/v1/nowhere", "/v1/openapi.json", "/v1/%zz"])(
    "has no more of OpenWOP: %s",
    async (path) => {
      const refused = await ask(await openExhausted(), path);
      expect(refused.status).toBe(429);
      const seconds = Number(refused.headers.get("retry-after"));
      expect(seconds).toBeGreaterThan(10);
      expect(await refused.json()).toEqual({
        ...{ error: "rate_limited", message: expect.any(String) },
        details: { scope: "key", reason: "work", retryAfterMs: seconds * 1000 },
      });
    },
  );

  it.each([
    ["GET", "/openapi.json"],
    ["OPTIONS", "/nowhere"],
    ["GET", "/nowhere"],
  ])("has no more of the sidecar: %s %s", async (method, path) => {
    const refused = await ask(await openExhausted(), path, { method });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(10);
    expect(await refused.json()).toMatchObject({ error: { code: "rate-limited", scope: "work" } });
  });

  it("is counted where metrics are", async () => {
    const server = await openExhausted({ metrics: { enabled: true, port: 0 } });
    await ask(server, "/v1/agents");
    const { metrics_port } = server.log.find(({ event }) => event === "listening") ?? {};
    const text = await (await fetch(`http://127.0.0.1:${metrics_port}/metrics`)).text();
    expect(text).toContain('agtp_rate_limited_total{scope="work"} 1');
  });

  it("has what its key is good for all the same", async () => {
    expect((await ask(await openExhausted(), "/v1/agents", { key: KEY })).status).toBe(200);
  });
});

describe("a key of OpenWOP", () => {
  it("pays for bodies that take long to read, and another key does not", async () => {
    const server = await openDaemon(filesOf());
    const inputs = Object.fromEntries(
      Array.from({ length: 9000 }, (_, at) => [`n${at}`, "x".repeat(90)]),
    );
    const post: Asked = {
      ...{ key: KEY, method: "POST", headers: { "content-type": "application/json" } },
      body: JSON.stringify({ workflowId: "nobody", inputs }),
    };
    const statuses: number[] = [];
    while (statuses.at(-1) !== 429 && statuses.length < 50) {
      statuses.push((await ask(server, "/v1/runs", post)).status);
    }
    expect(statuses.at(-1)).toBe(429);
    expect((await ask(server, "/v1/agents", { key: KEY })).status).toBe(429);
    expect((await ask(server, "/v1/agents", { key: OTHER_KEY })).status).toBe(200);
  });
});

describe("who sends MCP long messages that nothing is done about", () => {
  it("pays for their reading", async () => {
    const server = await openDaemon(filesOf({ mcp: { enabled: true, anonymous: true } }));
    const names = Array.from({ length: 9_000 }, (_, at) => [`n${at}${"x".repeat(60)}`, 0] as const);
    const message = { jsonrpc: "2.0", id: 1, method: "no/such", a: Object.fromEntries(names) };
    const init = {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(message),
    };
    expect((await ask(server, "/mcp", init)).status).toBe(400);
    expect((await ask(server, "/mcp", init)).status).toBe(429);
  });
});

// OpenWOP RFC 0064, `[openwop.runtime] tool_calls_per_minute`
describe("a tool of OpenWOP", () => {
  it("is called as often as the configuration says, which a reload changes", async () => {
    const limits = { work_ms_per_second: 0 };
    const sha256 = createHash("sha256").update(KEY).digest("hex");
    const api_keys = [{ sha256, tenant: "default", scopes: ["runs:create"], agtp_scopes: [] }];
    const filesWith = (tool_calls_per_minute: number): DeploymentFiles =>
      filesOf({
        limits,
        openwop: { conformance: true, api_keys, runtime: { tool_calls_per_minute } },
      });
    const server = await openDaemon(filesWith(1));
    const call = async (): Promise<unknown> => {
      const called = await ask(server, "/v1/host/sample/toolhooks/invoke", {
        ...{ key: KEY, method: "POST", headers: { "content-type": "application/json" } },
        body: JSON.stringify({ principal: "ann", toolName: "tool", args: {} }),
      });
      return ((await called.json()) as { toolReturned?: { status?: string } }).toolReturned?.status;
    };
    expect([await call(), await call()]).toEqual(["ok", "rate_limited"]);
    const { "agtp-server.toml": config = "" } = filesWith(0);
    writeFileSync(join(server.directory, "agtp-server.toml"), config);
    expect(await server.daemon.reload()).toEqual([]);
    expect([await call(), await call()]).toEqual(["ok", "ok"]);
  });
});
