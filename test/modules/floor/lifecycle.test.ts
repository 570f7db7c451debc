import { describe, expect, it } from "vitest";
import type { Peer } from "../../../src/dispatch/caller/peer.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import type { LifecycleMethod } from "../../../src/state/registers/lifecycle.ts";
import { openState } from "../../../src/state/state.ts";
import {
  openServer,
  shareServer,
  type TestReply,
  type TestServer,
} from "../../support/dispatch.ts";
import { STRANGER } from "../../support/genesis.ts";
import {
  ALICE,
  BOB,
  CAROL,
  hostedFiles,
  ISSUER_PEER,
  makeCertificate,
  peerWith,
  UNKNOWN,
} from "../../support/hosted-agents.ts";
import { BreakableJournal } from "../../support/ledger.ts";
import { PATIENCE } from "../../support/patience.ts";
import { readJws, recordOf, sha256 } from "../../support/records.ts";
import { SharedRecords } from "../../support/shared-records.ts";
import { openBreakableState } from "../../support/state.ts";

const OPEN = hostedFiles({ lifecycle_auth: "open", inspect_acl: "public" });

function change(
  server: TestServer,
  method: LifecycleMethod,
  body: object = {},
  headers: Readonly<Record<string, string>> = { "Agent-ID": BOB },
  peer?: Partial<Peer>,
): Promise<TestReply> {
  const reason = { reason: "a test" };
  return server.send({ method, headers, body: { ...reason, ...body } }, peer);
}

async function statusOf(server: TestServer, agent: string): Promise<unknown> {
  const request = { method: "INSPECT", headers: { "Agent-ID": BOB } };
  const body = { target: "lifecycle", agent_id: agent };
  return (await server.send({ ...request, body })).body["result"]?.["status"];
}

