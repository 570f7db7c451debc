import { describe, expect, it } from "vitest";
import { endpointFile } from "../support/deployment.ts";
import { openServer, shareServer, type TestReply } from "../support/dispatch.ts";
import { ALICE, BOB, CAROL, hostedFiles, peerWith, UNKNOWN } from "../support/hosted-agents.ts";
import { BreakableJournal } from "../support/ledger.ts";
import { FIRST_PREVIOUS, readJws, recordOf, sha256, walkChain } from "../support/records.ts";
import { openBreakableState } from "../support/state.ts";

const HANDLERS = `
export const echo = (call) => ({ body: { input: call.input } });
export const fail = () => { throw new Error("a fault"); };
export const nothing = () => ({ status: 204 });
export const refuse = ({ input }) => ({ error: input.code });
export const circle = () => { const body = {}; body.self = body; return { body }; };
`;

function endpoint(path: string, handler: string, more: object = {}): string {
  const definition = { type: "registered_function", function: `handlers.${handler}` };
  return endpointFile({ method: "EXECUTE", path, handler: definition, ...more });
}

/** The protocol's own codes, as errors of an endpoint. */
const OWN = { errors: ["store-unavailable"], properties: { code: { type: "string" } } };

const FILES = hostedFiles(
  { lifecycle_auth: "open" },
  {
    policies: {
      methods: {
        custom: ["HARVEST"],
        aliases: { HARVEST: "QUERY" },
        redirects: [
          { from_method: "EXECUTE", from_path: "/olds", to_method: "QUERY", to_path: "/lists" },
        ],
      },
    },
  },
  {
    "handlers.mjs": HANDLERS,
    "endpoints/faults.toml": endpoint("/faults", "fail"),
    "endpoints/nothings.toml": endpoint("/nothings", "nothing"),
    "endpoints/circles.toml": endpoint("/circles", "circle"),
    "endpoints/owns.toml": endpoint("/owns", "refuse", OWN),
  },
);
const AS_ALICE = { "Agent-ID": ALICE };

function expectRecord(reply: TestReply): void {
  const { auditId, payload } = recordOf(reply);
  expect(reply.headers.get("audit-id")).toBe(auditId);
  expect(payload["response_id"]).toBe(reply.headers.get("response-id"));
  expect(payload["server_id"]).toBe(reply.headers.get("server-id"));
  expect(payload["status"]).toBe(reply.status);
  expect(payload["result_hash"]).toBe(`sha256:${sha256(reply.text)}`);
}

