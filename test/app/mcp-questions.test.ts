/** Questions of MCP servers in the middle of a call: put before operators, answered, gone on with. */

import { cpSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { HELD_LIMITS } from "../../src/handlers/mcp/held-calls.ts";
import { mcpProgram } from "../../src/programs/mcp/command.ts";
import { EscalationRegister } from "../../src/state/registers/escalation-register.ts";
import { StoreUnavailableError } from "../../src/state/store-fault.ts";
import { startProgram } from "../support/agtpd.ts";
import { makeOperator } from "../support/approval-ways.ts";
import {
  askOnce,
  connectRaw,
  createDaemon,
  type RawClient,
  serve,
  type TestDaemon,
} from "../support/daemon.ts";
import {
  agentFile,
  configFile,
  createDeployment,
  type DeploymentFiles,
  makeDeployment,
  type TestDeployment,
} from "../support/deployment.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../support/dispatch.ts";
import { ASKING, HOSTILE } from "../support/mcp-upstream.ts";
import { PATIENCE } from "../support/patience.ts";
import { runIn } from "../support/terminal.ts";
import { confirmation, refusalOf } from "../support/waiting.ts";

const { ca: CA, fingerprint: FINGERPRINT, connection: AS_OPERATOR } = makeOperator();
const ALMA = "a1".repeat(32);
const BORIS = "b2".repeat(32);
/** A worker hears of what others did, however busy the machine is. */
const HEARD = { ...PATIENCE, interval: 20 };

function filesFor(script: string, play: string, workers = 1): DeploymentFiles {
  const args = [script, play];
  const server = { name: "seats", command: process.execPath, args, env: { TOKEN: "s3cr3t-token" } };
  return {
    "agtp-server.toml": configFile({
      server: { workers },
      mcp: { servers: [server] },
      policies: { identity: { operator_certificates: [FINGERPRINT] } },
      tls: { client_auth: "optional", client_ca: "ca.pem" },
    }),
    "ca.pem": CA,
    "agents/alma.agent.json": agentFile({
      ...{ agent_id: ALMA, name: "alma", scopes_accepted: ["seats:write", "seats:read"] },
    }),
    "agents/boris.agent.json": agentFile({
      ...{ agent_id: BORIS, name: "boris", scopes_accepted: ["seats:write"] },
    }),
  };
}

const ENDPOINTS = "endpoints/seats";

/** By script: a server offers the same whatever it plays, and is asked for it once. */
const imports = new Map<string, Promise<TestDeployment>>();
afterAll(async () => {
  for (const imported of imports.values()) (await imported).remove();
});

async function importTools(script: string): Promise<TestDeployment> {
  const deployment = createDeployment(filesFor(script, "asks"));
  const { exitCode } = await runIn(deployment.directory, mcpProgram, [
    ...["import", "seats", "-o", ENDPOINTS],
  ]);
  expect(exitCode).toBe(0);
  return deployment;
}

/** Gives a deployment the tool of its server as an endpoint. */
async function addTool<Deployment extends Pick<TestDeployment, "directory">>(
  deployment: Deployment,
  script: string,
): Promise<Deployment> {
  const imported = imports.get(script) ?? importTools(script);
  imports.set(script, imported);
  const source = join((await imported).directory, ENDPOINTS);
  cpSync(source, join(deployment.directory, ENDPOINTS), { recursive: true });
  return deployment;
}

/** A deployment whose endpoint is the tool of a server that asks. */
function makeAsking(script: string, play = "asks", workers = 1): Promise<TestDeployment> {
  return addTool(makeDeployment(filesFor(script, play, workers)), script);
}

/** A daemon for all tests of a suite, none of which asks what another has asked. */
function shareAsking(script: string): () => TestDaemon {
  let daemon: TestDaemon | undefined;
  let deployment: TestDeployment | undefined;
  beforeAll(async () => {
    deployment = await addTool(createDeployment(filesFor(script, "asks")), script);
    daemon = await createDaemon(deployment);
  });
  afterAll(async () => {
    await daemon?.close();
    deployment?.remove();
  });
  return () => {
    if (daemon === undefined) throw new Error("it has not started");
    return daemon;
  };
}

type Connectable = { connect(options?: object): Promise<RawClient> };

function reserve(city: string, agent = ALMA, escalationId?: string): TestRequest {
  const presented = escalationId === undefined ? {} : { "Escalation-ID": escalationId };
  return {
    ...{ method: "RESERVE", path: "/seats", body: { city } },
    headers: { "Agent-ID": agent, ...presented },
  };
}

/** The tool of the other protocol's server. */
function work(escalationId?: string, agent = ALMA): TestRequest {
  const presented = escalationId === undefined ? {} : { "Escalation-ID": escalationId };
  return {
    ...{ method: "PROCESS", path: "/seats/work", body: {} },
    headers: { "Agent-ID": agent, ...presented },
  };
}

function idOf({ body }: TestReply): string {
  return String(body["escalation_id"]);
}

async function answer(
  daemon: Connectable,
  id: string,
  content: object,
  status = "accepted",
): Promise<TestReply> {
  return askOnce(daemon, confirmation(id, status, { content }), AS_OPERATOR);
}

// formats §10
describe("a question of a server of 2026-07-28", () => {
  const shared = shareAsking(ASKING);

  it("is an escalation, and the same call goes on with its answer", async () => {
    const daemon = shared();
    const asked = await askOnce(daemon, reserve("Rome"));
    expect(asked).toMatchObject({
      status: 202,
      body: {
        kind: "elicitation",
        escalation_status: "pending_review",
        requested_schema: { properties: { seat: { enum: ["aisle", "window"] } } },
      },
    });
    expect(JSON.stringify(asked.body)).not.toContain("requestState");
    const id = idOf(asked);
    expect(await askOnce(daemon, reserve("Rome", ALMA, id))).toMatchObject({ status: 202 });
    const shown = await askOnce(
      daemon,
      { method: "QUERY", path: `/escalations/${id}` },
      AS_OPERATOR,
    );
    expect(shown.body["result"]).toMatchObject({
      kind: "elicitation",
      context: { kind: "elicitation", message: "Which seat? [secret]", upstream: "seats" },
    });

    const wrong = await answer(daemon, id, { seat: "roof" });
    expect(refusalOf(wrong)).toEqual([422, "schema-validation-failed"]);
    expect(JSON.stringify(wrong.body)).toContain("/content/seat");
    // Half of a surrogate pair has no canonical form, so nothing could tell of the decision by its digest.
    const unreadable = await answer(daemon, id, { seat: "aisle", note: "\ud800" });
    expect(refusalOf(unreadable)).toEqual([422, "schema-validation-failed"]);
    const own = confirmation(id, "accepted", { content: { seat: "aisle" } });
    const asAlma = await askOnce(daemon, { ...own, headers: { "Agent-ID": ALMA } });
    expect(asAlma.status).toBe(403);
    const decided = await answer(daemon, id, { seat: "aisle" });
    expect(decided.status).toBe(200);
    expect(JSON.stringify(decided.body)).toContain("content_digest");
    const repeated = await answer(daemon, id, { seat: "aisle" });
    expect(repeated).toMatchObject({ status: 200, body: { result: { noop: true } } });
    const other = await answer(daemon, id, { seat: "window" });
    expect(refusalOf(other)).toEqual([409, "decision-conflict"]);

    const further = await askOnce(daemon, reserve("Rome", ALMA, id));
    expect(further).toMatchObject({
      status: 202,
      body: { requested_schema: { properties: { pay: { type: "boolean" } } } },
    });
    const second = idOf(further);
    expect(second).not.toBe(id);
    expect((await answer(daemon, second, { pay: true })).status).toBe(200);
    const done = await askOnce(daemon, reserve("Rome", ALMA, second));
    expect(done.status).toBe(200);
    expect(JSON.stringify(done.body)).toContain(
      JSON.stringify(JSON.stringify({ city: "Rome", seat: "aisle", pay: true })).slice(1, -1),
    );
    const again = await askOnce(daemon, reserve("Rome", ALMA, second));
    expect(refusalOf(again)).toEqual([409, "approval-used"]);
  });

  it("is answered for no other call and no other agent", async () => {
    const daemon = shared();
    const id = idOf(await askOnce(daemon, reserve("Rome")));
    expect((await answer(daemon, id, { seat: "window" })).status).toBe(200);
    for (const other of [reserve("Rome", BORIS, id), reserve("Oslo", ALMA, id)]) {
      expect(refusalOf(await askOnce(daemon, other))).toEqual([409, "approval-mismatch"]);
    }
    const none = await askOnce(daemon, reserve("Rome", ALMA, "esc-none"));
    expect(refusalOf(none)).toEqual([409, "approval-mismatch"]);
    expect(await askOnce(daemon, reserve("Rome", ALMA, id))).toMatchObject({ status: 202 });
  });

  it("is asked in whichever dialect its form is, with the names of its choices", async () => {
    const daemon = shared();
    const asked = await askOnce(daemon, reserve("Troy"));
    const choices = [
      { const: "aisle", title: "Aisle" },
      { const: "window", title: "Window" },
    ];
    expect(asked).toMatchObject({ status: 202, body: { kind: "elicitation" } });
    expect(asked.body["requested_schema"]).toEqual({
      ...{ type: "object", required: ["seat"] },
      properties: { seat: { type: "string", oneOf: choices } },
    });
    const id = idOf(asked);
    const wrong = await answer(daemon, id, { seat: "Aisle" });
    expect(refusalOf(wrong)).toEqual([422, "schema-validation-failed"]);
    expect((await answer(daemon, id, { seat: "aisle" })).status).toBe(200);
    expect(await askOnce(daemon, reserve("Troy", ALMA, id))).toMatchObject({
      body: { requested_schema: { properties: { pay: {} } } },
    });
  });

  it("without an answer is the declared error", async () => {
    const daemon = shared();
    const id = idOf(await askOnce(daemon, reserve("Rome")));
    expect((await answer(daemon, id, {}, "rejected")).status).toBe(200);
    const refused = await askOnce(daemon, reserve("Rome", ALMA, id));
    expect(refusalOf(refused)).toEqual([422, "upstream_error"]);
  });

  it.each([
    ["Nowhere", "upstream_error"],
    ["Linked", "upstream_error"],
    ["Badly", "upstream_malformed_response"],
  ])("about what is not offered, or in no form, is refused: %s", async (city, error) => {
    const daemon = shared();
    expect(refusalOf(await askOnce(daemon, reserve(city)))).toEqual([422, error]);
  });

  it("and its answer outlive kill -9", async () => {
    const deployment = await makeAsking(ASKING);
    const first = await startProgram(deployment.configPath);
    const connectable = (program: typeof first): Connectable => ({
      connect: (options = {}) => connectRaw(program, options),
    });
    const id = idOf(await askOnce(connectable(first), reserve("Rome")));
    first.child.kill("SIGKILL");
    await first.outcome;
    const second = await startProgram(deployment.configPath);
    expect((await answer(connectable(second), id, { seat: "aisle" })).status).toBe(200);
    second.child.kill("SIGKILL");
    await second.outcome;
    const third = await startProgram(deployment.configPath);
    const further = await askOnce(connectable(third), reserve("Rome", ALMA, id));
    expect(further).toMatchObject({
      status: 202,
      body: { requested_schema: { properties: { pay: {} } } },
    });
  });
});

// docs/mcp-servers.md
describe("a question of a server of 2025-11-25", () => {
  it("holds its call until the same call comes back with the answer", async () => {
    const daemon = await serve(await makeAsking(HOSTILE));
    const asked = await askOnce(daemon, work());
    expect(asked).toMatchObject({ status: 202, body: { kind: "elicitation" } });
    const id = idOf(asked);
    expect((await answer(daemon, id, { seat: "window" })).status).toBe(200);
    const done = await askOnce(daemon, work(id));
    expect(done.status).toBe(200);
    expect(JSON.stringify(done.body)).toContain("window");
  });

  it("that cannot be kept ends its call at once, which makes room for the next", async () => {
    const daemon = await serve(await makeAsking(HOSTILE));
    const fault = new StoreUnavailableError("unreachable", new Error("gone"));
    const open = vi.spyOn(EscalationRegister.prototype, "open").mockRejectedValue(fault);
    onTestFinished(() => open.mockRestore());
    for (let count = 0; count <= HELD_LIMITS.perCaller; count += 1) {
      expect(refusalOf(await askOnce(daemon, work()))).toEqual([503, "outcome-unknown"]);
    }
    open.mockRestore();
    expect(await askOnce(daemon, work())).toMatchObject({
      status: 202,
      body: { kind: "elicitation" },
    });
  });

  it("is closed with the process that its call was held by, and says so", async () => {
    const deployment = await makeAsking(HOSTILE);
    const first = await serve(deployment);
    const id = idOf(await askOnce(first, work()));
    await first.close();
    const second = await serve(deployment);
    const lost = await askOnce(second, work(id));
    expect(refusalOf(lost)).toEqual([422, "upstream_connection_error"]);
    expect((await answer(second, id, { seat: "window" })).status).toBe(409);
    expect(await askOnce(second, work())).toMatchObject({ status: 202 });
  });

  it("outlives a reload, whichever worker holds its call", async () => {
    const daemon = await serve(await makeAsking(HOSTILE, "asks", 2));
    const ends = [ALMA, BORIS].map(async (agent) => {
      const client = await daemon.connect();
      client.write(encodeRequest(work(undefined, agent)));
      const [asked] = await client.replies(1);
      return { agent, client, id: asked === undefined ? "" : idOf(asked) };
    });
    const asked = await Promise.all(ends);
    expect(await daemon.daemon.reload()).toEqual([]);
    for (const { agent, client, id } of asked) {
      expect((await answer(daemon, id, { seat: "window" })).status).toBe(200);
      client.write(encodeRequest(work(id, agent)));
      expect((await client.replies(2))[1]).toMatchObject({ status: 200 });
    }
  });

  it("is answered in the worker that holds its call, and keeps its answer where it is brought to another", async () => {
    const daemon = await serve(await makeAsking(HOSTILE, "asks", 2));
    // A connection to each: the next one goes where there are fewer.
    const holding = await daemon.connect();
    const other = await daemon.connect();
    const send = async (
      client: RawClient,
      request: TestRequest,
    ): Promise<TestReply | undefined> => {
      const { length } = await client.replies(0);
      client.write(encodeRequest(request));
      return (await client.replies(length + 1))[length];
    };
    const asked = await send(holding, work());
    expect(asked).toMatchObject({ status: 202 });
    const id = asked === undefined ? "" : idOf(asked);
    expect((await answer(daemon, id, { seat: "window" })).status).toBe(200);
    for (let brought = 0; brought < 2; brought += 1) {
      const refused = await send(other, work(id));
      expect(refused && refusalOf(refused)).toEqual([409, "approval-elsewhere"]);
    }
    expect(await send(holding, work(id))).toMatchObject({ status: 200 });
    // The other worker hears of it a moment later.
    await vi.waitFor(async () => {
      const again = await send(other, work(id));
      expect(again && refusalOf(again)).toEqual([409, "approval-used"]);
    }, HEARD);
  });

  it("that is out of all bounds is refused, and its call is ended", async () => {
    const daemon = await serve(await makeAsking(HOSTILE, "asks-oddly"));
    const refused = await askOnce(daemon, work());
    expect(refusalOf(refused)).toEqual([422, "upstream_malformed_response"]);
  });

  it("that is a link to follow is refused to the server, and put before nobody", async () => {
    const daemon = await serve(await makeAsking(HOSTILE, "asks-by-link"));
    const answered = await askOnce(daemon, work());
    expect(JSON.stringify(answered.body)).not.toContain("pay.example");
    expect(JSON.stringify(answered.body)).toContain("-32602");
    const waiting = await askOnce(daemon, { method: "QUERY", path: "/escalations" }, AS_OPERATOR);
    expect(waiting.body["result"]).toMatchObject({ escalations: [] });
  });
});

describe("a question to a call with an Idempotency-Key", () => {
  it("is not kept under the key: with its answer the call goes on, and the end is kept", async () => {
    const daemon = await serve(await makeAsking(ASKING));
    const keyed = (id?: string): TestRequest => {
      const request = reserve("Rome", ALMA, id);
      return { ...request, headers: { ...request.headers, "Idempotency-Key": "k-1" } };
    };
    const first = await askOnce(daemon, keyed());
    expect(first.status).toBe(202);
    expect((await answer(daemon, idOf(first), { seat: "aisle" })).status).toBe(200);
    const second = await askOnce(daemon, keyed(idOf(first)));
    expect(second).toMatchObject({ status: 202 });
    expect(idOf(second)).not.toBe(idOf(first));
    expect((await answer(daemon, idOf(second), { pay: true })).status).toBe(200);
    const done = await askOnce(daemon, keyed(idOf(second)));
    expect(done.status).toBe(200);
    expect(done.headers.get("idempotency-replayed")).toBeUndefined();
    const again = await askOnce(daemon, keyed(idOf(second)));
    expect(again).toMatchObject({ status: 200, body: done.body });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });

  it.each<[string, object]>([
    ["EXECUTE", { action: "RESERVE /seats", parameters: { city: "Rome" } }],
    [
      "DELEGATE",
      {
        ...{ target_agent_id: BORIS, authority_scope: ["seats:write"] },
        task: { method: "RESERVE", path: "/seats", parameters: { city: "Rome" } },
      },
    ],
  ])("is not kept where %s has the call made", async (method, body) => {
    const daemon = await serve(await makeAsking(ASKING));
    const keyed = (id?: string): Promise<TestReply> => {
      const presented = id === undefined ? {} : { "Escalation-ID": id };
      const headers = { "Agent-ID": ALMA, "Idempotency-Key": "k-1", ...presented };
      return askOnce(daemon, { method, body, headers });
    };
    const askedIn = ({ text }: TestReply) => /esc-[0-9a-f-]{36}/.exec(text)?.[0] ?? "";
    const first = askedIn(await keyed());
    expect((await answer(daemon, first, { seat: "aisle" })).status).toBe(200);
    const second = askedIn(await keyed(first));
    expect(second).not.toBe(first);
    expect((await answer(daemon, second, { pay: true })).status).toBe(200);
    const done = await keyed(second);
    expect([done.status, askedIn(done)]).toEqual([200, ""]);
    const again = await keyed(second);
    expect(again).toMatchObject({ status: 200, body: done.body });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
  });
});
