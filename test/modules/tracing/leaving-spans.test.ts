/** Traces of what leaves the daemon, as a collector with other code reads them.   docs/tracing.md */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { hostedFiles as agntcyFiles, execute, MAYA, openAcp } from "../../support/agntcy.ts";
import { startPeer } from "../../support/agtp-peer.ts";
import { type Collector, openCollector, type SentSpan } from "../../support/collector.ts";
import { openDaemon } from "../../support/daemon.ts";
import {
  ALICE as DELEGATOR,
  delegation,
  delegationFiles,
  serverKey,
} from "../../support/delegation.ts";
import { agentFile, configFile, type DeploymentFiles } from "../../support/deployment.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../../support/dispatch.ts";
import { hostedFiles, ALICE as NOTIFIER } from "../../support/hosted-agents.ts";
import { startUpstream } from "../../support/https-upstream.ts";
import { says, startModelServer } from "../../support/model-server.ts";
import { packFiles } from "../../support/openwop.ts";
import { PATIENCE } from "../../support/patience.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;

interface Asked {
  readonly reply: TestReply;
  /** The spans of its trace, once one of the name that was waited for has arrived. */
  readonly spans: readonly SentSpan[];
  readonly collector: Collector;
}

/** Sends a request with a parent to a deployment with traces. */
async function askTraced(
  files: (tables: Readonly<Record<string, object>>) => DeploymentFiles,
  agentId: string,
  request: TestRequest,
  name: string,
): Promise<Asked> {
  const collector = await openCollector();
  onTestFinished(() => collector.close());
  const tracing = { enabled: true, endpoint: collector.endpoint, sample_ratio: 0 };
  const daemon = await openDaemon(files({ tracing }));
  const client = await daemon.connect();
  client.write(
    encodeRequest({
      ...request,
      headers: { "Agent-ID": agentId, traceparent: PARENT, baggage: "who=hush" },
    }),
  );
  const [reply] = await client.replies(1);
  if (reply === undefined) throw new Error("the connection was closed");
  const spans = (): readonly SentSpan[] =>
    collector.spans.filter(({ traceId }) => traceId === TRACE);
  await vi.waitFor(() => expect(spans().map((span) => span.name)).toContain(name), PATIENCE);
  client.destroy();
  return { reply, spans: spans(), collector };
}

function named(spans: readonly SentSpan[], name: string): SentSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name}: ${spans.map((one) => one.name)}`);
  return found;
}

describe("a task for a peer", () => {
  it("is a client span, and the peer is told of it", async () => {
    const peer = await startPeer((socket) => socket.destroy());
    onTestFinished(() => peer.close());
    const away = {
      ...{ name: "away", server_id: "away.example", public_key: serverKey(22).text },
      ...{ agents: ["1".repeat(64)], uri: `agtp://127.0.0.1:${peer.port}`, ca: "away.pem" },
      scopes: ["booking:*"],
    };
    const { reply, spans } = await askTraced(
      (tables) =>
        delegationFiles(
          {
            ...{ server: { server_id: "home.example" }, signing: { key: "signing.pem" } },
            ...{ peers: [away], ...tables },
          },
          { "signing.pem": serverKey(21).privatePem, "away.pem": peer.cert },
        ),
      DELEGATOR,
      { method: "DELEGATE", body: delegation({ target: "1".repeat(64) }) },
      "DELEGATE /",
    );
    expect(reply.status).toBe(550);
    const client = named(spans, "DELEGATE");
    expect(client).toMatchObject({
      ...{ kind: 3, parentSpanId: named(spans, "handler").spanId, status: 2 },
      attributes: { "agtp.upstream": "away", "agtp.method": "DELEGATE" },
    });
    const headers = peer.requests[0]?.headers;
    expect(headers?.get("traceparent")).toBe(`00-${TRACE}-${client.spanId}-01`);
    expect(headers?.get("baggage")).toBeUndefined();
  });
});

describe("a webhook", () => {
  it("is a client span within the request that asked for it", async () => {
    const upstream = await startUpstream();
    onTestFinished(() => upstream.close());
    const webhooks = {
      ...{ secret: "hush", ca: "ca.pem" },
      recipients: { desk: `${upstream.origin}/hush` },
    };
    const { reply, spans, collector } = await askTraced(
      (tables) => hostedFiles({}, { webhooks, ...tables }, { "ca.pem": upstream.ca }),
      NOTIFIER,
      { method: "NOTIFY", body: { recipient: "webhook:desk", content: { boat: "hush" } } },
      "POST",
    );
    expect(reply.status).toBe(200);
    const client = named(spans, "POST");
    expect(client).toMatchObject({
      kind: 3,
      attributes: { "http.request.method": "POST", "server.address": "127.0.0.1" },
    });
    expect(upstream.seen[0]?.headers).toMatchObject({
      traceparent: `00-${TRACE}-${client.spanId}-01`,
    });
    expect(upstream.seen[0]?.headers).not.toHaveProperty("baggage");
    expect(collector.octets).not.toContain("hush");
  });
});

describe("an AGNTCY agent", () => {
  it("is called within the trace", async () => {
    const server = await openAcp();
    const { reply, spans } = await askTraced(
      (tables) => agntcyFiles(server, { tables }),
      MAYA,
      execute(),
      "EXECUTE /mailcomposer",
    );
    expect(reply.status).toBe(200);
    const client = named(spans, "POST");
    expect(client).toMatchObject({
      ...{ kind: 3, parentSpanId: named(spans, "handler").spanId },
      attributes: { "http.request.method": "POST", "server.address": "127.0.0.1" },
    });
  });
});

describe("a question to a model", () => {
  it("is a client span with its numbers, and none of its words", async () => {
    const model = await startModelServer(says({ result: "hush", confidence: 0.9 }));
    const agentId = "vendor.test.pack.agent";
    const runtime = {
      ...{ kind: "openai-compatible", base_url: model.baseUrl, api_key: "hush" },
      models: { default: "small-1" },
    };
    const alice = agentFile({
      ...{ agent_id: DELEGATOR, name: "alice", scopes_accepted: ["runs:create"] },
    });
    const { reply, spans, collector } = await askTraced(
      (tables) => ({
        "agtp-server.toml": configFile({ openwop: { runtime }, ...tables }),
        "agents/alice.agent.json": alice,
        ...packFiles({}),
      }),
      DELEGATOR,
      { method: "EXECUTE", path: `/agents/${agentId}`, body: { task: "hush", wait_seconds: 10 } },
      "chat small-1",
    );
    expect(reply.status).toBe(200);
    const chat = named(spans, "chat small-1");
    expect(chat).toMatchObject({
      kind: 3,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai-compatible",
        "gen_ai.request.model": "small-1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
      },
    });
    await vi.waitFor(
      () =>
        expect(named(collector.spans, "POST")).toMatchObject({
          kind: 3,
          parentSpanId: chat.spanId,
          attributes: { "http.response.status_code": 200 },
        }),
      PATIENCE,
    );
    expect(collector.octets).not.toContain("hush");
  });
});
