/** Secrets where names belong, and among what a definition has: they are not sent back, and neither logged nor kept. */
import { describe, expect, it } from "vitest";
import type { Redact } from "../../../../src/modules/openwop/runs/redact.ts";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import type { Store } from "../../../../src/state/store.ts";
import { redactorOf } from "../../../support/openwop.ts";
import { CATALOG } from "../../../support/openwop-agents.ts";
import {
  expectValid,
  openRuns,
  type Reply,
  type RunServer,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";

const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl-canary";
const KEY = "sk-canary-rfc0064-do-not-leak-xyz789";
/** Longer than what a message quotes, and of no form that anybody knows. */
const KNOWN = "harbour/tide ".repeat(20);
const NOWHERE = "018f0000-0000-7000-8000-000000000000";

const redactor = redactorOf({ TIDE: KNOWN });
const redact: Redact = <Value>(value: Value): Value => redactor.value(value) as Value;

type Ask = (server: RunServer, canary: string, runId: string) => Promise<Reply>;

const create =
  (body: (canary: string) => object): Ask =>
  (server, canary) =>
    server.post("/v1/runs", body(canary), { headers: { "idempotency-key": `k-${Math.random()}` } });
const fork =
  (body: (canary: string) => object): Ask =>
  (server, canary, runId) =>
    server.post(`/v1/runs/${runId}:fork`, body(canary));
const events =
  (query: (canary: string) => string): Ask =>
  (server, canary, runId) =>
    server.get(`/v1/runs/${runId}/events${query(encodeURIComponent(canary))}`);

const ASKED: readonly (readonly [where: string, ask: Ask])[] = [
  ["workflowId", create((workflowId) => ({ workflowId }))],
  ["a part of workflowId", create((canary) => ({ workflowId: `nonexistent-${canary}` }))],
  ["agentId", create((agentId) => ({ agentId }))],
  ["the name of a member", create((canary) => ({ workflowId: "conformance-noop", [canary]: 1 }))],
  [
    "a tag's place",
    create((canary) => ({ workflowId: "conformance-noop", tags: { [canary]: 1 } })),
  ],
  [
    "an option's name",
    create((canary) => ({
      workflowId: "conformance-noop",
      configurable: { promptOverrides: { [canary]: 1 } },
    })),
  ],
  ["the name of a member of a fork", fork((canary) => ({ mode: "branch", [canary]: 1 }))],
  ["the mode of a fork", fork((mode) => ({ mode }))],
  ["where a fork begins", fork((fromSeq) => ({ mode: "branch", fromSeq }))],
  ["an overlay", fork((c) => ({ mode: "branch", fromSeq: 0, runOptionsOverlay: { [c]: 1 } }))],
  ["bufferMs", events((canary) => `?bufferMs=${canary}`)],
  ["lastSequence", events((canary) => `?lastSequence=${canary}`)],
  ["streamMode", events((canary) => `?streamMode=${canary}`)],
  ["timeout", events((canary) => `/poll?timeout=${canary}`)],
  ["a run's id", (server, canary) => server.get(`/v1/runs/${encodeURIComponent(canary)}`)],
  ["an agent's id", (server, canary) => server.get(`/v1/agents/${encodeURIComponent(canary)}`)],
  ["a token", (server, canary) => server.get(`/v1/interrupts/${encodeURIComponent(canary)}`)],
  [
    "a node's id",
    (server, canary, runId) =>
      server.post(`/v1/runs/${runId}/interrupts/${encodeURIComponent(canary)}`, { resumeValue: 1 }),
  ],
  [
    "a drain policy",
    (server, canary, runId) => server.post(`/v1/runs/${runId}:pause`, { drainPolicy: canary }),
  ],
  ["a body that is no JSON", (server, canary) => server.post("/v1/runs", `{"${canary}"`)],
];

async function everythingIn(store: Store): Promise<string> {
  const names = [
    "openwop-idempotency",
    "openwop-runs",
    "openwop-run-entries",
    "openwop-run-events",
  ];
  const pages = await Promise.all(names.map((name) => store.list(name)));
  return JSON.stringify(pages);
}

// OpenWOP SR-1, "error-envelope"
describe("an error envelope", () => {
  it.each(ASKED)("is without the secret that stood in %s", async (_, ask) => {
    const store = createMemoryStore();
    const server = await openRuns({ store, redact, catalog: CATALOG });
    const runId = await server.run("conformance-noop");
    await server.until(runId, "completed");
    for (const canary of [JWT, KEY, KNOWN]) {
      const { status, body, text } = await ask(server, canary, runId);
      expect(status, text).toBeGreaterThanOrEqual(400);
      expectValid(body, "error-envelope");
      expect(text).not.toContain(canary.slice(0, 40));
      expect(await everythingIn(store)).not.toContain(canary.slice(0, 40));
      expect(JSON.stringify(server.warnings)).not.toContain(canary.slice(0, 40));
    }
  });

  it("says what else was wrong, and keeps an Agent-ID", async () => {
    const server = await openRuns({ redact, catalog: CATALOG });
    const agentId = "a".repeat(64);
    const { body } = await server.post("/v1/runs", { agentId });
    expect(body["message"]).toBe(`there is no agent "${agentId}"`);
    const { text } = await server.post("/v1/runs", { workflowId: `flow-${KEY}` });
    expect(text).toContain("flow-[REDACTED:api-key]");
  });

  it("is without it where one of many is not there", async () => {
    const server = await openRuns({ redact });
    const { text } = await server.post("/v1/runs:bulk-cancel", { runIds: [KEY, NOWHERE] });
    expect(text).not.toContain(KEY);
    expect(text).toContain(NOWHERE);
  });
});

describe("a definition", () => {
  it("keeps its schemas, whatever the members are called that they are about", async () => {
    const schema = { type: "object", properties: { password: { type: "string", default: KEY } } };
    const questions = [{ id: "secret", question: "Which?", schema }];
    const config = { schema: { password: "swordfish" } };
    const definition = workflow(
      "asks",
      [
        node("ask", "core.clarificationGate", { config: { questions } }),
        node("n", "core.noop", { config }),
      ],
      { configurableSchema: schema },
    );
    const server = await openRuns({ redact, workflows: [definition] });
    const { body, text } = await server.get("/v1/workflows/asks");
    const shown = {
      type: "object",
      properties: { password: { type: "string", default: "[REDACTED:api-key]" } },
    };
    expect(body).toMatchObject({
      configurableSchema: shown,
      nodes: [{ config: { questions: [{ schema: shown }] } }, {}],
    });
    expect(text).not.toMatch(/canary|swordfish/);
  });

  it("says where inputs come from, whatever they are called, and no credential among them", async () => {
    const inputs = {
      cookie: { type: "variable", variableName: "tin", optional: true },
      password: { type: "connection", nodeId: "first", outputKey: "word", optional: true },
      secret: { type: "static", value: "swordfish" },
      open: { type: "static", value: { password: "swordfish", port: 7, key: KEY } },
    } as const;
    const nodes = [node("first", "core.noop"), node("n", "core.identity", { inputs })];
    const server = await openRuns({ redact, workflows: [workflow("fed", nodes)] });
    const { body } = await server.get("/v1/workflows/fed");
    expect(body["nodes"]).toMatchObject([
      {},
      {
        inputs: {
          ...{ cookie: inputs.cookie, password: inputs.password },
          secret: { type: "static", value: "[REDACTED:secret]" },
          open: {
            type: "static",
            value: { password: "[REDACTED:password]", port: 7, key: "[REDACTED:api-key]" },
          },
        },
      },
    ]);
  });
});

// OpenWOP SR-1
describe("a snapshot", () => {
  it("is without the secrets among the defaults of variables, in whichever way it is read", async () => {
    const variables = [
      { name: "plain", type: "string", defaultValue: `the key ${KEY}` },
      { name: "password", type: "string", defaultValue: "swordfish" },
      { name: "open", type: "object", defaultValue: { password: "swordfish", port: 7 } },
      { name: "unset", type: "string" },
    ] as const;
    const store = createMemoryStore();
    const workflows = [workflow("keyed", [node("wait", "core.approvalGate")], { variables })];
    const server = await openRuns({ store, redact, workflows });
    expect((await server.get("/v1/workflows/keyed")).text).not.toMatch(/canary|swordfish/);
    const runId = await server.run("keyed");
    const snapshot = await server.until(runId, "waiting-approval");
    expect(snapshot["variables"]).toEqual({
      plain: "the key [REDACTED:api-key]",
      password: "[REDACTED:password]",
      open: { password: "[REDACTED:password]", port: 7 },
    });
    await server.post(`/v1/runs/${runId}/cancel`);
    const stream = await server.fetch(`/v1/runs/${runId}/events?streamMode=values`);
    const text = await stream.text();
    expect(text).toContain("[REDACTED:password]");
    expect(text).not.toMatch(/canary|swordfish/);
    expect(await everythingIn(store)).not.toMatch(/canary|swordfish/);
  });
});
