/** Traces, as a collector with other code reads them.   docs/tracing.md, formats §13 */

import { execFileSync } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CHANNELS, DROPPED_CHANNEL } from "../../../src/dispatch/observer.ts";
import { type Collector, openCollector, type SentSpan } from "../../support/collector.ts";
import { askOnce, openDaemon, type TestDaemon } from "../../support/daemon.ts";
import {
  agentFile,
  configFile,
  type DeploymentFiles,
  endpointFile,
} from "../../support/deployment.ts";
import { encodeRequest, type TestReply } from "../../support/dispatch.ts";
import { startUpstream } from "../../support/https-upstream.ts";
import { current, currentFields, messageOf, post } from "../../support/mcp-session.ts";
import { PATIENCE } from "../../support/patience.ts";
import { HANDLER_PROCESS } from "../../support/processes.ts";
import { recordOf } from "../../support/records.ts";

const AGENT = "ab".repeat(32);
const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const UNSAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const OTHER_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_PARENT = `00-${OTHER_TRACE}-00f067aa0ba902b7-01`;

const HANDLERS = `
export const look = async (call) => ({ body: { found: (await call.dispatch("QUERY", "/parts/7", { secret: "hush" })).status } });
export const part = () => ({ body: { id: "hush" } });
export const fail = () => { throw new Error("hush"); };
`;

const RECIPE = `[[recipe]]
name = "r"
version = "1"
description = "One step."
[recipe.pattern]
method_exact = "AUDIT"
[[recipe.steps]]
method = "QUERY"
path = "/parts/7"
capture_as = "part"
`;

function files(tracing: object, more: DeploymentFiles = {}, tables: object = {}): DeploymentFiles {
  const properties = { secret: {}, part: { type: "string" } };
  const on = (name: string) => ({ type: "registered_function", function: `handlers.${name}` });
  const endpoint = (method: string, path: string, handler: object, errors: string[] = []) =>
    endpointFile({ method, path, properties, errors, handler });
  return {
    "agtp-server.toml": configFile({ tracing: { enabled: true, ...tracing }, ...tables }),
    "agents/alma.agent.json": agentFile({ agent_id: AGENT, name: "alma" }),
    "handlers.mjs": HANDLERS,
    "recipes/r.toml": RECIPE,
    "endpoints/look.toml": endpoint("QUERY", "/looks", on("look")),
    "endpoints/part.toml": endpoint("QUERY", "/parts/{part}", on("part")),
    "endpoints/fail.toml": endpoint("QUERY", "/fails", on("fail")),
    "endpoints/audit.toml": endpoint("AUDIT", "/reviews", { type: "composition", recipe: "r" }, [
      "composition_failed",
    ]),
    ...more,
  };
}

interface House {
  readonly daemon: TestDaemon;
  readonly collector: Collector;
}

async function open(
  more: DeploymentFiles = {},
  tracing: object = {},
  tables: object = {},
): Promise<House> {
  const collector = await openCollector();
  onTestFinished(() => collector.close());
  const daemon = await openDaemon(
    files({ endpoint: collector.endpoint, ...tracing }, more, tables),
  );
  return { daemon, collector };
}

