import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { Peer } from "../../../src/dispatch/caller/peer.ts";
import { showEvents } from "../../../src/modules/floor/inspect.ts";
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
  hostedFiles,
  makeCertificate,
  peerWith,
  UNKNOWN,
} from "../../support/hosted-agents.ts";
import { BreakableJournal } from "../../support/ledger.ts";
import { type ReadRecord, recordOf, sha256 } from "../../support/records.ts";
import { openBreakableState } from "../../support/state.ts";

const OPERATOR = peerWith({ key: STRANGER });
const ALICE_PEER = peerWith({ agent: { agentId: ALICE } });

function files(inspect_acl: string, lifecycle_auth = "open") {
  const operator_certificates = [makeCertificate({ key: STRANGER }).spkiFingerprint];
  return hostedFiles({ inspect_acl, lifecycle_auth, operator_certificates });
}

function inspect(
  server: TestServer,
  body: object,
  headers: Readonly<Record<string, string>> = {},
  peer: Partial<Peer> = {},
): Promise<TestReply> {
  return server.send({ method: "INSPECT", headers, body }, peer);
}

/** Something that alice did, and its record. */
async function act(server: TestServer, agent: string = ALICE): Promise<ReadRecord> {
  const headers = { "Agent-ID": agent };
  return recordOf(await server.send({ method: "QUERY", path: "/lists", headers }));
}

function answerOf({ status, body }: TestReply): unknown {
  return [status, body["error"]?.["code"]];
}

const PUBLIC = files("public");

/** Look-ups that end when a test says so. */
class HeldJournal extends BreakableJournal {
  readonly asked: (() => void)[] = [];

  override find(): Promise<string | undefined> {
    return new Promise((resolve) => this.asked.push(() => resolve(undefined)));
  }
}

/** As many as `count` look-ups, or those that there are once nothing else is under way. */
async function heldLookUps({ asked }: HeldJournal, count: number): Promise<number> {
  for (let turns = 0; turns < 100 && asked.length < count; turns += 1) await nextTurn();
  return asked.length;
}

