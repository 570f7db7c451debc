import { afterEach, describe, expect, it, vi } from "vitest";
import { endpointFile } from "../../support/deployment.ts";
import { openServer, shareServer, type TestServer } from "../../support/dispatch.ts";
import { AGENT } from "../../support/genesis.ts";
import { makeCertificate } from "../../support/hosted-agents.ts";
import { NORA, negotiationFiles, OPAL, OTTO, PIA } from "../../support/negotiation.ts";
import { PATIENCE } from "../../support/patience.ts";
import {
  askAs,
  callIn,
  confirmation,
  escalation,
  refusalOf,
  resultOf,
} from "../../support/waiting.ts";

const STRANGER = "e".repeat(64);
const operator = makeCertificate({ key: AGENT });
const OPERATOR = { certificate: operator };

const shared = shareServer(
  negotiationFiles({
    server: { operator: "Acme Retail" },
    policies: {
      identity: {
        inspect_acl: "public",
        unknown_agents: "accept",
        operator_certificates: [operator.spkiFingerprint],
      },
    },
  }),
);

afterEach(() => {
  vi.useRealTimers();
});

let tasks = 0;
/** A task that no other test knows. */
function newTask(): string {
  tasks += 1;
  return `task-${tasks}`;
}

async function escalated(server: TestServer, taskId: string, changes = {}): Promise<string> {
  return resultOf(await askAs(server, NORA, escalation(taskId, changes)), "escalation_id");
}