async function ask(
  { daemon }: Pick<House, "daemon">,
  method: string,
  path: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<TestReply> {
  const headers = { "Agent-ID": AGENT, ...fields };
  return askOnce(daemon, { method, path, headers, body: { secret: "hush" } });
}

/** All spans, once one of this name is among them; the daemon is asked nothing any more. */
async function spansWith(house: House, name: string): Promise<readonly SentSpan[]> {
  await house.daemon.daemon.drain();
  return spansSoFar(house, name);
}

/** The spans so far, once one of this name is among them. */
async function spansSoFar({ collector }: House, name: string): Promise<readonly SentSpan[]> {
  await vi.waitFor(
    () => expect(collector.spans.map((span) => span.name)).toContain(name),
    PATIENCE,
  );
  return collector.spans;
}

function named(spans: readonly SentSpan[], name: string): SentSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name}`);
  return found;
}

describe("a request", () => {
  it("is a server span, its handler one within, and what that dispatches within it", async () => {
    const house = await open();
    const reply = await ask(house, "QUERY", "/looks");
    expect(reply.status).toBe(200);
    const spans = await spansWith(house, "QUERY /looks");
    const server = named(spans, "QUERY /looks");
    const handler = named(spans, "handler");
    const inner = named(spans, "QUERY /parts/{part}");
    expect(server).toMatchObject({ kind: 2, parentSpanId: "", status: 0 });
    expect(server.attributes).toEqual({
      "agtp.method": "QUERY",
      "agtp.path": "/looks",
      "agtp.tier": "B",
      "agtp.status": 200,
      "agtp.agent_id": AGENT,
      "agtp.audit_id": reply.headers.get("audit-id"),
    });
    expect(handler).toMatchObject({ kind: 1, parentSpanId: server.spanId });
    expect(inner).toMatchObject({ kind: 1, parentSpanId: handler.spanId });
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(inner.startNanos).toBeGreaterThanOrEqual(handler.startNanos);
    expect(handler.endNanos).toBeLessThanOrEqual(server.endNanos);
    expect(house.collector.resource).toMatchObject({ "service.name": "agtpd" });
  });

  it("follows the parent that it names, and leads from its trace to its record and its line", async () => {
    const house = await open();
    const reply = await ask(house, "QUERY", "/parts/7", {
      traceparent: PARENT,
      tracestate: "vendor=1",
      baggage: "who=hush",
    });
    const server = named(await spansWith(house, "QUERY /parts/{part}"), "QUERY /parts/{part}");
    expect(server).toMatchObject({
      ...{ traceId: TRACE, parentSpanId: "b7ad6b7169203331", traceState: "vendor=1" },
      flags: 0x301,
    });
    expect(recordOf(reply).payload).toMatchObject({ trace_id: TRACE });
    const line = house.daemon.log.find(({ event }) => event === "request");
    expect(line).toMatchObject({ trace_id: TRACE });
  });

  it("that is not sampled is in nobody's trace, and in its record all the same", async () => {
    const house = await open();
    const reply = await ask(house, "QUERY", "/parts/7", { traceparent: UNSAMPLED });
    await ask(house, "QUERY", "/looks");
    const spans = await spansWith(house, "QUERY /looks");
    expect(spans.filter(({ traceId }) => traceId === TRACE)).toEqual([]);
    expect(recordOf(reply).payload).toMatchObject({ trace_id: TRACE });
  });

  it("that is refused has its gate and its error", async () => {
    const house = await open();
    await ask(house, "QUERY", "/nowhere");
    await ask(house, "HUSH", "/looks");
    await ask(house, "QUERY", "/looks", { "Agent-ID": "cd".repeat(32) });
    await ask(house, "AUDIT", "/reviews");
    const spans = await spansWith(house, "AUDIT /reviews");
    const gates = spans.flatMap(({ name, attributes }) =>
      attributes["agtp.gate"] === undefined
        ? []
        : [[name, attributes["agtp.gate"], attributes["agtp.error"]]],
    );
    expect(gates).toEqual([
      ["QUERY", "negotiation", "endpoint-not-found"],
      ["AGTP", "method", "method-not-in-catalog"],
      ["QUERY /looks", "caller", "agent-unauthenticated"],
    ]);
    const step = named(spans, "QUERY /parts/{part}");
    expect(step.traceId).toBe(named(spans, "AUDIT /reviews").traceId);
  });

  it("that fails is marked, and says nothing of why", async () => {
    const house = await open();
    expect((await ask(house, "QUERY", "/fails")).status).toBe(500);
    const span = named(await spansWith(house, "QUERY /fails"), "QUERY /fails");
    expect(span).toMatchObject({
      status: 2,
      attributes: { "error.type": "500", "agtp.status": 500 },
    });
  });

  it("leaves nothing of inputs, outputs and paths in its trace", async () => {
    const house = await open();
    await ask(house, "QUERY", "/looks", { baggage: "who=hush", authorization: "Bearer hush" });
    await ask(house, "QUERY", "/fails");
    await ask(house, "QUERY", "/hush");
    await ask(house, "HUSH", "/hush");
    await spansWith(house, "AGTP");
    expect(house.collector.octets.toLowerCase()).not.toContain("hush");
  });
});

describe("what leaves", () => {
  it("has the trace: an HTTPS upstream by its header fields, with no baggage", async () => {
    const upstream = await startUpstream();
    onTestFinished(() => upstream.close());
    const house = await open({
      "ca.pem": upstream.ca,
      "endpoints/api.toml": endpointFile({
        ...{ method: "QUERY", path: "/apis" },
        errors: [
          "upstream_timeout",
          "upstream_connection_error",
          "upstream_malformed_response",
          "upstream_authentication_failed",
          "upstream_error",
        ],
        properties: { secret: {} },
        handler: {
          type: "external_service",
          url: `${upstream.origin}/hush`,
          method: "POST",
          ca: "ca.pem",
        },
      }),
    });
    await ask(house, "QUERY", "/apis", {
      traceparent: PARENT,
      tracestate: "vendor=1",
      baggage: "a=b",
    });
    const spans = await spansWith(house, "QUERY /apis");
    const client = named(spans, "POST");
    expect(client).toMatchObject({
      kind: 3,
      traceId: TRACE,
      parentSpanId: named(spans, "handler").spanId,
      attributes: { "http.request.method": "POST", "server.address": "127.0.0.1" },
    });
    const [received] = upstream.seen;
    expect(received?.headers).toMatchObject({
      traceparent: `00-${TRACE}-${client.spanId}-01`,
      tracestate: "vendor=1",
    });
    expect(received?.headers).not.toHaveProperty("baggage");
    expect(house.collector.octets).not.toContain("hush");
  });

  it("has the trace: a process by a member of its call", async () => {
    const processes = [{ name: "rooms", command: [process.execPath, HANDLER_PROCESS] }];
    const house = await open(
      {
        "endpoints/echo.toml": endpointFile({
          ...{ method: "QUERY", path: "/echos", properties: { secret: {} } },
          handler: { type: "registered_function", function: "rooms:echo" },
        }),
      },
      {},
      { processes },
    );
    const reply = await ask(house, "QUERY", "/echos", { traceparent: PARENT });
    const client = named(await spansWith(house, "rooms:echo"), "rooms:echo");
    expect(reply.body["traceparent"]).toBe(`00-${TRACE}-${client.spanId}-01`);
    expect(client).toMatchObject({ kind: 3, attributes: { "agtp.upstream": "rooms" } });
  });
});

describe("over HTTP", () => {
  it("there is one server span, the sidecar's, with AGTP's as its child", async () => {
    const house = await open({}, {}, { gateway: { enabled: true, port: 0, agent: "alma" } });
    const url = `http://127.0.0.1:${house.daemon.daemon.gatewayPort}/parts/7/query`;
    const response = await fetch(url, {
      method: "POST",
      headers: { traceparent: PARENT, "content-type": "application/json" },
      body: "{}",
    });
    expect(response.status).toBe(200);
    await spansWith(house, "QUERY /parts/{part}");
    const spans = await spansWith(house, "POST");
    const http = named(spans, "POST");
    expect(http).toMatchObject({
      ...{ kind: 2, traceId: TRACE, parentSpanId: "b7ad6b7169203331" },
      attributes: { "http.request.method": "POST", "http.response.status_code": 200 },
    });
    expect(named(spans, "QUERY /parts/{part}")).toMatchObject({
      traceId: TRACE,
      parentSpanId: http.spanId,
    });
  });

  it("there is that span also where the client leaves before it is answered", async () => {
    const slow = `export const part = ({ signal }) => new Promise((answer) => {
      signal.addEventListener("abort", () => answer({ body: { id: "late" } }));
    });`;
    const handlers = { "handlers.mjs": HANDLERS.replace(/export const part.*/, slow) };
    const house = await open(handlers, {}, { gateway: { enabled: true, port: 0, agent: "alma" } });
    const url = `http://127.0.0.1:${house.daemon.daemon.gatewayPort}/parts/7/query`;
    const leaving = new AbortController();
    const began = once(CHANNELS.handler);
    const headers = { "content-type": "application/json" };
    const asked = fetch(url, { method: "POST", headers, body: "{}", signal: leaving.signal });
    await began;
    leaving.abort();
    await expect(asked).rejects.toThrow();
    // A drain waits for nobody who has left.
    await spansSoFar(house, "QUERY /parts/{part}");
    const spans = await spansWith(house, "POST");
    const http = named(spans, "POST");
    expect(http.attributes).toEqual({ "http.request.method": "POST" });
    expect(named(spans, "QUERY /parts/{part}").parentSpanId).toBe(http.spanId);
  });
});

