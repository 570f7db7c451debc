import { describe, expect, it } from "vitest";
import type { QueryCaller } from "../../../src/dispatch/module/query-source.ts";
import { runSource } from "../../../src/modules/delegation/recent-runs.ts";
import { openDelegationState } from "../../../src/modules/delegation/register.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import {
  ALICE,
  BOB,
  BOOKING,
  CAROL,
  DAVE,
  delegate,
  delegation,
  delegationFiles,
  refusalOf,
  ZOE,
} from "../../support/delegation.ts";
import { configFile, endpointFile } from "../../support/deployment.ts";
import { openServer, shareServer, type TestServer } from "../../support/dispatch.ts";
import { readJws, recordOf } from "../../support/records.ts";

// In process: nothing listens there.
const files = delegationFiles({ server: { port: 4481 } });

const RECIPE = `
[[recipe]]
name = "composed"
version = "1"
description = "One step."
pattern = { method_exact = "EXECUTE", path_exact = "/composed" }
[[recipe.steps]]
method = "EXECUTE"
path = "/loose-ends"
`;

async function recordAt(server: TestServer, auditId: unknown) {
  const jws = await server.state.ledger.find(String(auditId));
  if (jws === undefined) throw new Error("no such record");
  return readJws(jws).payload;
}

// AGTP "DELEGATE"
describe("DELEGATE to a hosted agent", () => {
  const shared = shareServer(files);

  it("has the task done as that agent, with what was handed on and no more", async () => {
    const reply = await delegate(shared(), { headers: { "Task-ID": "t-1" } });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      status: 200,
      task_id: "t-1",
      result: {
        delegation_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        target_agent_id: BOB,
        authority_scope: ["booking:room"],
        deadline: expect.stringMatching(/Z$/),
        delegation_chain: [
          {
            ...{ agent_id: ALICE, target_agent_id: BOB, server_id: "test" },
            authority_scope: ["booking:room"],
          },
        ],
        prior_actions: [{ agent_id: BOB, audit_id: expect.stringMatching(/^[0-9a-f]{64}$/) }],
        state: "completed",
        status: 200,
        result: { booked: 2, agent: BOB, scopes: ["booking:room"], task: "t-1" },
      },
    });
  });

  it("names what was done in the record, and keeps it in the chain of who did it", async () => {
    const reply = await delegate(shared());
    const { payload } = recordOf(reply);
    const [prior] = payload["prior_actions"] as readonly { readonly audit_id: string }[];
    expect(payload).toMatchObject({ agent_id: ALICE, method: "DELEGATE" });
    expect(await recordAt(shared(), prior?.audit_id)).toMatchObject({
      ...{ agent_id: BOB, method: "BOOK", path: "/rooms", status: 200 },
      delegation_chain: [
        { agent_id: ALICE, target_agent_id: BOB, authority_scope: ["booking:room"] },
      ],
    });
  });

  it.each([
    ["the agent's name", "bob"],
    ["a URI without a server", `agtp://${BOB}`],
    ["a URI with this server", `agtp://${BOB}@test`],
    ["a URI with its name", "agtp://test/agents/bob"],
    ["a URI with this server in capitals", "agtp://TEST/agents/bob"],
    ["a URI with the place where this server listens", "agtp://localhost/agents/bob"],
    ["a URI with its port", "agtp://localhost:4481/agents/bob"],
  ])("knows the agent by %s", async (_, target) => {
    expect((await delegate(shared(), { target })).status).toBe(200);
  });

  it("takes the older names, and scopes as a text", async () => {
    const body = { sub_agent: BOB, task: BOOKING, authority_scope: "booking:room, booking:read" };
    const headers = { "Agent-ID": ALICE };
    const reply = await shared().send({ method: "DELEGATE", headers, body });
    expect(reply.body["result"]?.["authority_scope"]).toEqual(["booking:room", "booking:read"]);
  });

  it("takes actions as EXECUTE does", async () => {
    const task = { action: "book_rooms", parameters: { nights: 3 } };
    const byTool = await delegate(shared(), { task });
    const byExecute = await delegate(shared(), { task: { method: "EXECUTE", parameters: task } });
    const carried = { action: "mcp.tools.call", payload: { name: "book_rooms", arguments: {} } };
    const byMcp = await delegate(shared(), { task: carried });
    expect([byTool.status, byExecute.status, byMcp.status]).toEqual([200, 200, 200]);
    expect(byMcp.body["result"]?.["result"]).toMatchObject({
      structuredContent: { agent: BOB },
      isError: false,
    });
  });

  it("does a sequence in order, and answers with each result", async () => {
    const task = [BOOKING, { method: "QUERY", path: "/counts" }];
    const { body } = await delegate(shared(), { task });
    expect(body["result"]?.["result"]).toMatchObject([
      { method: "BOOK", path: "/rooms", status: 200, result: { booked: 2 } },
      { method: "QUERY", path: "/counts", status: 200, result: { count: expect.any(Number) } },
    ]);
    expect(body["result"]?.["prior_actions"]).toHaveLength(2);
    const steps = await delegate(shared(), { task: { steps: task } });
    expect(steps.status).toBe(200);
  });

  it.each(["DEACTIVATE", "REVOKE"])(
    "stops a sequence once the agent that delegated was stopped by %s",
    async (method) => {
      const identity = { lifecycle_auth: "open" };
      const handler = { type: "registered_function", function: "held.hold" };
      const server = await openServer(
        delegationFiles(
          { policies: { identity } },
          {
            "held.mjs": "export const hold = () => globalThis.heldStep();",
            "endpoints/hold.toml": endpointFile({ method: "EXECUTE", path: "/held", handler }),
          },
        ),
      );
      const begun = new Promise<(answer: object) => void>((resolve) => {
        const heldStep = () => new Promise(resolve);
        Object.assign(globalThis, { heldStep });
      });
      const held = { method: "EXECUTE", path: "/held", parameters: {} };
      const answered = delegate(server, { task: [held, BOOKING] });
      const end = await begun;
      const headers = { "Agent-ID": CAROL };
      const body = { agent_id: ALICE, reason: "it was stolen" };
      expect((await server.send({ method, headers, body })).status).toBe(200);
      end({ body: {} });
      const reply = await answered;
      expect(refusalOf(reply)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
      expect(reply.body["sub_agent"]).toMatchObject({ step: 1 });
      const count = await server.send({ method: "QUERY", path: "/counts", headers });
      expect(count.body).toEqual({ count: 0 });
    },
  );

  it("stops a sequence at what fails, and tells what was done before", async () => {
    const failing = { ...BOOKING, parameters: { nights: 10 } };
    const reply = await delegate(shared(), { task: [BOOKING, failing, BOOKING] });
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
    expect(reply.body["sub_agent"]).toMatchObject({
      ...{ agent_id: BOB, step: 1, status: 422 },
      error: { code: "room_unavailable", message: "no room" },
    });
    expect(reply.body["prior_actions"]).toHaveLength(2);
    expect(recordOf(reply).payload["prior_actions"]).toHaveLength(2);
  });

  it("stops at a function that answers a status of failure with a body of its own", async () => {
    const more = "export const sold_out = () => ({ status: 409, body: { left: 0 } });";
    const handler = { type: "registered_function", function: "more.sold_out" };
    const endpoint = endpointFile({ method: "BOOK", path: "/suites", handler });
    const server = await openServer({
      ...files,
      "more.mjs": more,
      "endpoints/suites.toml": endpoint,
    });
    const task = { method: "BOOK", path: "/suites" };
    const reply = await delegate(server, { task: [task, BOOKING] });
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
    const subAgent = { agent_id: BOB, status: 409, result: { left: 0 } };
    expect(reply.body).toMatchObject({ outcome: "failed", sub_agent: { ...subAgent, step: 0 } });
    expect(reply.body["prior_actions"]).toHaveLength(1);
    const single = await delegate(server, { task });
    expect(refusalOf(single)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
    expect(single.body["sub_agent"]).toEqual(subAgent);
    const headers = { "Agent-ID": ALICE };
    const executed = await server.send({
      method: "EXECUTE",
      headers,
      body: { action: "BOOK /suites" },
    });
    expect([executed.status, executed.body["result"]]).toEqual([409, { left: 0 }]);
    const asker = { caller: { document: { agentId: ALICE } }, peer: {} } as unknown as QueryCaller;
    const [run] = await runSource((await server.kept.once(openDelegationState)).runs).entries(
      asker,
    );
    expect(run?.content).toMatchObject({ kind: "execute", state: "refused", status: 409 });
    const payload = { name: "book_suites", arguments: {} };
    const called = { action: "mcp.tools.call", payload };
    const carried = await server.send({ method: "EXECUTE", headers, body: called });
    expect(carried.body["result"]).toMatchObject({ structuredContent: { left: 0 }, isError: true });
  });

  it.each([
    ["a store that did not say what became of it", "undecided", "unknown"],
    ["a store that has kept nothing", "full", "failed"],
    ["an upstream that did not answer in time", { error: "upstream_timeout" }, "unknown"],
    ["an answer that cannot be read", { error: "upstream_malformed_response" }, "unknown"],
    [
      "a connection that broke behind the request",
      { error: "upstream_connection_error", details: { sent: true } },
      "unknown",
    ],
    [
      "an upstream that was not reached",
      { error: "upstream_connection_error", details: { sent: false } },
      "failed",
    ],
    ["an error of its own", { error: "room_unavailable" }, "failed"],
  ] as const)("says what is known of the work after %s", async (_, told, outcome) => {
    const handler = { type: "registered_function", function: "more.open_end" };
    const errors = ["upstream_timeout", "upstream_connection_error", "room_unavailable"];
    const open = {
      ...{ method: "EXECUTE", path: "/loose-ends", handler },
      errors: [...errors, "upstream_malformed_response"],
    };
    const composed = {
      ...{ method: "EXECUTE", path: "/composed", errors: ["composition_failed"] },
      handler: { type: "composition", recipe: "composed" },
    };
    const server = await openServer({
      ...files,
      "recipes/composed.toml": RECIPE,
      "endpoints/composed.toml": endpointFile(composed),
      "more.mjs": "export const open_end = () => globalThis.openEnd();",
      "endpoints/open.toml": endpointFile(open),
    });
    const openEnd = async () => {
      if (typeof told === "string") throw new StoreUnavailableError(told, new Error("gone"));
      return told;
    };
    Object.assign(globalThis, { openEnd });
    for (const path of ["/loose-ends", "/composed"]) {
      const reply = await delegate(server, { task: { method: "EXECUTE", path } });
      expect(refusalOf(reply)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
      expect([path, reply.body["outcome"]]).toEqual([path, outcome]);
    }
  });

  it.each([
    ["beyond what the caller holds", ["payments:send"], ["payments:send"]],
    ["wider than what the caller holds", ["*:*"], ["*:*"]],
    ["partly beyond", ["booking:room", "x:y"], ["x:y"]],
  ])("answers 262 to scopes %s", async (_, scopes, missing) => {
    const { status, body } = await delegate(shared(), { scopes });
    expect([status, body["type"]]).toEqual([262, "scope-required"]);
    expect(body["error"]?.["details"]?.["missing_scopes"]).toEqual(missing);
  });

  it("hands on no more than the request itself claims", async () => {
    const headers = { "Authority-Scope": "booking:read, documents:read" };
    expect((await delegate(shared(), { headers })).status).toBe(262);
  });

  it("hands on a strict subset: something stays behind", async () => {
    const whole = await delegate(shared(), { scopes: ["booking:*", "documents:read"] });
    expect([whole.status, whole.body["type"]]).toEqual([262, "scope-required"]);
    const narrowed = { "Authority-Scope": "booking:room" };
    expect((await delegate(shared(), { headers: narrowed })).status).toBe(262);
    expect((await delegate(shared(), { scopes: ["booking:*"] })).status).toBe(200);
    const nothing = { scopes: [], task: { method: "QUERY", path: "/counts" } };
    expect((await delegate(shared(), nothing)).status).toBe(200);
  });

  it("gives the agent nothing that was not handed on", async () => {
    const reply = await delegate(shared(), { target: ZOE, scopes: ["booking:read"] });
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
    expect(reply.body["sub_agent"]).toMatchObject({ status: 455 });
  });

  it.each([
    ["INSPECT", "/", { target: "chain_head" }],
    ["NOTIFY", "/", { recipient: ALICE, content: "as bob" }],
    ["CONFIRM", "/", {}],
    ["PROPOSE", "/", {}],
    ["REVOKE", "/", {}],
    ["DISCOVER", "/contracts", {}],
  ])("lets nobody have %s %s done as somebody else", async (method, path, parameters) => {
    const reply = await delegate(shared(), { task: { method, path, parameters } });
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "sub-agent-failed"]);
    expect(reply.body["sub_agent"]).toMatchObject({
      ...{ status: 403, error: { code: "delegation-forbidden", reason: "not-delegable" } },
    });
  });

  it("answers with what the protocol itself says to everybody", async () => {
    const task = { method: "DISCOVER", path: "/methods" };
    expect((await delegate(shared(), { task })).status).toBe(200);
  });

  it.each([
    [{ target: DAVE }, ALICE, "delegation-not-permitted"],
    [{}, DAVE, "delegation-not-permitted"],
    [{ target: "agtp://elsewhere.example/agents/x" }, ALICE, "peer-not-configured"],
    [{ target: "agtp://localhost:9/agents/bob" }, ALICE, "peer-not-configured"],
  ])("answers 403 to %j", async (delegated, agentId, reason) => {
    const reply = await delegate(shared(), { ...delegated, headers: { "Agent-ID": agentId } });
    expect(refusalOf(reply)).toEqual([403, "delegation-forbidden", reason]);
  });

  it.each(["nobody", "e".repeat(64), `agtp://${"e".repeat(64)}`, "https://x.example/", "annex:x"])(
    "answers 404 to the agent %j",
    async (target) => {
      const reply = await delegate(shared(), { target });
      expect([reply.status, reply.body["error"]?.["code"]]).toEqual([404, "agent-not-found"]);
    },
  );

  // Agent-IDs cannot be guessed.
  it.each([
    ["bob", 404],
    ["agtp://localhost/agents/bob", 404],
    [BOB, 200],
    [`agtp://${BOB}`, 200],
    [`agtp://localhost/agents/${BOB}`, 200],
  ])("answers %s with %i where the caller may not learn of agents", async (target, status) => {
    const tables = { agents: { disclosure: "private" } };
    const server = await openServer({ ...files, "agtp-server.toml": configFile(tables) });
    expect((await delegate(server, { target })).status).toBe(status);
  });

  it.each([
    [{ target_agent_id: undefined }, "/target_agent_id"],
    [{ task: undefined }, "/task"],
    [{ authority_scope: undefined }, "/authority_scope"],
    [{ authority_scope: ["room"] }, "/authority_scope"],
    [{ authority_scope: "a b:c" }, "/authority_scope"],
    [{ task: [] }, "/task"],
    [{ task: { steps: "x" } }, "/task"],
    [{ task: [7] }, "/task/0"],
    [{ task: {} }, "/action"],
    [{ task: { method: 7 } }, "/action"],
    [{ task: Array.from({ length: 33 }, () => BOOKING) }, "/task"],
    [{ deadline: "soon" }, "/deadline"],
    [{ deadline: -1 }, "/deadline"],
  ])("answers 422 to %j", async (more, path) => {
    const { status, body } = await delegate(shared(), { more });
    expect(status).toBe(422);
    expect(body["error"]?.["details"]?.["errors"]).toMatchObject([{ path }]);
  });

  it("tells of an action that the agent cannot have done", async () => {
    const reply = await delegate(shared(), { task: { action: "book_room" } });
    expect(reply.body["sub_agent"]).toMatchObject({
      ...{ status: 404, error: { code: "action-not-found", suggestions: ["book_rooms"] } },
    });
  });

  it("stays in the caller's zone", async () => {
    const headers = { "AGTP-Zone-ID": "zone:eu" };
    expect((await delegate(shared(), { target: ZOE, headers })).status).toBe(200);
    const { status, body } = await delegate(shared(), { headers });
    expect([status, body["error"]?.["code"]]).toEqual([457, "zone-violation"]);
    const further = delegation({ target: CAROL, scopes: [], task: { action: "QUERY /counts" } });
    const task = { method: "DELEGATE", parameters: further };
    const nested = await delegate(shared(), { target: ZOE, task, headers });
    expect(nested.body["sub_agent"]?.["status"]).toBe(457);
  });

  it("stays in it where EXECUTE names it", async () => {
    const statuses = [];
    for (const zone of ["zone:eu", "zone:us"]) {
      const action = { method: "DELEGATE", path: "/" };
      const headers = { "Agent-ID": ALICE, "AGTP-Zone-ID": zone };
      const body = { action, parameters: delegation({ target: ZOE }) };
      statuses.push((await shared().send({ method: "EXECUTE", headers, body })).status);
    }
    expect(statuses).toEqual([200, 457]);
  });

  it.each([202, 261])("tells of what goes on as such, %i", async (status) => {
    const server = await openServer(files);
    const task = { method: "EXECUTE", path: "/tickets", parameters: { status } };
    const { body } = await delegate(server, { task });
    expect(body["result"]).toMatchObject({ state: "accepted", status, result: { ticket: 7 } });
  });

  it("is a run of the caller's", async () => {
    const server = await openServer(files);
    const { body } = await delegate(server, { headers: { "Task-ID": "t-7" } });
    const asker = { caller: { document: { agentId: ALICE } }, peer: {} } as unknown as QueryCaller;
    const [entry] = await runSource((await server.kept.once(openDelegationState)).runs).entries(
      asker,
    );
    expect(entry?.content).toMatchObject({
      ...{ run_id: body["result"]?.["delegation_id"], kind: "delegate", action: "BOOK /rooms" },
      ...{ target_agent_id: BOB, task_id: "t-7", state: "completed", status: 200 },
    });
  });

  it("asks the agent's standing", async () => {
    const server = await openServer(
      delegationFiles({ policies: { identity: { lifecycle_auth: "open" } } }),
    );
    const headers = { "Agent-ID": ALICE };
    await server.send({ method: "DEACTIVATE", headers, body: { agent_id: BOB } });
    const reply = await delegate(server);
    expect(reply.body["sub_agent"]).toMatchObject({ status: 503 });
  });
});