// AGTP "ESCALATE"
describe("ESCALATE", () => {
  it("answers 202 with what the task waits for", async () => {
    const task = newTask();
    const deadline = new Date(Date.now() + 60_000).toISOString();
    const reply = await askAs(shared(), NORA, escalation(task, { priority: "urgent", deadline }));
    expect(reply.status).toBe(202);
    const id = resultOf(reply, "escalation_id");
    expect(reply.body).toEqual({
      status: 202,
      task_id: task,
      result: {
        escalation_id: expect.stringMatching(/^esc-[0-9a-f-]{36}$/),
        agent_id: NORA,
        task_id: task,
        status: "pending_review",
        task_paused: true,
        reason: "scope_limit",
        priority: "urgent",
        routed_to: "operators",
        opened_at: expect.any(String),
        deadline,
        estimated_review_by: deadline,
        poll: { method: "QUERY", path: `/escalations/${id}` },
      },
    });
  });

  it("refuses further calls of the task with the escalation, and of no other task or agent", async () => {
    const task = newTask();
    const id = await escalated(shared(), task);
    const refused = await askAs(shared(), NORA, callIn(task));
    expect(refusalOf(refused)).toEqual([409, "task-paused"]);
    expect(refused.body).toMatchObject({ escalation_id: id, escalation_status: "pending_review" });
    const envelope = { task_id: task, parameters: { subject: "barn" } };
    const enveloped = { method: "QUERY", path: "/facts", body: envelope };
    expect(refusalOf(await askAs(shared(), NORA, enveloped))).toEqual([409, "task-paused"]);
    expect((await askAs(shared(), NORA, callIn(newTask()))).status).toBe(200);
    expect((await askAs(shared(), OTTO, callIn(task))).status).toBe(200);
    const without = { method: "QUERY", path: "/facts", body: { subject: "barn" } };
    expect((await askAs(shared(), NORA, without)).status).toBe(200);
  });

  it("takes the task of the header, or of the envelope, where no parameter names one", async () => {
    const { body, ...request } = escalation("");
    const { task_id: _, ...parameters } = body as Record<string, unknown>;
    const byHeader = newTask();
    const headers = { "Task-ID": byHeader };
    await askAs(shared(), NORA, { ...request, headers, body: parameters });
    expect(refusalOf(await askAs(shared(), NORA, callIn(byHeader)))).toEqual([409, "task-paused"]);
    const byBody = newTask();
    const envelope = { method: "ESCALATE", task_id: byBody, parameters };
    await askAs(shared(), NORA, { ...request, body: envelope });
    expect(refusalOf(await askAs(shared(), NORA, callIn(byBody)))).toEqual([409, "task-paused"]);
  });

  it("answers the same again with the same escalation, and another with 409", async () => {
    const task = newTask();
    const first = await askAs(shared(), NORA, escalation(task));
    const again = await askAs(shared(), NORA, escalation(task, { deadline: "PT1H" }));
    expect(again.body).toEqual(first.body);
    const other = await askAs(shared(), NORA, escalation(task, { context: "something else" }));
    expect(refusalOf(other)).toEqual([409, "task-paused"]);
    expect(other.body["escalation_id"]).toBe(resultOf(first, "escalation_id"));
  });

  it("takes the older form, whose question no task need wait for", async () => {
    const body = { decision_point: "refund the guest?" };
    const reply = await askAs(shared(), NORA, { method: "ESCALATE", body });
    expect(reply.body["result"]).toMatchObject({ task_id: null, task_paused: false });
    const id = resultOf(reply, "escalation_id");
    const read = await askAs(shared(), NORA, { method: "QUERY", path: `/escalations/${id}` });
    expect(resultOf(read, "context")).toBe("refund the guest?");
  });

  it.each([
    ["another agent, by its name", "otto", OTTO],
    ["another agent, by its id", OTTO, OTTO],
    ["the operators", "Operators", "operators"],
    ["the operator, by its name", "acme retail", "operators"],
  ])("is sent to %s", async (_, recipient, routed) => {
    const reply = await askAs(shared(), NORA, escalation(newTask(), { recipient }));
    expect(resultOf(reply, "routed_to")).toBe(routed);
  });

  it("is sent by its id alone to an agent whom the caller is not shown", async () => {
    const server = await openServer(negotiationFiles({ agents: { disclosure: "private" } }));
    const send = (recipient: string) => askAs(server, NORA, escalation(newTask(), { recipient }));
    expect(resultOf(await send(OTTO), "routed_to")).toBe(OTTO);
    const [named, nobody] = [await send("otto"), await send("nobody")];
    expect(refusalOf(named)).toEqual([404, "agent-not-found"]);
    expect(named.body).toEqual(nobody.body);
    expect((await send("nora")).status).toBe(422);
  });

  it.each([
    [{ recipient: "nobody" }, 404, "agent-not-found"],
    [{ recipient: NORA }, 422, "schema-validation-failed"],
    [{ recipient: "nora" }, 422, "schema-validation-failed"],
    [{ task_id: undefined }, 422, "schema-validation-failed"],
    [{ task_id: "a b" }, 422, "schema-validation-failed"],
    [{ reason: undefined }, 422, "schema-validation-failed"],
    [{ reason: "because" }, 422, "schema-validation-failed"],
    [{ context: undefined }, 422, "schema-validation-failed"],
    [{ context: { text: "x".repeat(16_384) } }, 422, "schema-validation-failed"],
    [{ priority: "asap" }, 422, "schema-validation-failed"],
    [{ deadline: "yesterday" }, 422, "schema-validation-failed"],
    [{ deadline: "2020-01-01T00:00:00Z" }, 422, "schema-validation-failed"],
  ])("refuses %j", async (changes, status, code) => {
    const task = newTask();
    const reply = await askAs(shared(), NORA, escalation(task, changes));
    expect(refusalOf(reply)).toEqual([status, code]);
    expect((await askAs(shared(), NORA, callIn(task))).status).toBe(200);
  });

  it("keeps nothing for agents that the server does not know", async () => {
    const reply = await askAs(shared(), STRANGER, escalation(newTask()));
    expect(refusalOf(reply)).toEqual([262, "credentials-missing"]);
  });

  it("takes no more than an agent may wait for", async () => {
    const server = await openServer(negotiationFiles());
    for (let count = 0; count < 64; count += 1) {
      expect((await askAs(server, PIA, escalation(`t-${count}`))).status).toBe(202);
    }
    const reply = await askAs(server, PIA, escalation("t-64"));
    expect(refusalOf(reply)).toEqual([429, "rate-limited"]);
    expect(reply.body["scope"]).toBe("escalations");
    expect((await askAs(server, NORA, escalation("t-64"))).status).toBe(202);
  });

  it("lets a composition take no step after the one that escalates", async () => {
    const steps = `
[[recipe]]
name = "ask-first"
version = "1"
description = "Asks, then goes on."
[recipe.pattern]
method_exact = "REVIEW"
path_exact = "/cases"
[[recipe.steps]]
method = "ESCALATE"
[recipe.steps.parameters.reason]
kind = "constant"
value = "ethical_flag"
[recipe.steps.parameters.context]
kind = "constant"
value = "go on?"
[[recipe.steps]]
method = "QUERY"
path = "/facts"
[recipe.steps.parameters.subject]
kind = "constant"
value = "barn"
[recipe.aggregation]
mode = "last"
`;
    const server = await openServer({
      ...negotiationFiles(),
      "recipes/ask.toml": steps,
      "endpoints/cases.toml": endpointFile({
        method: "REVIEW",
        path: "/cases",
        errors: ["composition_failed"],
        required_scopes: ["facts:read"],
        handler: { type: "composition", recipe: "ask-first" },
      }),
    });
    const request = { method: "REVIEW", path: "/cases", headers: { "Task-ID": "t-1" }, body: {} };
    const reply = await askAs(server, NORA, request);
    expect(refusalOf(reply)).toEqual([422, "composition_failed"]);
    expect(reply.body["error"]?.["details"]).toMatchObject({ step: 2, status: 409 });
  });
});

