/** What runs ask reaches people: escalations of the agents that began them, decided by whoever may. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Attempt } from "../../support/acp-server.ts";
import {
  type Ask,
  agentManifest,
  askThrough,
  confirm,
  execute,
  type HostedOptions,
  LEO,
  MAIL_SPECS,
  MAYA,
  OLGA,
  openAcp,
  openHosted,
  query,
  remote,
} from "../../support/agntcy.ts";
import { agentFile, configFile } from "../../support/deployment.ts";
import type { TestBody, TestRequest } from "../../support/dispatch.ts";
import { PATIENCE } from "../../support/patience.ts";
import { refusalOf } from "../../support/waiting.ts";

const [APPROVAL] = MAIL_SPECS["interrupts"] as readonly Record<string, unknown>[];
const { "x-agtp-asks": _, ...ASKING_PEOPLE } = APPROVAL ?? {};
const QUESTION = {
  interrupt_type: "question",
  "x-agtp-asks": "agent",
  interrupt_payload: { type: "object", required: ["question"] },
  resume_payload: {
    type: "object",
    properties: { colour: { enum: ["red", "blue"] } },
    required: ["colour"],
  },
};
const PAYLOAD = { subject: "Hello", body: "World" };

function asksFirst({ answers }: Attempt) {
  return answers.length === 0
    ? { interrupt: { mail_send_approval: PAYLOAD } }
    : { success: { message: "sent" } };
}

function asksAgent({ answers }: Attempt) {
  return answers.length === 0
    ? { interrupt: { question: { question: "which?" } } }
    : { success: { message: "sent" } };
}

async function openAsking(script: typeof asksFirst | typeof asksAgent, more: HostedOptions = {}) {
  const specs = { ...MAIL_SPECS, interrupts: [ASKING_PEOPLE, QUESTION] };
  const server = await openAcp({ specs, script });
  const manifest = (url: string) => agentManifest({ specs, options: [remote(url)] });
  return { ...(await openHosted(server, { manifest, ...more })), server };
}

async function openEscalations(ask: Ask, agentId: string) {
  const reply = await ask(agentId, { method: "QUERY", path: "/escalations" });
  const { escalations } = reply.body["result"] as unknown as {
    escalations: Record<string, unknown>[];
  };
  return escalations;
}

const decide = (escalationId: unknown, body: object) => ({
  ...{ method: "CONFIRM", path: "/" },
  body: { escalation_id: escalationId, ...body },
});
const YES = { status: "accepted", reason: "Fine.", resume_value: { approved: true } };

describe("a run that asks", () => {
  it("is an escalation that its agent sees and an operator decides", async () => {
    const { ask, server } = await openAsking(asksFirst);
    const asked = await ask(MAYA, execute());
    expect(asked.body, asked.text).toMatchObject({ status: "interrupted" });
    const { run_id: runId, escalation_id: escalationId } = asked.body;
    const [seen, ...others] = await openEscalations(ask, OLGA);
    expect(others).toEqual([]);
    expect(seen).toMatchObject({
      ...{ escalation_id: escalationId, agent_id: MAYA, status: "pending_review" },
      ...{ routed_to: "operators" },
      context: {
        ...{ run_id: runId, path: `/mailcomposer/runs/${runId}`, payload: PAYLOAD },
        ...{ agent: "org.agntcy.mailcomposer", interrupt_type: "mail_send_approval" },
        resume_schema: { required: ["approved"] },
      },
    });
    expect((await openEscalations(ask, MAYA)).length).toBe(1);
    expect(await openEscalations(ask, LEO)).toEqual([]);

    const decided = await ask(OLGA, decide(escalationId, YES));
    expect(decided.body["result"], decided.text).toMatchObject({
      ...{ escalation_id: escalationId, status: "accepted", authority: "operator" },
      ...{ decided_by: OLGA, reason: "Fine.", run: { run_id: runId } },
      escalation: { status: "accepted" },
    });
    await expect
      .poll(async () => (await ask(MAYA, query(runId))).body["output"], PATIENCE)
      .toEqual({ message: "sent" });
    expect([...server.runs.values()].map(({ answers }) => answers)).toEqual([[{ approved: true }]]);
    expect(await openEscalations(ask, OLGA)).toEqual([]);
    const events = (await ask(MAYA, query(runId, "/events"))).body["events"];
    expect(events).toContainEqual(
      expect.objectContaining({ type: "confirmation", status: "accepted", by: OLGA }),
    );
  });

  it("is answered at its own path by an operator, too", async () => {
    const { ask } = await openAsking(asksFirst);
    const { run_id: runId, escalation_id: escalationId } = (await ask(MAYA, execute())).body;
    const done = await ask(OLGA, confirm(runId, { ...YES, wait_seconds: 10 }));
    expect(done.body["output"], done.text).toEqual({ message: "sent" });
    const path = `/escalations/${escalationId}`;
    expect((await ask(MAYA, { method: "QUERY", path })).body["result"]).toMatchObject({
      status: "accepted",
      decision: { authority: "operator", decided_by: OLGA },
    });
  });

  it.each([
    ["its own path", (run: unknown) => confirm(run, YES)],
    ["its escalation", (_: unknown, escalation: unknown) => decide(escalation, YES)],
  ] as const)("is not answered by the agent that began it, at %s", async (_, answer) => {
    const { ask, server } = await openAsking(asksFirst);
    const { run_id: runId, escalation_id: escalationId } = (await ask(MAYA, execute())).body;
    const refused = await ask(MAYA, answer(runId, escalationId));
    expect(refusalOf(refused), refused.text).toEqual([403, "confirmation-forbidden"]);
    expect((await ask(LEO, answer(runId, escalationId))).status).toBeGreaterThanOrEqual(403);
    expect([...server.runs.values()][0]?.answers).toEqual([]);
    expect((await openEscalations(ask, OLGA)).length).toBe(1);
  });

  it("is not answered by an operator that began it itself", async () => {
    const { ask } = await openAsking(asksFirst);
    const { escalation_id: escalationId } = (await ask(OLGA, execute())).body;
    const refused = await ask(OLGA, decide(escalationId, YES));
    expect(refusalOf(refused)).toEqual([403, "confirmation-forbidden"]);
  });

  it.each([
    ["the manifest and the operator say so", true, 200],
    ["the operator does not let it", false, 403],
  ])("the agent itself is answered by it where %s", async (_, isAllowed, status) => {
    const settings = { agent_answers: isAllowed };
    const { ask } = await openAsking(asksAgent, { settings });
    const { run_id: runId, escalation_id: escalationId } = (await ask(MAYA, execute())).body;
    expect(escalationId).toBeDefined();
    const answer = { status: "accepted", resume_value: { colour: "red" }, wait_seconds: 10 };
    const reply = await ask(MAYA, confirm(runId, answer));
    expect(reply.status, reply.text).toBe(status);
    const path = `/escalations/${escalationId}`;
    const kept = (await ask(OLGA, { method: "QUERY", path })).body["result"];
    expect(kept).toMatchObject(
      isAllowed
        ? { status: "accepted", decision: { authority: "recipient", decided_by: MAYA } }
        : { status: "pending_review" },
    );
  });

  it("is decided by whoever holds the scope of approvers", async () => {
    const settings = { approver_scope: "mail:approve" };
    const scopes_accepted = ["mail:approve"];
    const agent_id = "6".repeat(64);
    const files = {
      "agents/ada.agent.json": agentFile({ agent_id, name: "ada", scopes_accepted }),
    };
    const { ask } = await openAsking(asksFirst, { settings, files });
    const { escalation_id: escalationId } = (await ask(MAYA, execute())).body;
    expect((await openEscalations(ask, agent_id)).length).toBe(1);
    const decided = await ask(agent_id, decide(escalationId, YES));
    expect(decided.body["result"], decided.text).toMatchObject({ authority: "approver" });
  });

  it("is answered at its own path by whoever holds that scope, who sees nothing else of it", async () => {
    const settings = { approver_scope: "mail:approve", required_scopes: [] };
    const scopes_accepted = ["mail:approve"];
    const agent_id = "6".repeat(64);
    const files = {
      "agents/ada.agent.json": agentFile({ agent_id, name: "ada", scopes_accepted }),
    };
    const { ask } = await openAsking(asksFirst, { settings, files });
    const { run_id: runId } = (await ask(MAYA, execute())).body;
    expect((await ask(agent_id, query(runId))).status).toBe(404);
    expect((await ask(LEO, confirm(runId, YES))).status).toBe(404);
    const done = await ask(agent_id, confirm(runId, { ...YES, wait_seconds: 10 }));
    expect([done.status, done.body["status"]], done.text).toEqual([200, "success"]);
    expect((await ask(agent_id, confirm(runId, YES))).status).toBe(404);
  });

  it("is answered by nobody through another agent: neither who began the run nor who had it begun", async () => {
    const settings = { approver_scope: "mail:approve" };
    const agent_id = "6".repeat(64);
    const scopes_accepted = ["mail:approve", "mailcomposer:execute", "mail:read"];
    const files = {
      "agents/ada.agent.json": agentFile({ agent_id, name: "ada", scopes_accepted }),
    };
    const { ask } = await openAsking(asksFirst, { settings, files });
    const handOn = ({ method, path, body }: TestRequest) =>
      ask(agent_id, {
        method: "DELEGATE",
        body: {
          target_agent_id: LEO,
          authority_scope: ["mail:approve", "mailcomposer:execute"],
          task: { method, path, parameters: body },
        },
      });
    const own = (await ask(agent_id, execute())).body;
    const through = await handOn(confirm(own["run_id"], YES));
    expect([through.status, through.body["sub_agent"]?.["error"]?.["code"]]).toEqual([
      // To whom it may not be answered, it is not there.
      ...[550, "run_not_found"],
    ]);
    const begun = (await handOn(execute())).body["result"]?.["result"];
    const { run_id: runId, escalation_id: escalationId } = begun as unknown as TestBody;
    const refused = [
      await ask(agent_id, confirm(runId, YES)),
      await ask(agent_id, decide(escalationId, YES)),
    ];
    expect(refused.map(refusalOf)).toEqual([
      [404, "run_not_found"],
      [403, "confirmation-forbidden"],
    ]);
    const decided = await ask(OLGA, decide(escalationId, YES));
    expect(decided.body["result"], decided.text).toMatchObject({ authority: "operator" });
  });

  it.each<[string, object, string]>([
    ["nothing", {}, "/resume_value"],
    ["another question's answer", { resume_value: { colour: "red" } }, "/resume_value/approved"],
    ["a value of another type", { resume_value: { approved: "yes" } }, "/resume_value/approved"],
    ["what contradicts the word", { resume_value: { approved: false } }, "/resume_value/approved"],
  ])("takes no %s, and its escalation stays open", async (_, value, path) => {
    const { ask, server } = await openAsking(asksFirst);
    const { run_id: runId, escalation_id: escalationId } = (await ask(MAYA, execute())).body;
    const body = { status: "accepted", ...value };
    for (const request of [confirm(runId, body), decide(escalationId, body)]) {
      const refused = await ask(OLGA, request);
      expect(refusalOf(refused), refused.text).toEqual([422, "schema-validation-failed"]);
      expect(refused.text).toContain(`"${path}"`);
      expect(refused.text).not.toContain("anyOf");
    }
    expect([...server.runs.values()][0]?.answers).toEqual([]);
    expect((await openEscalations(ask, OLGA)).length).toBe(1);
  });

  it("goes on waiting where nobody decides yet", async () => {
    const { ask } = await openAsking(asksFirst);
    const { run_id: runId, escalation_id: escalationId } = (await ask(MAYA, execute())).body;
    const deferred = await ask(OLGA, decide(escalationId, { status: "deferred" }));
    expect(deferred.body["result"], deferred.text).toMatchObject({ status: "deferred" });
    expect((await ask(MAYA, query(runId))).body["status"]).toBe("interrupted");
    const decided = await ask(OLGA, decide(escalationId, YES));
    expect(decided.body["result"], decided.text).toMatchObject({ status: "accepted" });
    const again = await ask(OLGA, decide(escalationId, YES));
    expect(again.body["result"], again.text).toMatchObject({ status: "accepted", noop: true });
  });

  it("twice is an escalation each time", async () => {
    const script = ({ answers }: Attempt) =>
      answers.length === 0
        ? { interrupt: { mail_send_approval: PAYLOAD } }
        : answers.length === 1
          ? { interrupt: { question: { question: "which?" } } }
          : { success: { message: "sent" } };
    const { ask } = await openAsking(script as typeof asksFirst);
    const { run_id: runId, escalation_id: first } = (await ask(MAYA, execute())).body;
    const next = await ask(OLGA, confirm(runId, { ...YES, wait_seconds: 10 }));
    expect(next.body, next.text).toMatchObject({ interrupt_type: "question" });
    const second = next.body["escalation_id"];
    expect(second).not.toBe(first);
    expect((await openEscalations(ask, OLGA)).map((one) => one["escalation_id"])).toEqual([second]);
    const late = await ask(OLGA, decide(first, { ...YES, status: "rejected" }));
    expect(refusalOf(late)).toEqual([409, "decision-conflict"]);
  });

  it("is nobody's question any more where it was answered elsewhere", async () => {
    const { ask, server } = await openAsking(asksFirst);
    const { run_id: runId, escalation_id: escalationId } = (await ask(MAYA, execute())).body;
    const [run] = server.runs.values();
    if (run !== undefined) Object.assign(run, { status: "success", output: { values: {} } });
    await expect
      .poll(async () => (await ask(MAYA, query(runId))).body["status"], PATIENCE)
      .toBe("success");
    const path = `/escalations/${escalationId}`;
    await expect
      .poll(async () => (await ask(OLGA, { method: "QUERY", path })).body["result"], PATIENCE)
      .toMatchObject({ status: "accepted" });
  });

  it("waits in the queue through a reload, and is decided after it", async () => {
    const { ask, daemon } = await openAsking(asksFirst);
    const { run_id: runId, escalation_id: escalationId } = (await ask(MAYA, execute())).body;
    expect(await daemon.daemon.reload()).toEqual([]);
    const again = askThrough(await daemon.connect());
    expect((await openEscalations(again, OLGA)).length).toBe(1);
    const decided = await again(OLGA, decide(escalationId, YES));
    expect(decided.body["result"], decided.text).toMatchObject({ status: "accepted" });
    await expect
      .poll(async () => (await again(MAYA, query(runId))).body["status"], PATIENCE)
      .toBe("success");
  });

  it("is not decided while its agent is taken out, as the run would not hear of it", async () => {
    const { ask, daemon } = await openAsking(asksFirst);
    const { run_id: runId, escalation_id: escalationId } = (await ask(MAYA, execute())).body;
    const file = join(daemon.directory, "agtp-server.toml");
    const served = readFileSync(file, "utf8");
    const reloaded = async (config: string): Promise<Ask> => {
      writeFileSync(file, config);
      expect(await daemon.daemon.reload()).toEqual([]);
      return askThrough(await daemon.connect());
    };
    const without = await reloaded(configFile());
    expect(await without(OLGA, decide(escalationId, YES))).toMatchObject({ status: 409 });
    const again = await reloaded(served);
    expect(await again(OLGA, decide(escalationId, YES))).toMatchObject({ status: 200 });
    await expect
      .poll(async () => (await again(MAYA, query(runId))).body["status"], PATIENCE)
      .toBe("success");
  });
});