// AGTP "DELEGATE", AGTP "Status Codes" (551)
describe("a chain of delegations", () => {
  const shared = shareServer(files);
  const onTo = (target: string, task: unknown, scopes: readonly string[]) => ({
    method: "DELEGATE",
    parameters: delegation({ target, task, scopes }),
  });

  it("is recorded hop by hop", async () => {
    const task = onTo(CAROL, BOOKING, ["booking:room"]);
    const reply = await delegate(shared(), { task, scopes: ["booking:room", "booking:read"] });
    expect(reply.status).toBe(200);
    const [bob] = recordOf(reply).payload["prior_actions"] as readonly { audit_id: string }[];
    const record = await recordAt(shared(), bob?.audit_id);
    expect(record).toMatchObject({ agent_id: BOB, method: "DELEGATE" });
    const [carol] = record["prior_actions"] as readonly { audit_id: string }[];
    expect(await recordAt(shared(), carol?.audit_id)).toMatchObject({
      ...{ agent_id: CAROL, method: "BOOK" },
      delegation_chain: [
        { agent_id: ALICE, target_agent_id: BOB },
        { agent_id: BOB, target_agent_id: CAROL, authority_scope: ["booking:room"] },
      ],
    });
  });

  it("grows narrower with every hop", async () => {
    const task = onTo(CAROL, BOOKING, ["booking:room"]);
    const same = await delegate(shared(), { task });
    expect(same.body["sub_agent"]).toMatchObject({ status: 262 });
    const wider = onTo(CAROL, BOOKING, ["booking:*"]);
    const reply = await delegate(shared(), { task: wider, scopes: ["booking:room"] });
    expect(reply.body["sub_agent"]).toMatchObject({ status: 262 });
  });

  it("does not come back to who has handed on", async () => {
    const self = await delegate(shared(), { target: ALICE });
    expect(refusalOf(self)).toEqual([551, "authority-chain-broken", "loop"]);
    expect(self.body["link"]).toEqual({ index: 0, agent_id: ALICE, target_agent_id: ALICE });
    const back = await delegate(shared(), { task: onTo(ALICE, BOOKING, []) });
    expect(refusalOf(back)).toEqual([551, "authority-chain-broken", "chain"]);
    expect(back.body["link"]).toEqual({ index: 1, agent_id: BOB, target_agent_id: ALICE });
  });

  it("has an end", async () => {
    const server = await openServer(delegationFiles({ delegation: { max_depth: 1 } }));
    const task = onTo(CAROL, { action: "QUERY /counts" }, []);
    const reply = await delegate(server, { task });
    expect(refusalOf(reply)).toEqual([551, "authority-chain-broken", "chain"]);
    expect(reply.body["sub_agent"]).toMatchObject({ error: { reason: "depth" } });
  });

  it("believes no token that is not a peer's, and none that is handed in sideways", async () => {
    const more = { delegation_token: "a.b.c" };
    expect(refusalOf(await delegate(shared(), { more }))).toEqual([
      ...[551, "authority-chain-broken", "malformed"],
    ]);
    const inner = { ...delegation({ target: CAROL, scopes: [] }), ...more };
    const task = { method: "DELEGATE", parameters: inner };
    const reply = await delegate(shared(), { task });
    expect(reply.body["sub_agent"]).toMatchObject({ error: { reason: "not-first-hand" } });
  });
});

