/** Runs that wait for people: approvals and answers, through a kill and a fork. */
import { describe, expect, it } from "vitest";
import type { Redact } from "../../../../src/modules/openwop/runs/redact.ts";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import { redactorOf } from "../../../support/openwop.ts";
import {
  expectValid,
  expectValidLog,
  KEY,
  killableStore,
  openRuns,
  type Reply,
  type RunServer,
  type RunServerOptions,
} from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";

const KEYLIKE = "sk-canary-rfc0064-do-not-leak";
const GATE = { title: "Publish?", description: "Say so.", actions: ["accept", "reject"] };
const QUESTIONS = [
  { id: "colour", question: "What is your favourite colour?" },
  { id: "count", question: "How many?", schema: { type: "integer", minimum: 1 } },
];

const gated = (config: object = GATE) =>
  workflow("gated", [
    node("gate", "core.approvalGate", { config: { ...config } }),
    node("end", "core.noop"),
  ]);
const asking = workflow("asking", [
  node("ask", "core.clarificationGate", { config: { questions: QUESTIONS } }),
  node("end", "core.identity", {
    inputs: { colour: { type: "connection", nodeId: "ask", outputKey: "colour" } },
  }),
]);

async function waiting(
  workflowId: "gated" | "asking",
  options: RunServerOptions = {},
): Promise<{ readonly server: RunServer; readonly runId: string }> {
  const server = await openRuns({ workflows: [gated(), asking], ...options });
  const runId = await server.run(workflowId);
  await server.until(runId, "waiting-approval", "waiting-input");
  return { server, runId };
}

function say(server: RunServer, runId: string, nodeId: string, resumeValue: unknown) {
  return server.post(`/v1/runs/${runId}/interrupts/${nodeId}`, { resumeValue });
}