/** Something has been told on a channel. */
function once(channel: string): Promise<void> {
  return new Promise((resolve) => {
    const hear = () => {
      unsubscribe(channel, hear);
      resolve();
    };
    subscribe(channel, hear);
  });
}

describe("over MCP", () => {
  it("the parent is the one in _meta, whatever a header field says", async () => {
    const gateway = { enabled: true, port: 0, agent: "alma" };
    const house = await open({}, {}, { gateway, mcp: { enabled: true, anonymous: true } });
    const base = `http://127.0.0.1:${house.daemon.daemon.gatewayPort}`;
    const server = { fetch: (path: string, init?: RequestInit) => fetch(`${base}${path}`, init) };
    const fields = { ...currentFields("tools/list"), traceparent: UNSAMPLED };
    const { tools } = (await messageOf(await post(server, current("tools/list"), fields)))
      .result as { readonly tools: readonly { readonly name: string }[] };
    const name = tools.find((tool) => tool.name.includes("parts"))?.name ?? "";
    const params = { name, arguments: { part: "7" }, _meta: { traceparent: OTHER_PARENT } };
    const answer = await messageOf(
      await post(server, current("tools/call", params), {
        ...currentFields("tools/call", name),
        traceparent: PARENT,
      }),
    );
    expect(answer.result).toMatchObject({ structuredContent: { id: "hush" } });
    const http = named(await spansWith(house, "POST"), "POST");
    expect(http).toMatchObject({ traceId: OTHER_TRACE, parentSpanId: "00f067aa0ba902b7" });
    const span = named(await spansWith(house, "QUERY /parts/{part}"), "QUERY /parts/{part}");
    expect(span).toMatchObject({ traceId: OTHER_TRACE, parentSpanId: http.spanId });
  });
});