// AGTP "CONFIRM"
describe("CONFIRM of an escalation", () => {
  it("is the operators' word, by scope: the task goes on, and the agent learns why", async () => {
    const task = newTask();
    const id = await escalated(shared(), task);
    const more = { reason: "it is fine", attestation: { signed: "opal" } };
    const reply = await askAs(shared(), OPAL, confirmation(id, "accepted", more));
    expect(reply.status).toBe(200);
    const decision = {
      attestation_id: expect.stringMatching(/^att-/),
      status: "accepted",
      timestamp: expect.any(String),
      decided_by: OPAL,
      authority: "operator",
      reason: "it is fine",
      attestation: { signed: "opal" },
    };
    expect(reply.body["result"]).toMatchObject({ target_id: id, ...decision });
    expect((await askAs(shared(), NORA, callIn(task))).status).toBe(200);
    const poll = { method: "QUERY", path: `/escalations/${id}`, headers: { "Task-ID": task } };
    const read = await askAs(shared(), NORA, poll);
    expect(read.body["result"]).toMatchObject({ status: "accepted", task_paused: false, decision });
    const target = { target: "escalation", escalation_id: id };
    const inspected = await askAs(shared(), NORA, { method: "INSPECT", body: target });
    expect(inspected.body["result"]).toEqual({ target: "escalation", ...read.body["result"] });
  });

  it("is the operators' word, by certificate and without an Agent-ID", async () => {
    const task = newTask();
    const id = await escalated(shared(), task);
    const path = `/escalations/${id}`;
    const request = { method: "CONFIRM", path, body: { decision: "approve", note: "fine" } };
    const reply = await askAs(shared(), undefined, request, OPERATOR);
    expect(reply.body["result"]).toMatchObject({ decided_by: null, authority: "operator" });
    expect(resultOf(reply, "reason")).toBe("fine");
    expect((await askAs(shared(), NORA, callIn(task))).status).toBe(200);
  });

  it("is the recipient's word", async () => {
    const id = await escalated(shared(), newTask(), { recipient: "otto" });
    const reply = await askAs(shared(), OTTO, confirmation(id, "accepted"));
    expect(reply.body["result"]).toMatchObject({ decided_by: OTTO, authority: "recipient" });
  });

  it.each([
    ["the agent that escalated", NORA, {}],
    ["another agent", OTTO, {}],
    ["a stranger that claims the scope of operators", STRANGER, {}],
    ["a certificate that is no operator's", undefined, { certificate: makeCertificate() }],
  ])("is not taken from %s", async (_, agentId, peer) => {
    const task = newTask();
    const id = await escalated(shared(), task);
    const request = { ...confirmation(id, "accepted"), headers: {} };
    if (agentId === STRANGER) Object.assign(request.headers, { "Authority-Scope": "inspect:all" });
    const reply = await askAs(shared(), agentId, request, peer);
    expect(refusalOf(reply)).toEqual([403, "confirmation-forbidden"]);
    expect(refusalOf(await askAs(shared(), NORA, callIn(task)))).toEqual([409, "task-paused"]);
  });

  it("is not taken from the agent that escalated even if it is an operator", async () => {
    const server = shared();
    const asked = await askAs(server, OPAL, escalation(newTask(), { recipient: "otto" }));
    const id = resultOf(asked, "escalation_id");
    for (const peer of [{}, OPERATOR]) {
      const reply = await askAs(server, OPAL, confirmation(id, "accepted"), peer);
      expect(refusalOf(reply)).toEqual([403, "confirmation-forbidden"]);
    }
  });

  it("is not taken from that agent's own certificate where it names nobody", async () => {
    const id = await escalated(shared(), newTask());
    const own = makeCertificate({ key: AGENT, agent: { agentId: NORA } });
    const request = { ...confirmation(id, "accepted"), headers: {} };
    const reply = await askAs(shared(), undefined, request, { certificate: own });
    expect(refusalOf(reply)).toEqual([403, "confirmation-forbidden"]);
    const other = makeCertificate({ key: AGENT, agent: { agentId: OTTO } });
    const taken = await askAs(shared(), undefined, request, { certificate: other });
    expect(taken.body["result"]).toMatchObject({ authority: "operator" });
  });

  it("asks nobody who has neither an Agent-ID nor a certificate", async () => {
    const reply = await askAs(shared(), undefined, confirmation("esc-0", "accepted"));
    expect(refusalOf(reply)).toEqual([262, "credentials-missing"]);
  });

  it("keeps the task waiting where it defers or rejects", async () => {
    const task = newTask();
    const id = await escalated(shared(), task);
    for (const status of ["deferred", "rejected"]) {
      expect((await askAs(shared(), OPAL, confirmation(id, status))).status).toBe(200);
      const refused = await askAs(shared(), NORA, callIn(task));
      expect(refusalOf(refused)).toEqual([409, "task-paused"]);
      expect(refused.body["escalation_status"]).toBe(status);
    }
    const anew = await escalated(shared(), task);
    expect(anew).not.toBe(id);
    await askAs(shared(), OPAL, confirmation(anew, "accepted"));
    expect((await askAs(shared(), NORA, callIn(task))).status).toBe(200);
  });

  it("answers the first receipt again, and 409 for another word", async () => {
    const id = await escalated(shared(), newTask());
    const first = await askAs(shared(), OPAL, confirmation(id, "accepted", { reason: "yes" }));
    const again = await askAs(shared(), OPAL, confirmation(id, "accepted", { reason: "still" }));
    expect(again.status).toBe(200);
    expect(again.body["result"]).toMatchObject({ noop: true, reason: "yes" });
    expect(resultOf(again, "attestation_id")).toBe(resultOf(first, "attestation_id"));
    const other = await askAs(shared(), OPAL, confirmation(id, "rejected"));
    expect(refusalOf(other)).toEqual([409, "decision-conflict"]);
    expect(other.body["escalation_status"]).toBe("accepted");
  });

  it("stands in the stream of the agent that escalated", async () => {
    const server = await openServer(negotiationFiles());
    const id = await escalated(server, "t-1");
    const reply = await askAs(server, OPAL, confirmation(id, "accepted"));
    const inspect = { method: "INSPECT", body: { target: "lifecycle", agent_id: NORA } };
    const inspected = await askAs(server, NORA, inspect);
    expect(inspected.body["result"]?.["events"]).toMatchObject([
      {
        audit_id: resultOf(reply, "audit_id"),
        payload: {
          event_type: "escalation_decided",
          escalation_id: id,
          escalation_status: "accepted",
          escalated_task_id: "t-1",
          actor_agent_id: OPAL,
        },
      },
    ]);
  });

  it("comes too late after the deadline: the task goes on waiting, until it is escalated anew", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
    const server = await openServer(negotiationFiles());
    const id = await escalated(server, "t-1", { deadline: "PT1M" });
    vi.setSystemTime(Date.now() + 60_000);
    const late = await askAs(server, OPAL, confirmation(id, "accepted"));
    expect(refusalOf(late)).toEqual([409, "decision-conflict"]);
    const refused = await askAs(server, NORA, callIn("t-1"));
    expect(refusalOf(refused)).toEqual([409, "task-paused"]);
    expect(refused.body["escalation_status"]).toBe("expired");
    await vi.advanceTimersByTimeAsync(30_000);
    const inspect = { method: "INSPECT", body: { target: "lifecycle", agent_id: NORA } };
    await vi.waitFor(async () => {
      const events = (await askAs(server, NORA, inspect)).body["result"]?.["events"];
      expect(events).toMatchObject([
        { payload: { event_type: "escalation_expired", escalation_id: id, task_id: "t-1" } },
      ]);
    }, PATIENCE);
    const anew = await escalated(server, "t-1", { deadline: "PT1M" });
    await askAs(server, OPAL, confirmation(anew, "accepted"));
    expect((await askAs(server, NORA, callIn("t-1"))).status).toBe(200);
  });

  it.each([
    [{ status: "accepted" }, 422],
    [{ target_id: "esc-0" }, 422],
    [{ target_id: "esc-0", status: "maybe" }, 422],
    [{ target_id: 7, status: "accepted" }, 422],
    [{ target_id: "esc-0", escalation_id: "esc-1", status: "accepted" }, 422],
    [{ target_id: "esc-0", status: "accepted", attestation: "x".repeat(5_000) }, 422],
    [{ target_id: "esc-0", status: "accepted" }, 404],
    [{ attestation_target: "esc-0", decision: "deny" }, 404],
  ])("answers %j with %i", async (body, status) => {
    expect((await askAs(shared(), OPAL, { method: "CONFIRM", body })).status).toBe(status);
  });
});