// OpenWOP "interrupt" §approval
describe("an approval gate", () => {
  it("waits, says for what, and goes on when it is accepted", async () => {
    const { server, runId } = await waiting("gated");
    const snapshot = (await server.get(`/v1/runs/${runId}`)).body;
    expect(snapshot).toMatchObject({ status: "waiting-approval", currentNodeId: "gate" });
    expect(snapshot.interrupt).toMatchObject({ kind: "approval", data: { ...GATE } });
    expect((await say(server, runId, "gate", { action: "accept", comment: "yes" })).status).toBe(
      200,
    );
    await server.until(runId, "completed");
    const events = await server.events(runId);
    expectValidLog(events);
    const asked = events.find(({ type }) => type === "interrupt.requested");
    expectValid(asked?.payload, "suspend-request");
    expectValid(asked?.payload["data"], "suspend-request", "ApprovalData");
    expect(events.map(({ type }) => type)).toEqual([
      ...["run.started", "node.started", "node.suspended", "interrupt.requested"],
      ...["approval.received", "interrupt.resolved", "node.completed"],
      ...["node.started", "node.completed", "run.completed"],
    ]);
    const received = events.find(({ type }) => type === "approval.received");
    expect(received?.payload).toMatchObject({ action: "accept", comment: "yes", nodeId: "gate" });
    expect(received?.payload["decidedBy"]).toMatch(/^key:/);
  });

  it("ends the run when it is rejected", async () => {
    const { server, runId } = await waiting("gated");
    await say(server, runId, "gate", { action: "reject" });
    const snapshot = await server.until(runId, "failed", "completed");
    expect(snapshot).toMatchObject({ status: "failed", error: { code: "approval_rejected" } });
    expectValidLog(await server.events(runId));
  });

  it.each([
    ["an action that it does not offer", { action: "maybe" }, "/action"],
    ["one that its workflow left out", { action: "edit-accept", editedArtifactData: 1 }, "/action"],
    ["no action", { comment: "well" }, "/action"],
    ["a yes in other words", true, ""],
    ["a member that nobody knows", { action: "accept", amount: 3 }, "/amount"],
  ])("takes no word with %s, says so, and waits on", async (_, resumeValue, wrong) => {
    const { server, runId } = await waiting("gated");
    const before = await server.events(runId);
    const { status, body } = await say(server, runId, "gate", resumeValue);
    expect(status).toBe(400);
    expectValid(body, "error-envelope");
    expect(body.error).toBe("validation_error");
    expect(body).toMatchObject({ details: { errors: [{ path: `/resumeValue${wrong}` }] } });
    expect(await server.events(runId)).toEqual(before);
    expect((await say(server, runId, "gate", { action: "accept" })).status).toBe(200);
  });

  it("takes one word, and is not answered by other nodes' names", async () => {
    const { server, runId } = await waiting("gated");
    expect((await say(server, runId, "end", { action: "accept" })).status).toBe(404);
    const both = [
      await say(server, runId, "gate", { action: "accept" }),
      await say(server, runId, "gate", { action: "reject" }),
    ];
    expect(both.map(({ status }) => status)).toEqual([200, 409]);
  });

  it("shows what is to be approved, and puts out what it was edited to", async () => {
    const actions = ["accept", "edit-accept"];
    const flow = workflow(
      "gated",
      [
        node("gate", "core.approvalGate", {
          config: { actions },
          inputs: { draft: { type: "variable", variableName: "draft" } },
        }),
      ],
      { variables: [{ name: "draft", type: "string" }] },
    );
    const server = await openRuns({ workflows: [flow] });
    const runId = await server.run("gated", { inputs: { draft: "once" } });
    const { interrupt } = await server.until(runId, "waiting-approval");
    expect(interrupt).toMatchObject({ data: { artifactData: { draft: "once" }, actions } });
    expect((await say(server, runId, "gate", { action: "edit-accept" })).status).toBe(400);
    const edited = { action: "edit-accept", editedArtifactData: { draft: "twice" } };
    await say(server, runId, "gate", edited);
    const { outputs } = (await server.until(runId, "completed")) as { outputs?: unknown };
    expect(outputs).toMatchObject({ approved: true, editedArtifactData: { draft: "twice" } });
  });

  it("waits for as many as it asks for, each of whom counts once", async () => {
    const quorum = gated({ ...GATE, requiredApprovals: 2 });
    const server = await openRuns({ workflows: [quorum] });
    const runId = await server.run("gated");
    await server.until(runId, "waiting-approval");
    const vote = (voter: string): Promise<Reply> =>
      say(server, runId, "gate", { action: "accept", voter });
    const first = await vote("ann");
    const votes = [{ by: "ann", action: "accept" }];
    expect([first.status, first.body]).toEqual([
      ...[200, { runId, nodeId: "gate", status: "pending", votes }],
    ]);
    expect((await server.get(`/v1/runs/${runId}`)).body).toMatchObject({
      ...{ status: "waiting-approval", interrupt: { votes: [{ by: "ann", action: "accept" }] } },
    });
    expect((await vote("ann")).status).toBe(409);
    expect((await vote("bob")).body).toEqual({ runId, nodeId: "gate", status: "resolved" });
    await server.until(runId, "completed");
    expectValidLog(await server.events(runId));
  });

  it("answers a vote that is sent again under its key as it did, whatever was said since", async () => {
    const quorum = gated({ ...GATE, requiredApprovals: 2 });
    const server = await openRuns({ workflows: [quorum] });
    const runId = await server.run("gated");
    await server.until(runId, "waiting-approval");
    const vote = (voter: string): Promise<Reply> =>
      server.post(
        `/v1/runs/${runId}/interrupts/gate`,
        { resumeValue: { action: "accept", voter } },
        { headers: { "idempotency-key": `vote of ${voter}` } },
      );
    const said = [await vote("ann"), await vote("bob"), await vote("ann"), await vote("bob")];
    expect(said.map(({ body }) => body.status)).toEqual([
      ...["pending", "resolved", "pending", "resolved"],
    ]);
    expect(said.map(({ headers }) => headers.get("openwop-idempotent-replay"))).toEqual([
      ...[null, null, "true", "true"],
    ]);
  });

  it("takes a majority against it where its workflow says so", async () => {
    const config = { ...GATE, requiredApprovals: 3, rejectionPolicy: "majority" };
    const server = await openRuns({ workflows: [gated(config)] });
    const runId = await server.run("gated");
    await server.until(runId, "waiting-approval");
    for (const [voter, action] of [
      ["ann", "reject"],
      ["bob", "accept"],
    ]) {
      await say(server, runId, "gate", { action, voter });
      expect((await server.get(`/v1/runs/${runId}`)).body.status).toBe("waiting-approval");
    }
    await say(server, runId, "gate", { action: "reject", voter: "eve" });
    const snapshot = await server.until(runId, "failed", "completed");
    expect(snapshot).toHaveProperty("error.code", "approval_rejected");
  });

  it("believes nobody's own name outside of the public suite", async () => {
    const quorum = gated({ ...GATE, requiredApprovals: 2 });
    const server = await openRuns({ workflows: [quorum], isConformance: false });
    const runId = await server.run("gated");
    await server.until(runId, "waiting-approval");
    const named = await say(server, runId, "gate", { action: "accept", voter: "ann" });
    expect(named.status).toBe(400);
    expect((await say(server, runId, "gate", { action: "accept" })).status).toBe(200);
    expect((await say(server, runId, "gate", { action: "accept" })).status).toBe(409);
  });

  it("takes no word of anybody whom it does not list", async () => {
    const server = await openRuns({ workflows: [gated({ ...GATE, approversList: ["key:else"] })] });
    const runId = await server.run("gated");
    await server.until(runId, "waiting-approval");
    const { status, body } = await say(server, runId, "gate", { action: "accept" });
    expect([status, body.error]).toEqual([403, "forbidden"]);
    expect((await server.get(`/v1/runs/${runId}`)).body.status).toBe("waiting-approval");
  });

  it("waits on through a kill, and in a fork for a word of its own", async () => {
    const disk = createMemoryStore();
    const store = killableStore(disk);
    const { server, runId } = await waiting("gated", { store });
    const { interrupt } = (await server.get(`/v1/runs/${runId}`)).body;
    store.kill();
    await server.close();
    const next = await openRuns({ workflows: [gated()], store: disk });
    const { body: forked } = await next.post(`/v1/runs/${runId}:fork`, { mode: "replay" });
    const copy = await next.until(forked.runId, "waiting-approval");
    expect(copy.interrupt).toMatchObject({ interruptId: interrupt["interruptId"] });
    expect((await say(next, runId, "gate", { action: "accept" })).status).toBe(200);
    await next.until(runId, "completed");
    expect((await next.get(`/v1/runs/${forked.runId}`)).body.status).toBe("waiting-approval");
    const again = await next.post(`/v1/runs/${runId}:fork`, { mode: "replay" });
    const told = await next.until(again.body.runId, "completed", "waiting-approval");
    expect(told.status).toBe("completed");
  });

  it("is answered by its token, and by nobody once the run is cancelled", async () => {
    const { server, runId } = await waiting("gated");
    const { interrupt } = (await server.get(`/v1/runs/${runId}`)).body;
    const path = `/v1/interrupts/${String(interrupt["interruptToken"])}`;
    const { key } = (await server.events(runId)).at(-1)?.payload ?? {};
    expect((await server.get(path)).body).toMatchObject({ kind: "approval", nodeId: "gate", key });
    expect((await server.post(path, { resumeValue: { action: "maybe" } })).status).toBe(400);
    await server.post(`/v1/runs/${runId}/cancel`);
    expect((await say(server, runId, "gate", { action: "accept" })).status).toBe(422);
    expect((await server.get(path, { key: KEY })).status).toBe(409);
  });
});