// AGTP "INSPECT"
describe("INSPECT", () => {
  const shared = shareServer(PUBLIC);

  it("answers with a record by its Audit-ID", async () => {
    const server = await openServer(PUBLIC);
    const record = await act(server);
    const reply = await inspect(server, { target: "audit", audit_id: record.auditId });
    expect(reply.body).toEqual({
      status: 200,
      // For chain inspectors of the reference, which look here.
      audit_id: record.auditId,
      jws: record.jws,
      result: {
        target: "audit",
        audit_id: record.auditId,
        jws: record.jws,
        header: record.header,
        payload: record.payload,
        issued_at: record.payload["issued_at"],
      },
    });
    expect(sha256(String(reply.body["result"]?.["jws"]))).toBe(record.auditId);
  });

  it("answers with the end of an agent's chain, by id or name", async () => {
    const server = await openServer(PUBLIC);
    await act(server);
    const record = await act(server);
    await act(server, BOB);
    for (const agent_id of [ALICE, "alice"]) {
      const { body } = await inspect(server, { target: "chain_head", agent_id });
      expect(body["result"]).toEqual({
        target: "chain_head",
        agent_id: ALICE,
        audit_id: record.auditId,
        last_at: record.payload["issued_at"],
      });
    }
  });

  it("answers with the newest lifecycle events first, as signed", async () => {
    const server = await openServer(PUBLIC);
    const ids: unknown[] = [];
    for (const method of ["DEACTIVATE", "REINSTATE", "DEPRECATE"]) {
      const headers = { "Agent-ID": BOB };
      const reply = await server.send({ method, headers, body: { agent_id: ALICE } });
      ids.unshift(reply.body["result"]?.["audit_id"]);
    }
    const { body } = await inspect(server, { target: "lifecycle", agent_id: ALICE });
    const events = Object.values(Object(body["result"]?.["events"])) as Record<string, string>[];
    expect(body["result"]).toMatchObject({ status: "deprecated", event_count: 3 });
    expect(events.map(({ audit_id }) => audit_id)).toEqual(ids);
    expect(events.map(({ jws }) => sha256(jws ?? ""))).toEqual(ids);
    expect(events.map(({ format }) => format)).toEqual(["jws", "jws", "jws"]);
    const one = await inspect(server, { target: "lifecycle", agent_id: ALICE, limit: 1 });
    expect(one.body["result"]?.["event_count"]).toBe(1);
    const all = await inspect(server, { target: "lifecycle", agent_id: ALICE, limit: 1e308 });
    expect(all.body["result"]?.["event_count"]).toBe(3);
  });

  it("decodes each event once, an event a step", () => {
    const part = Buffer.from(JSON.stringify({ event_type: "any" })).toString("base64url");
    const records = Array.from({ length: 300 }, (_, at) => {
      return { auditId: String(at), jws: `${part}.${part}.` };
    });
    const parse = vi.spyOn(JSON, "parse");
    const showing = showEvents(records);
    let most = 0;
    for (let before = 0; showing.next().done !== true; before = parse.mock.calls.length) {
      most = Math.max(most, parse.mock.calls.length - before);
    }
    const decoded = parse.mock.calls.length;
    parse.mockRestore();
    expect([decoded, most]).toEqual([600, 2]);
  });

  it("shows a long stream whole", async () => {
    const server = await openServer(PUBLIC);
    const headers = { "Agent-ID": BOB };
    for (let at = 0; at < 101; at += 1) {
      const method = at % 2 === 0 ? "DEACTIVATE" : "REINSTATE";
      await server.send({ method, headers, body: { agent_id: ALICE } });
    }
    const { body } = await inspect(server, { target: "lifecycle", agent_id: ALICE, limit: 1000 });
    expect(body["result"]).toMatchObject({ status: "suspended", event_count: 101 });
  });

  it("has an empty stream for an agent that nothing happened to", async () => {
    const server = await openServer(PUBLIC);
    const { body } = await inspect(server, { target: "lifecycle", agent_id: BOB });
    expect(body["result"]).toMatchObject({ status: "active", events: [], event_count: 0 });
  });

  it("finds an agent that is not shown to the caller by its id alone, and operators by its name", async () => {
    const operator_certificates = [makeCertificate({ key: STRANGER }).spkiFingerprint];
    const identity = { inspect_acl: "public", operator_certificates };
    const server = await openServer(hostedFiles(identity, { agents: { disclosure: "private" } }));
    await act(server);
    for (const target of ["chain_head", "lifecycle"]) {
      const ask = (agent_id: string, headers = {}, peer = {}) =>
        inspect(server, { target, agent_id }, headers, peer);
      expect((await ask(ALICE)).status).toBe(200);
      const named = await ask("alice");
      expect(named.status).toBe(404);
      expect(named.body).toEqual((await ask("alicf")).body);
      expect((await ask("alice", { "Agent-ID": ALICE })).status).toBe(200);
      expect((await ask("alice", {}, OPERATOR)).status).toBe(200);
    }
  });

  it("asks about the caller where nobody is named", async () => {
    const server = await openServer(PUBLIC);
    const record = await act(server);
    const headers = { "Agent-ID": ALICE };
    const head = await inspect(server, { target: "chain_head" }, headers);
    expect(head.body["result"]).toMatchObject({ agent_id: ALICE, audit_id: record.auditId });
    const stream = await inspect(server, { target: "lifecycle" }, headers);
    expect(stream.body["result"]).toMatchObject({ agent_id: ALICE });
  });

  it.each<[object, number, string]>([
    [{}, 422, "schema-validation-failed"],
    [{ target: "everything" }, 422, "schema-validation-failed"],
    [{ target: 7 }, 422, "schema-validation-failed"],
    [{ target: "audit" }, 400, "missing-audit-id"],
    [{ target: "audit", audit_id: 7 }, 422, "schema-validation-failed"],
    [{ target: "audit", audit_id: "" }, 400, "invalid-audit-id"],
    [{ target: "audit", audit_id: "F".repeat(64) }, 400, "invalid-audit-id"],
    [{ target: "audit", audit_id: "f".repeat(65) }, 400, "invalid-audit-id"],
    [{ target: "audit", audit_id: "f".repeat(900_000) }, 400, "invalid-audit-id"],
    [{ target: "audit", audit_id: `${"f".repeat(63)}\n` }, 400, "invalid-audit-id"],
    [{ target: "audit", audit_id: "0".repeat(64) }, 404, "record-not-found"],
    [{ target: "chain_head" }, 400, "missing-agent-id"],
    [{ target: "chain_head", agent_id: UNKNOWN }, 404, "record-not-found"],
    [{ target: "chain_head", agent_id: "constructor" }, 404, "record-not-found"],
    [{ target: "chain_head", agent_id: ALICE }, 404, "record-not-found"],
    [{ target: "lifecycle" }, 400, "missing-agent-id"],
    [{ target: "lifecycle", agent_id: UNKNOWN }, 404, "agent-not-found"],
    [{ target: "lifecycle", agent_id: "" }, 404, "agent-not-found"],
    [{ target: "lifecycle", agent_id: ALICE, limit: 0 }, 422, "schema-validation-failed"],
    [{ target: "lifecycle", agent_id: ALICE, limit: -1 }, 422, "schema-validation-failed"],
    [{ target: "lifecycle", agent_id: ALICE, limit: 1.5 }, 422, "schema-validation-failed"],
    [{ target: "lifecycle", agent_id: ALICE, limit: "7" }, 422, "schema-validation-failed"],
  ])("answers %j with %i %s", async (body, status, code) => {
    expect(answerOf(await inspect(shared(), body))).toEqual([status, code]);
  });

  it("knows no record that is in no chain", async () => {
    const server = await openServer(PUBLIC);
    const { auditId } = recordOf(await server.send({ method: "DISCOVER" }));
    expect(answerOf(await inspect(server, { target: "audit", audit_id: auditId }))).toEqual([
      404,
      "record-not-found",
    ]);
  });

  it("shows no head of a record that could not be written", async () => {
    const journal = new BreakableJournal();
    const state = await openBreakableState(journal);
    const server = await openServer(PUBLIC, { state });
    const record = await act(server);
    journal.fault = new Error("no space left on device");
    await act(server).catch(() => undefined);
    const { body } = await inspect(server, { target: "chain_head", agent_id: ALICE });
    expect(body["result"]).toMatchObject({ audit_id: record.auditId });
  });
});