// AGTP "ESCALATE"
describe("QUERY /escalations", () => {
  const list = (status?: string) => ({
    method: "QUERY",
    path: "/escalations",
    ...(status === undefined ? {} : { query: `status=${status}` }),
  });

  it("shows each what concerns it: its own, what was sent to it, and all to operators", async () => {
    const server = await openServer(
      negotiationFiles({
        policies: { identity: { operator_certificates: [operator.keyFingerprint] } },
      }),
    );
    const own = await escalated(server, "t-1");
    const sent = await escalated(server, "t-2", { recipient: "otto" });
    const seenBy = async (agentId: string | undefined, peer = {}): Promise<unknown> => {
      const reply = await askAs(server, agentId, list(), peer);
      const shown = reply.body["result"]?.["escalations"] as unknown as readonly object[];
      return shown.map((one) => Reflect.get(one, "escalation_id"));
    };
    expect(await seenBy(NORA)).toEqual([sent, own]);
    expect(await seenBy(OTTO)).toEqual([sent]);
    expect(await seenBy(PIA)).toEqual([]);
    expect(await seenBy(undefined)).toEqual([]);
    expect(await seenBy(OPAL)).toEqual([sent, own]);
    expect(await seenBy(undefined, OPERATOR)).toEqual([sent, own]);
    const one = { method: "QUERY", path: `/escalations/${own}` };
    expect((await askAs(server, OTTO, one)).status).toBe(404);
    const target = { target: "escalation", escalation_id: own };
    const inspect = { method: "INSPECT", body: target };
    expect((await askAs(server, OTTO, inspect)).status).toBe(404);
  });

  it("shows them page by page, each once, whatever is opened or decided meanwhile", async () => {
    const server = await openServer(negotiationFiles());
    const page = async (query: string) => {
      const reply = await askAs(server, NORA, { ...list(), query });
      const { escalations, next } = reply.body["result"] as unknown as {
        readonly escalations: readonly { readonly escalation_id: string }[];
        readonly next?: string;
      };
      return { ids: escalations.map((one) => one.escalation_id), next };
    };
    const ids: string[] = [];
    for (const task of ["t-1", "t-2", "t-3"]) ids.unshift(await escalated(server, task));
    const first = await page("limit=2");
    expect(first).toEqual({ ids: ids.slice(0, 2), next: ids[1] });
    await escalated(server, "t-4");
    await askAs(server, OPAL, confirmation(String(first.next), "rejected"));
    const second = await page(`limit=2&after=${first.next}`);
    expect(second).toEqual({ ids: ids.slice(2), next: undefined });
  });

  it("shows no more at a time than half a megabyte of contexts, and each once", async () => {
    const server = await openServer(negotiationFiles());
    const context = { note: "x".repeat(16_000) };
    const tasks = Array.from({ length: 40 }, (_, at) => `t-${at}`);
    for (const task of tasks) await escalated(server, task, { context });
    const sizes: number[] = [];
    const seen = new Set<unknown>();
    let query = "limit=200";
    for (;;) {
      const reply = await askAs(server, NORA, { ...list(), query });
      const { escalations, next } = reply.body["result"] as unknown as {
        readonly escalations: readonly { readonly escalation_id: string }[];
        readonly next?: string;
      };
      sizes.push(escalations.length);
      for (const one of escalations) seen.add(one.escalation_id);
      if (next === undefined) break;
      query = `limit=200&after=${next}`;
    }
    expect([sizes, seen.size]).toEqual([[32, 8], 40]);
  });

  it("shows what is open unless it is asked for more", async () => {
    const server = await openServer(negotiationFiles());
    const id = await escalated(server, "t-1");
    await askAs(server, OPAL, confirmation(id, "rejected"));
    const count = async (status?: string): Promise<string> =>
      resultOf(await askAs(server, NORA, list(status)), "count");
    expect([await count(), await count("all"), await count("rejected")]).toEqual(["0", "1", "1"]);
    expect((await askAs(server, NORA, list("odd"))).status).toBe(422);
  });
});