describe("a collector", () => {
  it("is told what waits when the daemon drains", async () => {
    const house = await open();
    await ask(house, "QUERY", "/looks");
    await house.daemon.daemon.drain();
    expect(house.collector.spans.map(({ name }) => name)).toContain("QUERY /looks");
  });

  it("gets the header fields that it wants", async () => {
    const house = await open(
      {},
      { headers: { Authorization: "Bearer of-the-collector" }, service_name: "desk" },
    );
    await ask(house, "QUERY", "/looks");
    await spansSoFar(house, "QUERY /looks");
    expect(house.collector.headers[0]).toMatchObject({ authorization: "Bearer of-the-collector" });
    expect(house.collector.resource).toMatchObject({ "service.name": "desk" });
  });

  it.each<readonly [string, "closed" | (() => number | undefined)]>([
    ["answers 400", () => 400],
    ["has had enough (429)", () => 429],
    ["is overloaded (503)", () => 503],
    ["never answers", () => undefined],
    ["takes no connection", "closed"],
  ])(
    "that %s costs no request anything: all that it does not take is counted",
    async (_, answer) => {
      let dropped = 0;
      const count = (message: unknown): void => {
        dropped += (message as { readonly count: number }).count;
      };
      subscribe(DROPPED_CHANNEL, count);
      onTestFinished(() => void unsubscribe(DROPPED_CHANNEL, count));
      const collector = await openCollector(answer === "closed" ? undefined : answer);
      onTestFinished(() => collector.close());
      if (answer === "closed") await collector.close();
      const tables = { limits: { drain_timeout_ms: 300 } };
      const daemon = await openDaemon(files({ endpoint: collector.endpoint }, {}, tables));
      const client = await daemon.connect();
      const headers = { "Agent-ID": AGENT };
      for (let sent = 0; sent < 3_000; sent += 50) {
        for (let at = 0; at < 50; at += 1) {
          client.write(encodeRequest({ method: "QUERY", path: "/parts/7", headers, body: {} }));
        }
        await client.replies(sent + 50);
      }
      const replies = await client.replies(3_000);
      expect(replies.every(({ status }) => status === 200)).toBe(true);
      await daemon.daemon.drain();
      // Of each request its own span and its handler's; no others wait than the queue has room for.
      await vi.waitFor(() => expect(dropped).toBe(6_000), PATIENCE);
    },
  );

  it("that never answers keeps no daemon from ending, and what it did not take is told", async () => {
    const collector = await openCollector(() => undefined);
    onTestFinished(() => collector.close());
    const limits = { drain_timeout_ms: 600_000 };
    const daemon = await openDaemon(files({ endpoint: collector.endpoint }, {}, { limits }));
    await ask({ daemon }, "QUERY", "/parts/7");
    await daemon.daemon.drain();
    const lost = daemon.log.find(({ event }) => event === "spans-lost");
    expect(lost).toMatchObject({ level: "warn", count: 2 });
  });
});