// OpenWOP "interrupt" §clarification
describe("a clarification gate", () => {
  it("waits for answers, and puts each of them out", async () => {
    const { server, runId } = await waiting("asking");
    const snapshot = (await server.get(`/v1/runs/${runId}`)).body;
    expectValid(snapshot, "run-snapshot");
    expect(snapshot).toMatchObject({ status: "waiting-input", currentNodeId: "ask" });
    expectValid(snapshot.interrupt["data"], "suspend-request", "ClarificationData");
    const answers = { colour: "blue", count: 2 };
    expect((await say(server, runId, "ask", { answers })).status).toBe(200);
    const done = await server.until(runId, "completed");
    expect(done).toMatchObject({ outputs: { colour: "blue" } });
    const events = await server.events(runId);
    expectValidLog(events);
    expect(events.find(({ type }) => type === "clarification.resolved")?.payload).toMatchObject({
      ...{ nodeId: "ask", answers },
    });
  });

  it("asks for what is called like a credential, and takes none but an answer to that", async () => {
    const questions = [
      { id: "password", question: "How long must it be?", schema: { type: "integer" } },
      { id: "cookie", question: "Which?", schema: { enum: ["oat", "plum", `${KEYLIKE}s`] } },
    ];
    const asks = workflow("asks", [
      node("ask", "core.clarificationGate", { config: { questions } }),
    ]);
    const redactor = redactorOf();
    const redact: Redact = <Value>(value: Value): Value => redactor.value(value);
    const server = await openRuns({ workflows: [asks], redact });
    const runId = await server.run("asks");
    const { interrupt } = await server.until(runId, "waiting-input");
    expect(JSON.stringify(interrupt)).not.toContain("canary");
    const properties = {
      password: { type: "integer" },
      cookie: { enum: ["oat", "plum", "[REDACTED:api-key]"] },
    };
    expect(interrupt).toMatchObject({
      resumeSchema: { properties: { answers: { properties } } },
      data: { questions: [{ schema: properties.password }, { schema: properties.cookie }] },
    });
    for (const answers of [
      { password: "eight", cookie: "oat" },
      { password: 8, cookie: "fig" },
    ]) {
      expect((await say(server, runId, "ask", { answers })).status).toBe(400);
    }
    expect((await say(server, runId, "ask", 5)).status).toBe(400);
    const answers = { password: 8, cookie: "oat" };
    expect((await say(server, runId, "ask", { answers })).status).toBe(200);
    const { text } = await server.get(`/v1/runs/${runId}/events/poll`);
    expect(text).toContain('"password":"[REDACTED:password]"');
  });

  it("takes no answer to a question whose schema an earlier version kept broken", async () => {
    const disk = createMemoryStore();
    const { server, runId } = await waiting("asking", { store: disk });
    await server.close();
    const collection = "openwop-run-events";
    for (const { key, value } of await disk.list(collection, { prefix: `${runId}/` })) {
      const text = JSON.stringify(value).replaceAll(
        '{"type":"integer","minimum":1}',
        '"[REDACTED]"',
      );
      await disk.commit([{ kind: "put", collection, key, value: JSON.parse(text) }]);
    }
    const next = await openRuns({ workflows: [asking], store: disk });
    const answers = { colour: "blue", count: "many" };
    const { status, body } = await say(next, runId, "ask", { answers });
    expect([status, body.error]).toEqual([400, "validation_error"]);
    expect(body["message"]).toMatch(/cancel the run/);
    expect((await next.get(`/v1/runs/${runId}`)).body.status).toBe("waiting-input");
  });

  it("takes its answers as a list, too", async () => {
    const { server, runId } = await waiting("asking");
    const answers = [
      { id: "count", answer: 1 },
      { id: "colour", answer: "red" },
    ];
    expect((await say(server, runId, "ask", { answers })).status).toBe(200);
    expect(await server.until(runId, "completed")).toMatchObject({ outputs: { colour: "red" } });
  });

  it.each([
    ["one of them is missing", { answers: { colour: "blue" } }],
    ["one is not what its schema says", { answers: { colour: "blue", count: 0 } }],
    ["one answers nothing", { answers: { colour: "blue", count: 1, size: 3 } }],
    ["one is given twice", { answers: [1, 2].map((answer) => ({ id: "count", answer })) }],
    ["there are none", {}],
    ["it is a yes", true],
  ])("takes no answers where %s", async (_, resumeValue) => {
    const { server, runId } = await waiting("asking");
    const { status, body } = await say(server, runId, "ask", resumeValue);
    expect([status, body.error]).toEqual([400, "validation_error"]);
    expect((await server.get(`/v1/runs/${runId}`)).body.status).toBe("waiting-input");
  });
});