describe("the deadline of a delegation", () => {
  it("has passed", async () => {
    const server = await openServer(files);
    for (const deadline of ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00+02:00"]) {
      const reply = await delegate(server, { more: { deadline } });
      expect(refusalOf(reply)).toEqual([550, "delegation-failed", "deadline"]);
      expect(reply.body["outcome"]).toBe("not-begun");
    }
  });

  it.each([0.05, "PT1S"])("ends what takes longer: %j", async (deadline) => {
    const server = await openServer(files);
    const task = { method: "EXECUTE", path: "/waits" };
    const reply = await delegate(server, { task, more: { deadline } });
    expect(refusalOf(reply)).toEqual([550, "delegation-failed", "deadline"]);
    expect(reply.body["outcome"]).toBe("unknown");
  });

  it("is no later than somebody waits", async () => {
    const server = await openServer(delegationFiles({ limits: { handler_timeout_ms: 50 } }));
    const task = { method: "EXECUTE", path: "/waits" };
    const reply = await delegate(server, { task, more: { deadline: "1h" } });
    expect(reply.status).toBe(550);
  });
});

describe("the callback of a delegation", () => {
  it.each([
    "https://evil.example/hook",
    "http://127.0.0.1:1/",
    "agtp://elsewhere.example/",
    "file:///etc/passwd",
    "RECEIVE /nowhere",
    "NOTIFY /",
    "somewhere",
    { url: "https://evil.example" },
  ])("is never fetched: %j", async (callback) => {
    const server = await openServer(files);
    const { status, body } = await delegate(server, { more: { callback } });
    expect(status).toBe(422);
    expect(body["error"]?.["details"]?.["errors"]).toMatchObject([{ path: "/callback" }]);
    const headers = { "Agent-ID": ALICE };
    const counted = await server.send({ method: "QUERY", path: "/counts", headers });
    expect(counted.body["count"]).toBe(0);
  });
});