type Asker = readonly [who: string, headers: Readonly<Record<string, string>>, peer: Partial<Peer>];

const ANONYMOUS: Asker = ["nobody", {}, {}];
const BY_WORD: Asker = ["the agent, by its word alone", { "Agent-ID": ALICE }, {}];
const ITSELF: Asker = ["the agent", { "Agent-ID": ALICE }, ALICE_PEER];
const OTHER: Asker = ["another agent", { "Agent-ID": BOB }, peerWith({ agent: { agentId: BOB } })];
const PLAIN: Asker = ["a certificate of nobody in particular", {}, peerWith()];
const UNBOUND: Asker = ["the agent, with such a certificate", { "Agent-ID": ALICE }, peerWith()];
const ADMIN: Asker = ["an operator", {}, OPERATOR];
const ADMIN_AS: Asker = ["an operator who names an agent", { "Agent-ID": BOB }, OPERATOR];

// AGTP "INSPECT", access control
describe("inspect_acl", () => {
  const servers = new Map(
    ["public", "agent_only", "operator_only"].map((acl) => [
      acl,
      shareServer(files(acl, "genesis_issuer")),
    ]),
  );
  it.each<[string, Asker, number]>([
    ["public", ANONYMOUS, 200],
    ["public", BY_WORD, 200],
    ["public", OTHER, 200],
    ["agent_only", ANONYMOUS, 401],
    ["agent_only", BY_WORD, 401],
    ["agent_only", ITSELF, 200],
    ["agent_only", OTHER, 403],
    ["agent_only", PLAIN, 401],
    ["agent_only", UNBOUND, 401],
    ["agent_only", ADMIN, 200],
    ["agent_only", ADMIN_AS, 200],
    ["operator_only", ANONYMOUS, 401],
    ["operator_only", BY_WORD, 401],
    ["operator_only", ITSELF, 403],
    ["operator_only", OTHER, 403],
    ["operator_only", PLAIN, 403],
    ["operator_only", ADMIN, 200],
    ["operator_only", ADMIN_AS, 200],
  ])("%s: %s is answered %s", async (acl, [, headers, peer], status) => {
    const server = servers.get(acl)?.();
    if (server === undefined) throw new Error("no such server");
    const { auditId } = await act(server);
    for (const body of [
      { target: "audit", audit_id: auditId },
      { target: "chain_head", agent_id: ALICE },
      { target: "chain_head", agent_id: "alice" },
      { target: "lifecycle", agent_id: ALICE },
    ]) {
      const reply = await inspect(server, body, headers, peer);
      expect([body.target, reply.status]).toEqual([body.target, status]);
      if (status === 200) continue;
      expect(reply.body["acl"]).toBe(acl);
      expect(reply.body["result"]).toBeUndefined();
      if (status === 401) expect(reply.body["reason"]).toBe("acl-anonymous-blocked");
      // Neither whom it is about, nor who may look at it.
      const own = headers["Agent-ID"];
      const ids = [ALICE, BOB].filter((id) => id !== own);
      for (const id of [...ids, OPERATOR.certificate?.spkiFingerprint ?? ""]) {
        expect(reply.text).not.toContain(id);
      }
    }
  });

  it("tells whoever is turned away nothing of which records and agents there are", async () => {
    const server = await openServer(files("operator_only", "genesis_issuer"));
    const { auditId } = await act(server);
    const [, headers, peer] = OTHER;
    const pairs = [
      [
        { target: "chain_head", agent_id: ALICE },
        { target: "chain_head", agent_id: UNKNOWN },
      ],
      [
        { target: "lifecycle", agent_id: ALICE },
        { target: "lifecycle", agent_id: UNKNOWN },
      ],
    ];
    for (const [known, unknown] of pairs) {
      const replies = [
        await inspect(server, known ?? {}, headers, peer),
        await inspect(server, unknown ?? {}, headers, peer),
      ];
      expect(replies[1]?.text).toBe(replies[0]?.text);
    }
    const missing = { target: "audit", audit_id: sha256(auditId) };
    expect((await inspect(server, missing)).status).toBe(401);
  });

  // docs/limits.md "Slices": each is a walk through all segments where no record has the id.
  it("looks for few records at once, and for no caller more than half of them", async () => {
    const journal = new HeldJournal();
    const server = await openServer(PUBLIC, { state: await openBreakableState(journal) });
    const ask = (number: number, agent: string): Promise<TestReply> => {
      const question = { target: "audit", audit_id: sha256(`${agent} ${number}`) };
      return inspect(server, question, { "Agent-ID": agent });
    };
    const answers = [1, 2, 3, 4, 5].map((number) => ask(number, ALICE));
    expect(await heldLookUps(journal, 3)).toBe(2);
    answers.push(...[1, 2, 3].map((number) => ask(number, BOB)));
    expect(await heldLookUps(journal, 5)).toBe(4);
    for (let ended = 0; ended < answers.length; ended += 1) {
      await heldLookUps(journal, ended + 1);
      journal.asked[ended]?.();
    }
    for (const answer of answers) expect((await answer).status).toBe(404);
  });
});