// AGTP "Lifecycle Methods"
describe("the lifecycle methods", () => {
  const shared = shareServer(OPEN);

  it("change the agent that the body names, and say what happened", async () => {
    const server = await openServer(OPEN);
    const reply = await change(server, "DEACTIVATE", { agent_id: ALICE });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      status: 200,
      result: {
        agent_id: ALICE,
        name: "alice",
        status: "suspended",
        previous_status: "active",
        event_type: "agent-lifecycle-suspended",
        audit_id: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
    expect(await statusOf(server, ALICE)).toBe("suspended");
    expect(await statusOf(server, BOB)).toBe("active");
  });

  it.each<[LifecycleMethod, LifecycleMethod[], object]>([
    ["ACTIVATE", ["DEACTIVATE"], { status: "active", event_type: "agent-lifecycle-reinstated" }],
    ["ACTIVATE", [], { status: "active", noop: true }],
    ["DEACTIVATE", ["DEPRECATE"], { status: "deprecated", noop: true }],
    ["REINSTATE", ["DEACTIVATE"], { status: "active" }],
    ["REINSTATE", ["DEPRECATE"], { status: "active", event_type: "agent-lifecycle-reinstated" }],
    ["REVOKE", [], { status: "retired", event_type: "agent-genesis-revoked" }],
    ["REVOKE", ["DEACTIVATE"], { status: "retired", previous_status: "suspended" }],
    ["REVOKE", ["REVOKE"], { status: "retired", noop: true }],
    ["DEPRECATE", [], { status: "deprecated", event_type: "agent-lifecycle-deprecated" }],
    ["DEPRECATE", ["DEPRECATE"], { status: "deprecated", noop: true }],
  ])("answer 200 for %s after %j", async (method, before, result) => {
    const server = await openServer(OPEN);
    for (const one of before) await change(server, one, { agent_id: ALICE });
    const reply = await change(server, method, { agent_id: ALICE });
    expect(reply.status).toBe(200);
    expect(reply.body["result"]).toMatchObject(result);
    if ("noop" in result) expect(reply.body["result"]).not.toHaveProperty("audit_id");
  });

  it.each<[LifecycleMethod, LifecycleMethod, number, string]>([
    ["ACTIVATE", "REVOKE", 422, "lifecycle-invalid"],
    ["REINSTATE", "REVOKE", 422, "lifecycle-invalid"],
    ["DEPRECATE", "REVOKE", 422, "lifecycle-invalid"],
    ["DEPRECATE", "DEACTIVATE", 409, "lifecycle-conflict"],
  ])("refuse %s after %s with %i", async (method, before, status, code) => {
    const server = await openServer(OPEN);
    await change(server, before, { agent_id: ALICE });
    const reply = await change(server, method, { agent_id: ALICE });
    expect([reply.status, reply.body["error"]?.["code"]]).toEqual([status, code]);
  });

  it("want to know why an agent is revoked", async () => {
    const server = shared();
    const headers = { "Agent-ID": BOB };
    const reply = await server.send({ method: "REVOKE", headers, body: { agent_id: ALICE } });
    expect(reply.status).toBe(422);
    expect(await statusOf(server, ALICE)).toBe("active");
  });

  it.each([
    { reason: "" },
    { reason: "x".repeat(1025) },
    { reason: 7 },
    { agent_id: 7 },
    { agent_id: "" },
    { successor_agent_id: "bob" },
    { migration_deadline: "tomorrow" },
    { target: "everything" },
  ])("answer 422 for %j", async (body) => {
    const server = shared();
    const reply = await change(server, "DEPRECATE", { agent_id: ALICE, ...body });
    expect(reply.status).toBe(422);
    expect(await statusOf(server, ALICE)).toBe("active");
  });

  it.each([
    ["by its name", {}, { agent_id: "alice" }],
    ["as the caller", { "Agent-ID": ALICE }, {}],
  ])("take the agent %s", async (_, headers, body) => {
    const server = await openServer(OPEN);
    await change(server, "DEACTIVATE", body, { "Agent-ID": BOB, ...headers });
    expect(await statusOf(server, ALICE)).toBe("suspended");
  });

  it("answer 400 when nobody is named, 404 when nobody is called so", async () => {
    const server = shared();
    const certificate = makeCertificate();
    const unnamed = await change(server, "REVOKE", {}, {}, { certificate });
    expect([unnamed.status, unnamed.body["error"]?.["code"]]).toEqual([400, "missing-agent-id"]);
    for (const agent_id of [UNKNOWN, "nobody", "__proto__", "../alice"]) {
      const reply = await change(server, "REVOKE", { agent_id });
      expect([reply.status, reply.body["error"]?.["code"]]).toEqual([404, "agent-not-found"]);
    }
  });

  it("speak for the agent that they are about", async () => {
    const server = await openServer(
      hostedFiles(
        { lifecycle_auth: "open" },
        {},
        {
          "agents/carol.agent.json": JSON.stringify({
            ...{ agtp_version: "1.0", agent_id: CAROL, name: "carol", description: "C." },
            ...{ principal: "C", principal_id: "c.example", issuer: "https://c.example" },
            ...{ issued_at: "2026-05-01T09:00:00Z", status: "active" },
            ...{ owner_id: "carol-owner", trust_tier: 3 },
          }),
        },
      ),
    );
    const { headers } = await change(server, "DEPRECATE", { agent_id: CAROL });
    expect(headers.get("owner-id")).toBe("carol-owner");
    expect(headers.get("trust-tier")).toBe("3");
    expect(headers.get("agent-id")).toBe(BOB);
  });

  it("are decided one after another, however many ask at once", async () => {
    const server = await openServer(OPEN);
    const asked = Array.from({ length: 10 }, () =>
      change(server, "DEACTIVATE", { agent_id: ALICE }),
    );
    const results = (await Promise.all(asked)).map(({ body }) => body["result"]);
    expect(results.filter((result) => result?.["noop"] === undefined)).toHaveLength(1);
    expect(await server.state.lifecycle.events(ALICE, 10)).toHaveLength(1);
  });

  it("echo the Task-ID in the body, too", async () => {
    const server = await openServer(OPEN);
    const headers = { "Agent-ID": BOB, "Task-ID": "t-1" };
    const reply = await change(server, "DEACTIVATE", { agent_id: ALICE }, headers);
    expect(reply.body["task_id"]).toBe("t-1");
  });
});

describe("the lifecycle methods on an agent's path", () => {
  const shared = shareServer(OPEN);

  it.each(["/agents/alice", `/agents/${ALICE}`])("change the agent of %s", async (path) => {
    const server = await openServer(OPEN);
    const headers = { "Agent-ID": BOB };
    const reply = await server.send({ method: "DEACTIVATE", path, headers });
    expect(reply.body["result"]).toMatchObject({ agent_id: ALICE, status: "suspended" });
    expect(recordOf(reply).payload["path"]).toBe(path);
  });

  it("take the same agent in the body, by whichever name", async () => {
    const server = await openServer(OPEN);
    for (const agent_id of ["alice", ALICE]) {
      const request = { method: "DEACTIVATE", path: "/agents/alice", body: { agent_id } };
      expect((await server.send({ ...request, headers: { "Agent-ID": BOB } })).status).toBe(200);
    }
  });

  // What cannot be undone must not be done to either of two.
  it.each([BOB, "bob", UNKNOWN, "nobody"])("answer 422 for %s in the body", async (agent_id) => {
    const server = shared();
    const body = { agent_id, reason: "a test" };
    const headers = { "Agent-ID": BOB };
    for (const path of ["/agents/alice", "/agents/somebody"]) {
      const reply = await server.send({ method: "REVOKE", path, headers, body });
      expect([reply.status, reply.body["error"]?.["code"]]).toEqual([
        422,
        "schema-validation-failed",
      ]);
    }
    expect(await statusOf(server, ALICE)).toBe("active");
    expect(await statusOf(server, BOB)).toBe("active");
  });

  it('take "agent" in the body for nothing', async () => {
    const server = await openServer(OPEN);
    await change(server, "REVOKE", { agent_id: ALICE, agent: BOB });
    expect([await statusOf(server, ALICE), await statusOf(server, BOB)]).toEqual([
      "retired",
      "active",
    ]);
  });

  it("answer 404 for an agent that is not hosted", async () => {
    const server = await openServer(OPEN);
    const headers = { "Agent-ID": BOB };
    const path = "/agents/nobody";
    expect((await server.send({ method: "DEACTIVATE", path, headers })).status).toBe(404);
  });
});

// AGTP-LOG "Lifecycle Events"
describe("the event of a change", () => {
  it("is a record of the agent's chain, in which its request and its reason stand", async () => {
    const server = await openServer(OPEN);
    const requestId = "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42";
    const before = await server.send({
      method: "QUERY",
      path: "/lists",
      headers: { "Agent-ID": ALICE },
    });
    const reply = await change(
      server,
      "DEPRECATE",
      {
        agent_id: ALICE,
        reason: 'superseded by "bob"',
        actor: "ops",
        successor_agent_id: BOB,
        migration_deadline: "2027-01-01T00:00:00Z",
      },
      { "Agent-ID": BOB, "Request-ID": requestId, "Task-ID": "t-1", "Session-ID": "s-1" },
    );
    const request = { method: "INSPECT", headers: { "Agent-ID": BOB } };
    const body = { target: "lifecycle", agent_id: ALICE };
    const inspected = await server.send({ ...request, body });
    const event = inspected.body["result"]?.["events"]?.["0"];
    const jws = String(event?.["jws"]);
    expect(sha256(jws)).toBe(reply.body["result"]?.["audit_id"]);
    expect(readJws(jws).payload).toMatchObject({
      agent_id: ALICE,
      previous_audit_id: recordOf(before).auditId,
      request_id: requestId,
      response_id: reply.headers.get("response-id"),
      task_id: "t-1",
      session_id: "s-1",
      method: "DEPRECATE",
      path: "/",
      action_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      event_type: "agent-lifecycle-deprecated",
      previous_status: "active",
      new_status: "deprecated",
      reason: 'superseded by "bob"',
      actor: "ops",
      actor_agent_id: BOB,
      successor_agent_id: BOB,
      migration_deadline: "2027-01-01T00:00:00Z",
    });
    const next = await server.send({
      method: "QUERY",
      path: "/lists",
      headers: { "Agent-ID": ALICE },
    });
    expect(recordOf(next).payload["previous_audit_id"]).toBe(sha256(jws));
  });

  it("names the method that was sent, where an alias led to the change", async () => {
    const files = hostedFiles(
      { lifecycle_auth: "open", inspect_acl: "public" },
      { policies: { methods: { aliases: { HALT: "DEACTIVATE" }, custom: ["HALT"] } } },
    );
    const server = await openServer(files);
    await server.send({ method: "HALT", headers: { "Agent-ID": BOB }, body: { agent_id: ALICE } });
    const [event] = await server.state.lifecycle.events(ALICE, 1);
    expect(readJws(event?.jws ?? "").payload).toMatchObject({
      method: "DEACTIVATE",
      requested_method: "HALT",
    });
  });

  it("is none when records cannot be kept: 503, and nothing changes", async () => {
    const journal = new BreakableJournal();
    const server = await openServer(hostedFiles(), { state: await openBreakableState(journal) });
    journal.fault = new Error("no space left on device");
    for (let more = 0; more < 2; more += 1) {
      const reply = await change(server, "REVOKE", { agent_id: ALICE }, {}, ISSUER_PEER);
      expect([reply.status, reply.body["error"]?.["code"]]).toEqual([
        503,
        "attribution-unavailable",
      ]);
      expect(recordOf(reply).payload["agent_id"]).toBe("");
    }
    expect(await server.state.lifecycle.events(ALICE, 1)).toEqual([]);
  });
});

// AGTP "Lifecycle Authorization"
describe("lifecycle_auth = genesis_issuer", () => {
  const shared = shareServer(hostedFiles({ inspect_acl: "public" }));
  const files = hostedFiles({
    operator_certificates: [makeCertificate({ key: STRANGER }).spkiFingerprint],
  });

  it("lets the issuer of an agent decide over it, with an Agent-ID or without", async () => {
    const server = await openServer(hostedFiles());
    const bare = await change(server, "DEACTIVATE", { agent_id: ALICE }, {}, ISSUER_PEER);
    expect(bare.status).toBe(200);
    const named = await change(
      server,
      "REINSTATE",
      { agent_id: ALICE },
      { "Agent-ID": CAROL },
      ISSUER_PEER,
    );
    expect(named.status).toBe(200);
  });

  it.each<[string, object, Partial<Peer>, number, string]>([
    ["nobody", {}, {}, 262, "credentials-missing"],
    [
      "the agent itself, by its word",
      { "Agent-ID": ALICE },
      {},
      401,
      "genesis-issuer-cert-required",
    ],
    ["another certificate", {}, peerWith(), 403, "lifecycle-forbidden"],
    ["the issuer of another agent", {}, peerWith({ key: STRANGER }), 403, "lifecycle-forbidden"],
    [
      "the agent's own certificate",
      { "Agent-ID": ALICE },
      peerWith({ agent: { agentId: ALICE } }),
      403,
      "lifecycle-forbidden",
    ],
  ])("refuses %s", async (_, headers, peer, status, code) => {
    const server = shared();
    const reply = await change(server, "REVOKE", { agent_id: ALICE }, { ...headers }, peer);
    expect([reply.status, reply.body["error"]?.["code"]]).toEqual([status, code]);
    expect(await statusOf(server, ALICE)).toBe("active");
    if (status !== 262) expect(server.warnings).toContainEqual({ method: "REVOKE", code });
  });

  it("gives the draft's reason with its 401", async () => {
    const server = await openServer(hostedFiles());
    const { body } = await change(server, "REVOKE", { agent_id: ALICE });
    expect(body["reason"]).toBe("genesis-issuer-cert-required");
  });

  it("has nobody decide over an agent without a Genesis but an operator", async () => {
    const server = await openServer(files);
    expect((await change(server, "REVOKE", { agent_id: CAROL }, {}, ISSUER_PEER)).status).toBe(403);
    const operator = peerWith({ key: STRANGER });
    expect((await change(server, "REVOKE", { agent_id: CAROL }, {}, operator)).status).toBe(200);
  });

  it("tells whoever may not decide nothing of which agents there are", async () => {
    const server = await openServer(hostedFiles());
    for (const [headers, peer] of [
      [{ "Agent-ID": BOB }, {}],
      [{}, peerWith()],
    ] as const) {
      const known = await change(server, "REVOKE", { agent_id: ALICE }, headers, peer);
      const unknown = await change(server, "REVOKE", { agent_id: UNKNOWN }, headers, peer);
      expect(unknown.text).toBe(known.text);
      expect(known.headers.get("owner-id")).toBe(unknown.headers.get("owner-id"));
    }
    // In whatever case, a name is the same agent's.
    const named = async (name: string) => {
      const body = { reason: "a test", agent_id: name.toUpperCase() };
      const request = { method: "REVOKE", path: `/agents/${name}`, headers: { "Agent-ID": BOB } };
      return (await server.send({ ...request, body })).text;
    };
    expect(await named("somebody")).toBe(await named("alice"));
    const operator = peerWith({ key: STRANGER });
    const server2 = await openServer(files);
    expect((await change(server2, "REVOKE", { agent_id: UNKNOWN }, {}, operator)).status).toBe(404);
  });

  it.each([
    makeCertificate({ key: STRANGER }).keyFingerprint,
    makeCertificate({ key: STRANGER }).spkiFingerprint.toUpperCase(),
    makeCertificate({ key: STRANGER }).spkiFingerprint.replace(/..(?=.)/g, "$&:"),
  ])("knows an operator by %s", async (fingerprint) => {
    const server = await openServer(hostedFiles({ operator_certificates: [fingerprint] }));
    const operator = peerWith({ key: STRANGER });
    expect((await change(server, "REVOKE", { agent_id: ALICE }, {}, operator)).status).toBe(200);
    expect((await change(server, "REVOKE", { agent_id: BOB }, {}, peerWith())).status).toBe(403);
  });
});

// AGTP "URI Resolution", "Agent Lifecycle"
describe("an agent that may not act", () => {
  const QUERY = { method: "QUERY", path: "/lists", headers: { "Agent-ID": ALICE } };

  it("is answered 503 while it is suspended, with its state", async () => {
    const server = await openServer(OPEN);
    await change(server, "DEACTIVATE", { agent_id: ALICE });
    const { status, body } = await server.send(QUERY);
    expect(status).toBe(503);
    expect(body).toMatchObject({ agent_id: ALICE, state: "suspended" });
    await change(server, "REINSTATE", { agent_id: ALICE });
    expect((await server.send(QUERY)).status).toBe(200);
  });

  it("is answered 410 once it is retired, with when that was", async () => {
    const server = await openServer(OPEN);
    await change(server, "REVOKE", { agent_id: ALICE });
    const { status, body } = await server.send(QUERY);
    expect(status).toBe(410);
    expect(body).toMatchObject({ agent_id: ALICE, state: "retired" });
    expect(Date.parse(String(body["revoked_at"]))).toBeGreaterThan(Date.now() - 60_000);
  });

  it("is served while it is deprecated", async () => {
    const server = await openServer(OPEN);
    await change(server, "DEPRECATE", { agent_id: ALICE });
    expect((await server.send(QUERY)).status).toBe(200);
  });

  // AGTP "URI Resolution": a deprecated agent goes on, and its signal with it
  it("says where to go on while it is deprecated, and no longer", async () => {
    const server = await openServer(OPEN);
    const way = { successor_agent_id: BOB, migration_deadline: "2027-01-01T00:00:00Z" };
    const headers = { "Agent-ID": ALICE };
    const described = async () =>
      (await server.send({ method: "DESCRIBE", headers, body: {} })).body["result"];
    const stands = async () =>
      (await server.send({ method: "FETCH", path: `/agents/${ALICE}/status`, headers })).body;
    await change(server, "DEPRECATE", { agent_id: ALICE, ...way });
    expect(await described()).toMatchObject({ status: "deprecated", ...way });
    expect(await stands()).toMatchObject({ lifecycle_state: "deprecated", ...way });
    await change(server, "REINSTATE", { agent_id: ALICE, ...way });
    for (const document of [await described(), await stands()]) {
      expect(document).not.toHaveProperty("successor_agent_id");
      expect(document).not.toHaveProperty("migration_deadline");
    }
  });

  it("can still be looked at and brought back, by itself too", async () => {
    const server = await openServer(OPEN);
    const headers = { "Agent-ID": ALICE };
    await change(server, "DEACTIVATE", {}, headers);
    const inspect = { target: "lifecycle", agent_id: ALICE };
    expect((await server.send({ method: "INSPECT", headers, body: inspect })).status).toBe(200);
    for (const method of ["DESCRIBE", "DISCOVER"]) {
      expect([method, (await server.send({ method, headers })).status]).toEqual([method, 200]);
    }
    for (const method of ["PLAN", "SUMMARIZE", "EXECUTE", "NOTIFY", "SUSPEND"]) {
      expect([method, (await server.send({ method, headers })).status]).toEqual([method, 503]);
    }
    expect((await change(server, "REINSTATE", {}, headers)).status).toBe(200);
    expect((await server.send(QUERY)).status).toBe(200);
  });

  it("is judged by the method that an alias stands for", async () => {
    const methods = {
      custom: ["PEEK", "HARVEST"],
      aliases: { PEEK: "INSPECT", HARVEST: "QUERY" },
    };
    const policies = { methods };
    const files = hostedFiles({ lifecycle_auth: "open", inspect_acl: "public" }, { policies });
    const server = await openServer(files);
    const headers = { "Agent-ID": ALICE };
    await change(server, "DEACTIVATE", { agent_id: ALICE });
    const body = { target: "lifecycle" };
    expect((await server.send({ method: "PEEK", headers, body })).status).toBe(200);
    expect((await server.send({ method: "HARVEST", path: "/lists", headers })).status).toBe(503);
  });

  it("is not let past by a redirect from what is exempt", async () => {
    const redirects = [
      { from_method: "DESCRIBE", from_path: "/lists", to_method: "QUERY", to_path: "/lists" },
    ];
    const files = hostedFiles({ lifecycle_auth: "open" }, { policies: { methods: { redirects } } });
    const server = await openServer(files);
    const request = { method: "DESCRIBE", path: "/lists", headers: { "Agent-ID": ALICE } };
    expect((await server.send(request)).status).toBe(200);
    await change(server, "DEACTIVATE", { agent_id: ALICE });
    expect((await server.send(request)).status).toBe(503);
    await change(server, "REVOKE", { agent_id: ALICE });
    expect((await server.send(request)).status).toBe(410);
  });

  it("stays retired, whatever it or anybody tries", async () => {
    const server = await openServer(OPEN);
    await change(server, "REVOKE", { agent_id: ALICE });
    for (const method of ["ACTIVATE", "REINSTATE", "DEACTIVATE", "DEPRECATE", "REVOKE"] as const) {
      await change(server, method, { agent_id: ALICE });
      await change(server, method, { agent_id: ALICE }, { "Agent-ID": ALICE });
    }
    expect(await statusOf(server, ALICE)).toBe("retired");
  });
});

describe("a change whose record is kept", () => {
  it("holds at once, though a record of another chain is on its way, and though that is lost", async () => {
    const shared = new SharedRecords();
    let lose: (error: Error) => void = () => undefined;
    let count = 0;
    const arrive = async (): Promise<void> => {
      count += 1;
      if (count === 1) await new Promise((_, reject) => (lose = reject));
    };
    const records = shared.open({ batches: 2, arrive });
    const state = await openState({
      ...{ store: createMemoryStore(), journalDirectory: undefined, onFault: () => undefined },
      shared: { records, heads: new Map(), events: [] },
    });
    const server = await openServer(OPEN, { state });
    const query = server.send({ method: "QUERY", path: "/lists", headers: { "Agent-ID": CAROL } });
    await expect.poll(() => count, PATIENCE).toBe(1);
    const revoked = change(server, "REVOKE", { agent_id: ALICE });
    await expect.poll(() => shared.recordsOf(ALICE).length, PATIENCE).toBe(1);
    const alice = { agentId: ALICE, status: "active" } as AgentDocument;
    await expect.poll(() => state.lifecycle.statusOf(alice), PATIENCE).toBe("retired");
    lose(new Error("the disk is full"));
    await query;
    expect((await revoked).body["result"]).toMatchObject({ status: "retired" });
    expect(shared.recordsOf(ALICE)).toHaveLength(1);
  });
});
