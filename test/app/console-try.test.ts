/** Try: real calls that an operator makes at the console in the name of an agent of the server. */
import { describe, expect, it } from "vitest";
import { decodeJws } from "../../src/identity/jws.ts";
import { ALMA, approvingFiles, BORIS, ranIn } from "../support/approving.ts";
import { CONSOLE, type ConsoleVisitor, openConsole, type TestConsole } from "../support/console.ts";

const NINA = { id: "link:Nina", name: "Nina", via: "link" };
const RESERVE = "/api/try/RESERVE/rooms/%7Broom%7D";

const open = async (tables: object = {}): Promise<TestConsole> =>
  openConsole(await approvingFiles([], { ...CONSOLE, ...tables }));

/** The newest record of an agent. */
async function newest(visitor: ConsoleVisitor, agent: string) {
  const { records } = (await visitor.get(`/api/records/${agent}`)).body;
  return { auditId: records[0].audit_id, payload: decodeJws(records[0].jws)?.payload };
}

describe("Try", () => {
  it("offers an input of the schema, and the agents of this server", async () => {
    const daemon = await open();
    const operator = await daemon.signIn({ name: "Nina" });
    const { body } = await operator.get(RESERVE);
    expect(body.input).toMatchObject({ room: expect.any(String) });
    expect(body.agents).toContainEqual({ agent_id: ALMA, name: "alma", status: "active" });
    expect((await operator.get("/api/try/RESERVE/nothing")).status).toBe(404);
  });

  it("makes the call as the agent, and the record names agent and person", async () => {
    const daemon = await open();
    const operator = await daemon.signIn({ name: "Nina" });
    const input = { room: "7 b", guest: "Ada" };
    const { status, body } = await operator.post(RESERVE, { agent_id: ALMA, input });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ method: "RESERVE", path: "/rooms/7%20b", status: 200, is_whole: true },
      body: { booked: "7 b" },
    });
    expect(body.gates.at(-1)).toEqual({ name: "approval", passed: true });
    expect(ranIn(daemon)).toEqual(["book 7 b Ada"]);
    const record = await newest(operator, ALMA);
    expect(record.auditId).toBe(body.audit_id);
    expect(record.payload).toMatchObject({ agent_id: ALMA, operator: NINA, status: 200 });
    const { entry } = (await operator.get(`/api/traffic/${body.response_id}`)).body;
    expect(entry).toMatchObject({ agent_id: ALMA, method: "RESERVE", status: 200 });
  });

  it("is refused where the agent is: by scope, input, standing, and rates", async () => {
    const daemon = await open({ limits: { requests_per_second: 3 } });
    const operator = await daemon.signIn({ name: "Nina" });
    const post = async (agent_id: string, input: object) =>
      (await operator.post(RESERVE, { agent_id, input })).body;
    const { agents } = (await operator.get(RESERVE)).body;
    const olga = agents.find(({ name }: { name: string }) => name === "olga").agent_id;
    const wrong = await post(olga, { room: "7", guest: 5 });
    expect([wrong.status, wrong.gates.at(-1)]).toEqual([422, { name: "input", passed: false }]);
    await operator.post(`/api/agents/${BORIS}`, { action: "suspend", reason: "audit" });
    const suspended = await post(BORIS, { room: "7" });
    expect(suspended).toMatchObject({ status: 503 });
    expect(suspended.gates.at(-1)).toEqual({ name: "lifecycle", passed: false });
    const answers: number[] = [];
    for (let count = 0; count < 5; count += 1) {
      answers.push((await post(ALMA, { room: "8", guest: 5 })).status);
    }
    expect(answers).toContain(429);
    expect(ranIn(daemon)).toEqual([]);
  });

  it("opens nothing to the agent that only the person may have", async () => {
    const daemon = await open();
    const operator = await daemon.signIn({ name: "Nina" });
    const { body: waiting } = await operator.post("/api/try/BOOK/rooms/%7Broom%7D", {
      ...{ agent_id: ALMA, input: { room: "7" } },
    });
    expect(waiting).toMatchObject({ status: 262, gates: expect.anything() });
    expect(waiting.gates.at(-1)).toEqual({ name: "approval", passed: false });
    const target_id = waiting.body.escalation_id;
    // The agent is no operator, whoever has it ask.
    const confirm = { method: "CONFIRM", path: "/", input: { target_id, status: "accepted" } };
    const { body } = await operator.post("/api/try/CREATE/relays", {
      ...{ agent_id: BORIS, input: confirm },
    });
    expect(body.body.status).toBeGreaterThanOrEqual(400);
    expect((await operator.get(`/api/approvals/${target_id}`)).body.escalation.status).toBe(
      "pending_review",
    );
    // Once it is approved, the same call runs with its id.
    await operator.post(`/api/approvals/${target_id}`, { decision: "accepted" });
    const again = await operator.post("/api/try/BOOK/rooms/%7Broom%7D", {
      ...{ agent_id: ALMA, input: { room: "7" }, escalation_id: target_id },
    });
    expect(again.body.status).toBe(200);
    expect(ranIn(daemon)).toEqual(["relay", "book 7 "]);
  });

  it("wants an operator with token and origin, an agent of this server, and an object", async () => {
    const daemon = await open();
    const operator = await daemon.signIn();
    const viewer = await daemon.signIn({ role: "viewer" });
    const call = { agent_id: ALMA, input: { room: "7" } };
    const codeOf = async (asked: ReturnType<typeof operator.post>) => {
      const { status, body } = await asked;
      return [status, body.error?.code];
    };
    expect(await codeOf(viewer.post(RESERVE, call))).toEqual([403, "viewer"]);
    expect(await codeOf(operator.post(RESERVE, call, { "x-csrf-token": "" }))).toEqual([
      403,
      "csrf-token",
    ]);
    expect(await codeOf(operator.post(RESERVE, call, { origin: "http://evil.example" }))).toEqual([
      403,
      "origin-not-allowed",
    ]);
    const stranger = { ...call, agent_id: "f".repeat(64) };
    expect(await codeOf(operator.post(RESERVE, stranger))).toEqual([404, "not-found"]);
    for (const input of [undefined, [], "x", {}, { room: ".." }, { room: { a: 1 } }]) {
      expect((await operator.post(RESERVE, { agent_id: ALMA, input })).status).toBe(422);
    }
    expect(ranIn(daemon)).toEqual([]);
  });
});