interface SentMetrics {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly { readonly name: string }[] }[];
  }[];
}

describe("metrics", () => {
  it("are sent as /metrics shows them", async () => {
    const house = await open({}, { metrics: true });
    await ask(house, "QUERY", "/parts/7");
    await house.daemon.daemon.drain();
    const last = house.collector.metrics.at(-1) as SentMetrics | undefined;
    const sent = last?.resourceMetrics[0]?.scopeMetrics[0]?.metrics ?? [];
    const named = (name: string): object | undefined => sent.find((one) => one.name === name);
    expect(named("agtp_requests_total")).toMatchObject({
      sum: { isMonotonic: true, dataPoints: [{ asDouble: 1 }] },
    });
    expect(named("agtp_request_duration_seconds")).toMatchObject({
      histogram: { dataPoints: [{ count: 1 }] },
    });
    expect(named("agtp_open_connections")).toHaveProperty("gauge");
  });
});

describe("the environment", () => {
  it("has no word in what is sent", async () => {
    vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20stray");
    vi.stubEnv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip");
    onTestFinished(() => void vi.unstubAllEnvs());
    const house = await open({}, { metrics: true });
    await ask(house, "QUERY", "/parts/7");
    await house.daemon.daemon.drain();
    const { headers, metrics, spans } = house.collector;
    expect([metrics.length > 0, spans.length > 0]).toEqual([true, true]);
    for (const one of headers) {
      expect(one).not.toHaveProperty("authorization");
      expect(one).not.toHaveProperty("content-encoding");
    }
  });
});

describe("a reload", () => {
  it("traces on, and switches traces off", async () => {
    const house = await open();
    await ask(house, "QUERY", "/looks");
    expect(await house.daemon.daemon.reload()).toEqual([]);
    await ask(house, "QUERY", "/parts/7", { traceparent: PARENT });
    await vi.waitFor(
      () => expect(house.collector.spans.some(({ traceId }) => traceId === TRACE)).toBe(true),
      PATIENCE,
    );
    writeFileSync(join(house.daemon.directory, "agtp-server.toml"), configFile());
    expect(await house.daemon.daemon.reload()).toEqual([]);
    const reply = await ask(house, "QUERY", "/parts/7", { traceparent: PARENT });
    expect(recordOf(reply).payload).not.toHaveProperty("trace_id");
  });
});