// AGTP-IDENTIFIERS "Attribution-Record"
describe("the record of a response", () => {
  const shared = shareServer(FILES);

  it.each<[number, string, string, Readonly<Record<string, string>>, unknown]>([
    [200, "QUERY", "/lists", AS_ALICE, {}],
    [200, "DISCOVER", "/", {}, undefined],
    [204, "EXECUTE", "/nothings", AS_ALICE, {}],
    [422, "EXECUTE", "/owns", AS_ALICE, { code: "store-unavailable" }],
    [262, "QUERY", "/lists", {}, {}],
    [262, "QUERY", "/lists", { ...AS_ALICE, "Authority-Scope": "orders:read" }, {}],
    [400, "QUERY", "/lists", AS_ALICE, "{"],
    [400, "QUERY", "/lists", { "Agent-ID": "alice" }, {}],
    [400, "QUERY", "/lists", { ...AS_ALICE, "Request-ID": "7" }, {}],
    [400, "QUERY", "/lists", { ...AS_ALICE, "Task-ID": "" }, {}],
    [401, "QUERY", "/lists", { "Agent-ID": UNKNOWN }, {}],
    [404, "QUERY", "/nowheres", AS_ALICE, {}],
    [405, "QUERY", "/rooms", AS_ALICE, {}],
    [422, "BOOK", "/rooms", AS_ALICE, { note: 7 }],
    [455, "BOOK", "/rooms", { ...AS_ALICE, "Authority-Scope": "documents:read" }, {}],
    [459, "FROBNICATE", "/lists", AS_ALICE, {}],
    [460, "QUERY", "/lists/", AS_ALICE, {}],
    [460, "QUERY", '/"}],/', {}, {}],
    [500, "EXECUTE", "/faults", AS_ALICE, {}],
    [500, "EXECUTE", "/circles", AS_ALICE, {}],
    [422, "ESCALATE", "/", AS_ALICE, {}],
    [501, "QUERY", "/lists", { ...AS_ALICE, "Delegation-Chain": "x" }, {}],
  ])("is on a %i: %s %s %j", async (status, method, path, headers, body) => {
    const reply = await shared().send({ method, path, headers, body });
    expect(reply.status).toBe(status);
    expectRecord(reply);
  });

  it.each([
    "QUERY /lists\r\n\r\n",
    "AGTP/1.0 QUERY /li#sts\r\n\r\n",
    "AGTP/1.0 QUERY /lists\r\nno field\r\n\r\n",
    "AGTP/1.0 QUERY /lists\r\nContent-Length: -1\r\n\r\n",
    "AGTP/1.0 QUERY /lists\r\nContent-Length: 99999999\r\n\r\n",
    `AGTP/1.0 QUERY /${"x".repeat(9000)}\r\n\r\n`,
    "AGTP/1.0 QUERY /lists\r\nContent-Length: 10\r\n\r\ncut",
  ])("is on the 400 that answers %j", async (bytes) => {
    const reply = await shared().send(bytes);
    expect(reply.status).toBe(400);
    expectRecord(reply);
    const { payload } = recordOf(reply);
    expect(payload).toMatchObject({ agent_id: "", previous_audit_id: FIRST_PREVIOUS });
  });

  it("says who asked, for what and under which identifiers", async () => {
    const requestId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    const body = { method: "QUERY", task_id: "t-1", session_id: "s-1", parameters: {} };
    const headers = { ...AS_ALICE, "Owner-ID": "acme:eu", "Request-ID": requestId };
    const reply = await shared().send({ method: "QUERY", path: "/lists", headers, body });
    expect(recordOf(reply).payload).toMatchObject({
      ...{ agent_id: ALICE, owner_id: "acme:eu", request_id: requestId, method: "QUERY" },
      ...{ path: "/lists", status: 200, task_id: "t-1", session_id: "s-1" },
      identity_assurance: "unverified",
      request_hash: `sha256:${sha256(JSON.stringify(body))}`,
    });
    expect(recordOf(reply).payload).not.toHaveProperty("requested_method");
    expect(reply.headers.get("task-id")).toBe("t-1");
  });

  it("names the method that was sent only where another was answered", async () => {
    const aliased = await shared().send({ method: "HARVEST", path: "/lists", headers: AS_ALICE });
    expect(recordOf(aliased).payload).toMatchObject({
      ...{ method: "QUERY", requested_method: "HARVEST", path: "/lists" },
    });
    const redirected = await shared().send({ method: "EXECUTE", path: "/olds", headers: AS_ALICE });
    expect(recordOf(redirected).payload).toMatchObject({
      ...{ method: "QUERY", requested_method: "EXECUTE", path: "/lists" },
    });
  });

  it("has an Action-ID for what changes something", async () => {
    const changing = await shared().send({ method: "BOOK", path: "/rooms", headers: AS_ALICE });
    const reading = await shared().send({ method: "DISCOVER", headers: AS_ALICE });
    expect(recordOf(changing).payload["action_id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(recordOf(reading).payload).not.toHaveProperty("action_id");
  });

  it("says when a certificate vouches for the agent", async () => {
    const request = { method: "QUERY", path: "/lists", headers: AS_ALICE };
    const bound = await shared().send(request, peerWith({ agent: { agentId: ALICE } }));
    expect(recordOf(bound).payload["identity_assurance"]).toBe("certificate-bound");
    const unbound = await shared().send(request, peerWith());
    expect(recordOf(unbound).payload["identity_assurance"]).toBe("unverified");
  });

  it("names the owner of an agent that is proven, whoever it says that is", async () => {
    const headers = { ...AS_ALICE, "Owner-ID": "evil:corp" };
    const request = { method: "QUERY", path: "/lists", headers };
    const owners = [peerWith({ agent: { agentId: ALICE } }), peerWith()].map(async (peer) => {
      const { payload } = recordOf(await shared().send(request, peer));
      return [payload["identity_assurance"], payload["owner_id"]];
    });
    expect(await Promise.all(owners)).toEqual([
      ["certificate-bound", "acme.example"],
      ["unverified", "evil:corp"],
    ]);
  });

  it("names nobody where it was not shown who asked", async () => {
    const claims = [
      [{ "Agent-ID": UNKNOWN }, {}],
      [AS_ALICE, { certificateFault: "has expired" }],
      [AS_ALICE, peerWith({ agent: { agentId: BOB } })],
      [AS_ALICE, peerWith({ notAfter: 0, agent: { agentId: ALICE } })],
      [{ ...AS_ALICE, "Owner-ID": "x" }, peerWith({ agent: { agentId: ALICE, ownerId: "y" } })],
    ] as const;
    for (const [headers, peer] of claims) {
      const reply = await shared().send({ method: "QUERY", path: "/lists", headers }, peer);
      expect(reply.status).toBe(401);
      const { payload } = recordOf(reply);
      expect(payload).toMatchObject({ agent_id: "", previous_audit_id: FIRST_PREVIOUS });
      expect(payload["owner_id"]).toBe("");
    }
  });

  // A record that a client can write into is a record of whatever the client likes.
  it.each([
    ["Request-ID", `","agent_id":"${BOB}","previous_audit_id":"`],
    ["Task-ID", `","agent_id":"${BOB}`],
    ["Session-ID", '\\","status":200,"x":"'],
    ["Owner-ID", `","agent_id":"${BOB}`],
  ])("cannot be written into by %s: %s", async (name, value) => {
    for (const headers of [{}, AS_ALICE, { "Agent-ID": UNKNOWN }]) {
      const request = { method: "QUERY", path: "/lists", headers: { ...headers, [name]: value } };
      const reply = await shared().send(request);
      const { payload } = recordOf(reply);
      expect(payload["agent_id"]).not.toBe(BOB);
      expect(payload["status"]).toBe(reply.status);
      expect(payload["previous_audit_id"]).toMatch(/^[0-9a-f]{64}$/);
    }
  });

  it.each(["Request-ID", "Task-ID", "Session-ID", "Agent-ID"])(
    "is no longer for a %s that is too long to be one",
    async (name) => {
      const headers = { [name]: "x".repeat(10_000) };
      const reply = await shared().send({ method: "QUERY", path: "/lists", headers });
      const length = [...reply.headers].reduce((sum, field) => sum + field.join("").length, 0);
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(length).toBeLessThan(3_000);
    },
  );

  it("never has the credential that came with the request", async () => {
    const headers = { ...AS_ALICE, Authorization: "Bearer s3cret-t0ken" };
    const reply = await shared().send({ method: "QUERY", path: "/lists", headers });
    expect(JSON.stringify(recordOf(reply).payload)).not.toContain("s3cret");
  });

  it("is absent where the operator wants none", async () => {
    const server = await openServer(hostedFiles({}, { attribution: { enabled: false } }));
    for (const request of [{ method: "DISCOVER" }, { method: "QUERY", path: "/lists" }]) {
      const { headers } = await server.send({ ...request, headers: AS_ALICE });
      expect(headers.has("attribution-record")).toBe(false);
      expect(headers.has("audit-id")).toBe(false);
    }
  });
});

// AGTP-IDENTIFIERS "Attribution Chain"
describe("the chain of an agent", () => {
  async function openChained() {
    const journal = new BreakableJournal();
    const server = await openServer(FILES, { state: await openBreakableState(journal) });
    const query = (headers: Readonly<Record<string, string>>) =>
      server.send({ method: "QUERY", path: "/lists", headers });
    return { journal, server, query };
  }

  it("has every answer to the agent, refusals too, in order", async () => {
    const { journal, server, query } = await openChained();
    const replies = [
      await query(AS_ALICE),
      await query({ ...AS_ALICE, "Authority-Scope": "orders:read" }),
      await server.send({ method: "QUERY", path: "/nowheres", headers: AS_ALICE }),
      await server.send({ method: "EXECUTE", path: "/faults", headers: AS_ALICE }),
      await query(AS_ALICE),
    ];
    await query({ "Agent-ID": BOB });
    const records = journal.records.map(({ jws }) => readJws(jws));
    expect(walkChain(records, ALICE).map(({ auditId }) => auditId)).toEqual(
      replies.map((reply) => recordOf(reply).auditId),
    );
    expect(walkChain(records, BOB)).toHaveLength(1);
  });

  it("goes on while the agent may not act", async () => {
    const { journal, server, query } = await openChained();
    for (const method of ["DEACTIVATE", "REVOKE"]) {
      const body = { agent_id: ALICE, reason: "a test" };
      await server.send({ method, headers: { "Agent-ID": BOB }, body });
      await query(AS_ALICE);
    }
    const records = journal.records.map(({ jws }) => readJws(jws));
    const statuses = walkChain(records, ALICE).map(({ payload }) => payload["status"]);
    expect(statuses).toEqual([200, 503, 200, 410]);
  });

  it("is begun for nobody else", async () => {
    const { journal, server, query } = await openChained();
    await query({});
    for (let more = 0; more < 50; more += 1) {
      await query({ "Agent-ID": String(more).padStart(64, "0"), "Session-ID": `s-${more}` });
    }
    await query({ "Agent-ID": "alice" });
    await server.send("nonsense\r\n\r\n");
    expect(journal.records).toEqual([]);
  });

  it("is begun for no stranger who is believed", async () => {
    const journal = new BreakableJournal();
    const files = hostedFiles({ unknown_agents: "accept" });
    const server = await openServer(files, { state: await openBreakableState(journal) });
    for (let more = 0; more < 50; more += 1) {
      const headers = {
        "Agent-ID": String(more).padStart(64, "0"),
        "Authority-Scope": "booking:room",
        "Session-ID": `s-${more}`,
      };
      const reply = await server.send({ method: "BOOK", path: "/rooms", headers });
      expect(reply.status).toBe(200);
      expect(recordOf(reply).payload).toMatchObject({
        agent_id: headers["Agent-ID"],
        previous_audit_id: FIRST_PREVIOUS,
      });
    }
    expect(journal.records).toEqual([]);
  });
});

describe("a server that cannot write records", () => {
  const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });

  it("does nothing for its agents but say so, and serves everybody else", async () => {
    const journal = new BreakableJournal();
    const server = await openServer(FILES, { state: await openBreakableState(journal) });
    const before = await server.send({ method: "QUERY", path: "/lists", headers: AS_ALICE });
    journal.fault = full;
    const lost = server.send({ method: "QUERY", path: "/lists", headers: AS_ALICE });
    await lost.catch(() => undefined);
    for (const headers of [
      AS_ALICE,
      { "Agent-ID": CAROL },
      { ...AS_ALICE, "Authority-Scope": "orders:read" },
    ]) {
      const refused = await server.send({ method: "QUERY", path: "/lists", headers });
      expect([refused.status, refused.body["error"]?.["code"]]).toEqual([
        503,
        "attribution-unavailable",
      ]);
      expectRecord(refused);
    }
    const anonymous = await server.send({ method: "DISCOVER" });
    expect(anonymous.status).toBe(200);
    expectRecord(anonymous);
    expect(journal.records.map(({ auditId }) => auditId)).toEqual([recordOf(before).auditId]);
  });

  it("gives its agents none where they are kept in the store, which is what fails", async () => {
    const journal = new BreakableJournal();
    const state = await openBreakableState(journal, { isInStore: true });
    const server = await openServer(FILES, { state });
    journal.fault = full;
    const lost = server.send({ method: "QUERY", path: "/lists", headers: AS_ALICE });
    await lost.catch(() => undefined);
    const refused = await server.send({ method: "QUERY", path: "/lists", headers: AS_ALICE });
    expect([refused.status, refused.body["error"]?.["code"]]).toEqual([503, "store-unavailable"]);
    expect(refused.headers.get("retry-after")).toBe("1");
    // In no chain, it would look like one that was lost.
    expect(refused.headers.has("attribution-record")).toBe(false);
    expect(refused.headers.has("audit-id")).toBe(false);
    const anonymous = await server.send({ method: "DISCOVER" });
    expect(anonymous.status).toBe(200);
    expectRecord(anonymous);
    expect(journal.records).toEqual([]);
  });
});