describe("a reload with another collector", () => {
  it.each([1, 2])("has the metrics of %i workers there from then on", async (workers) => {
    const [first, second] = [await openCollector(), await openCollector()];
    onTestFinished(() => Promise.all([first, second].map((one) => one.close())).then(() => {}));
    const text = (collector: Collector, token: string): string => {
      const headers = { Authorization: `Bearer ${token}` };
      const tracing = { enabled: true, metrics: true, endpoint: collector.endpoint, headers };
      return configFile({ server: { workers }, tracing });
    };
    const house = await openDaemon({ ...files({}), "agtp-server.toml": text(first, "old") });
    writeFileSync(join(house.directory, "agtp-server.toml"), text(second, "new"));
    expect(await house.daemon.reload()).toEqual([]);
    await vi.waitFor(() => expect(first.metrics).not.toEqual([]), PATIENCE);
    await house.daemon.drain();
    const tokensOf = ({ headers }: Collector) => [
      ...new Set(headers.map(({ authorization }) => authorization)),
    ];
    expect([first, second].map(tokensOf)).toEqual([["Bearer old"], ["Bearer new"]]);
    // One that went on later would have what was counted before count twice.
    const [before, after] = [first, second].map(({ metrics }) => {
      const times = JSON.stringify(metrics).matchAll(/"startTimeUnixNano":(\d+)/g);
      return new Set(Array.from(times, ([, time]) => time));
    });
    expect([before?.size, after]).toEqual([1, before]);
  });
});

describe("a request that is under way when a reload comes", () => {
  it("has one span, and so has one that comes meanwhile", async () => {
    const hold = `globalThis.hold = () => new Promise((resolve) => {
      globalThis.letGo = () => resolve({ body: { id: "kept" } });
    });`;
    const house = await open({
      "handlers.mjs": `${HANDLERS}\n${hold}\nexport const held = () => globalThis.hold();`,
      "endpoints/held.toml": endpointFile({
        ...{ method: "QUERY", path: "/waits", properties: { secret: {} } },
        handler: { type: "registered_function", function: "handlers.held" },
      }),
    });
    const held = globalThis as { hold?: unknown; letGo?: () => void };
    onTestFinished(() => {
      delete held.hold;
      delete held.letGo;
    });
    const waiting = ask(house, "QUERY", "/waits");
    await vi.waitFor(() => expect(held.letGo).toBeDefined(), PATIENCE);
    expect(await house.daemon.daemon.reload()).toEqual([]);
    await ask(house, "QUERY", "/parts/7");
    held.letGo?.();
    expect((await waiting).status).toBe(200);
    await ask(house, "QUERY", "/looks");
    // Each deployment sends its own, and one that ends waits two seconds for its collector.
    await spansSoFar(house, "QUERY /waits");
    await spansSoFar(house, "QUERY /looks");
    await house.daemon.daemon.drain();
    const ids = house.collector.spans.map(({ name, spanId }) => `${name} ${spanId}`);
    expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted());
    const names = house.collector.spans.map(({ name }) => name).toSorted();
    expect(names).toEqual([
      ...["QUERY /looks", "QUERY /parts/{part}", "QUERY /parts/{part}", "QUERY /waits"],
      ...["handler", "handler", "handler"],
    ]);
  });
});

describe("a reload with certificates of a collector that cannot be had", () => {
  it("is refused, and leaves what is served: no certificate, and a pipe that nobody writes to", async () => {
    const { daemon, directory } = await openDaemon(files({ enabled: false }));
    const text = configFile({ tracing: { enabled: true, ca: "collector.pem" } });
    writeFileSync(join(directory, "agtp-server.toml"), text);
    writeFileSync(join(directory, "collector.pem"), "no certificate");
    const problems = await daemon.reload();
    expect(problems).toEqual([
      expect.objectContaining({
        key: "tracing.ca",
        message: expect.stringContaining("holds no PEM certificate"),
      }),
    ]);
    execFileSync("mkfifo", [join(directory, "pipe.pem")]);
    const piped = text.replace("collector.pem", "pipe.pem");
    writeFileSync(join(directory, "agtp-server.toml"), piped);
    expect(await daemon.reload()).toEqual([
      expect.objectContaining({ message: expect.stringContaining("must be a regular file") }),
    ]);
  });
});
