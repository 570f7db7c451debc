import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Peer } from "../../../src/dispatch/caller/peer.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { openServer, shareServer, type TestServer } from "../../support/dispatch.ts";
import { makeCertificate } from "../../support/hosted-agents.ts";
import { JUDGE, NORA, negotiationFiles, OPAL, OTTO, propose } from "../../support/negotiation.ts";
import { PATIENCE } from "../../support/patience.ts";
import { ServingNodes } from "../../support/serving-nodes.ts";
import {
  askAs,
  callWithin,
  refusalOf,
  resultOf,
  resumption,
  suspension,
} from "../../support/waiting.ts";

const STRANGER = "e".repeat(64);
const identity = { inspect_acl: "public", unknown_agents: "accept" };
const FILES = negotiationFiles({ policies: { identity } });
const shared = shareServer(FILES);

let sessions = 0;
/** A session that no other test knows. */
function newSession(): string {
  sessions += 1;
  return `session-${sessions}`;
}

async function suspended(
  server: TestServer,
  session: string,
  changes = {},
  peer: Partial<Peer> = {},
): Promise<string> {
  const reply = await askAs(server, NORA, suspension(session, changes), peer);
  expect(reply.status).toBe(200);
  return resultOf(reply, "resumption_nonce");
}

function certified(serialNumber: string): Partial<Peer> {
  return { certificate: makeCertificate({ serialNumber, agent: { agentId: NORA } }) };
}

afterEach(() => {
  vi.useRealTimers();
});

// AGTP "SUSPEND"
describe("SUSPEND of a session", () => {
  it("answers with a nonce of 256 bits, and until when it works", async () => {
    const session = newSession();
    const resumeBy = new Date(Date.now() + 60_000).toISOString();
    const request = suspension(session, { resume_by: resumeBy });
    const reply = await askAs(shared(), NORA, request);
    expect(reply.body["result"]).toEqual({
      suspension_id: expect.stringMatching(/^sus-[0-9a-f-]{36}$/),
      session_id: session,
      status: "suspended",
      reason: "awaiting_input",
      resumption_nonce: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      suspended_at: expect.any(String),
      resume_by: resumeBy,
      resume: { method: "RESUME", path: "/" },
    });
    expect(reply.headers.get("cache-control")).toBe("no-store");
  });

  it("refuses requests in the session, wherever they name it, until it is resumed", async () => {
    const session = newSession();
    expect((await askAs(shared(), NORA, callWithin(session))).status).toBe(200);
    const nonce = await suspended(shared(), session);
    const refused = await askAs(shared(), NORA, callWithin(session));
    expect(refusalOf(refused)).toEqual([409, "session-suspended"]);
    const body = { session_id: session, parameters: { subject: "barn" } };
    const enveloped = await askAs(shared(), NORA, { method: "QUERY", path: "/facts", body });
    expect(refusalOf(enveloped)).toEqual([409, "session-suspended"]);
    const again = await askAs(shared(), NORA, suspension(session));
    expect(refusalOf(again)).toEqual([409, "session-suspended"]);
    expect((await askAs(shared(), NORA, callWithin(newSession()))).status).toBe(200);
    await askAs(shared(), NORA, resumption(nonce));
    expect((await askAs(shared(), NORA, callWithin(session))).status).toBe(200);
  });

  it("takes the session of the header where no parameter names one", async () => {
    const session = newSession();
    const headers = { "Session-ID": session };
    const reply = await askAs(shared(), NORA, { method: "SUSPEND", headers, body: {} });
    expect(resultOf(reply, "session_id")).toBe(session);
  });

  it("suspends nobody else's session, and does not say that there is one", async () => {
    const [own, held] = [newSession(), newSession()];
    await askAs(shared(), NORA, callWithin(own));
    await suspended(shared(), held);
    for (const session of [own, held]) {
      const reply = await askAs(shared(), OTTO, suspension(session));
      expect(refusalOf(reply)).toEqual([404, "record-not-found"]);
      const used = await askAs(shared(), OTTO, callWithin(session));
      expect(refusalOf(used)).toEqual([401, "session-mismatch"]);
    }
    expect((await askAs(shared(), NORA, callWithin(own))).status).toBe(200);
  });

  it("keeps nothing for agents that the server does not know", async () => {
    const session = newSession();
    const reply = await askAs(shared(), STRANGER, suspension(session));
    expect(refusalOf(reply)).toEqual([262, "credentials-missing"]);
    expect((await askAs(shared(), NORA, callWithin(session))).status).toBe(200);
  });

  it.each([
    { session_id: undefined },
    { session_id: "a b" },
    { session_id: 7 },
    { reason: "tired" },
    { resume_by: "2020-01-01T00:00:00Z" },
    { resume_by: "later" },
    { checkpoint: "x".repeat(65_536) },
  ])("answers 422 for %j", async (changes) => {
    const reply = await askAs(shared(), NORA, suspension(newSession(), changes));
    expect(refusalOf(reply)).toEqual([422, "schema-validation-failed"]);
  });

  it("is not there where the method policy admits no RESUME", async () => {
    const policies = { methods: { allow: ["QUERY"] } };
    const server = await openServer(negotiationFiles({ policies }));
    expect(refusalOf(await askAs(server, NORA, suspension("s-1")))).toEqual([
      501,
      "not-implemented",
    ]);
    expect((await askAs(server, NORA, callWithin("s-1"))).status).toBe(200);
  });

  it("takes no more than an agent may have", async () => {
    const server = await openServer(FILES);
    for (let count = 0; count < 64; count += 1) await suspended(server, `s-${count}`);
    const reply = await askAs(server, NORA, suspension("s-64"));
    expect(refusalOf(reply)).toEqual([429, "rate-limited"]);
    expect((await askAs(server, NORA, callWithin("s-64"))).status).toBe(200);
    expect((await askAs(server, OTTO, suspension("t-1"))).status).toBe(200);
  });

  it("never shows the nonce again, not even under the same Idempotency-Key", async () => {
    const server = await openServer(FILES);
    const headers = { "Idempotency-Key": "suspend-1" };
    const request = { ...suspension("s-1"), headers };
    const nonce = resultOf(await askAs(server, NORA, request), "resumption_nonce");
    const again = await askAs(server, NORA, request);
    expect(refusalOf(again)).toEqual([409, "idempotency-response-not-kept"]);
    const kept = await server.state.store.list("idempotency-responses");
    expect(JSON.stringify(kept)).not.toContain(nonce);
    expect((await askAs(server, NORA, resumption(nonce))).status).toBe(200);
  });
});

// AGTP "SUSPEND"
describe("RESUME", () => {
  it("answers with the checkpoint", async () => {
    const session = newSession();
    const nonce = await suspended(shared(), session);
    const request = {
      ...resumption(nonce, { session_id: session }),
      headers: { "Session-ID": session },
    };
    const reply = await askAs(shared(), NORA, request);
    expect(reply.status).toBe(200);
    expect(reply.body["result"]).toMatchObject({
      session_id: session,
      status: "resumed",
      reason: "awaiting_input",
      checkpoint: { step: 3 },
    });
  });

  it("works once with a nonce, also for those who come at the same moment", async () => {
    const nonce = await suspended(shared(), newSession());
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => askAs(shared(), NORA, resumption(nonce))),
    );
    const codes = replies.map(refusalOf);
    expect(codes.filter(([status]) => status === 200)).toHaveLength(1);
    const reused = codes.filter(([status, code]) => status === 409 && code === "nonce-reused");
    expect(reused).toHaveLength(7);
  });

  it("takes another nonce, another's and another session for unknown", async () => {
    const session = newSession();
    const nonce = await suspended(shared(), session);
    const attempts = [
      askAs(shared(), NORA, resumption("A".repeat(43))),
      askAs(shared(), NORA, resumption(nonce, { session_id: newSession() })),
      askAs(shared(), NORA, resumption(nonce, { suspension_id: "sus-0" })),
      askAs(shared(), OTTO, resumption(nonce)),
    ];
    for (const reply of await Promise.all(attempts)) {
      expect(refusalOf(reply)).toEqual([404, "record-not-found"]);
    }
    const stranger = await askAs(shared(), STRANGER, resumption(nonce));
    expect(refusalOf(stranger)).toEqual([262, "credentials-missing"]);
    const inside = { ...resumption(nonce), headers: { "Session-ID": session } };
    expect(refusalOf(await askAs(shared(), OTTO, inside))).toEqual([401, "session-mismatch"]);
    expect((await askAs(shared(), NORA, resumption(nonce))).status).toBe(200);
  });

  it("is asked for a nonce", async () => {
    const reply = await askAs(shared(), NORA, { method: "RESUME", body: { session_id: "s" } });
    expect(reply.status).toBe(422);
    const nobody = await askAs(shared(), undefined, resumption("n"));
    expect(refusalOf(nobody)).toEqual([262, "credentials-missing"]);
  });

  it("does not let a header take over the session of a certificate", async () => {
    const session = newSession();
    const nonce = await suspended(shared(), session, {}, certified("1f"));
    expect((await askAs(shared(), NORA, resumption(nonce))).status).toBe(404);
    expect(refusalOf(await askAs(shared(), NORA, callWithin(session)))).toEqual([
      401,
      "session-mismatch",
    ]);
    const renewed = certified("20");
    expect((await askAs(shared(), NORA, resumption(nonce), renewed)).status).toBe(200);
    expect((await askAs(shared(), NORA, callWithin(session), renewed)).status).toBe(200);
    expect((await askAs(shared(), NORA, callWithin(session), certified("1f"))).status).toBe(401);
  });

  it("comes too late after resume_by, and ends what was negotiated for the session", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
    const server = await openServer(FILES);
    const inSession = { headers: { "Session-ID": "s-1" } };
    const approved = await askAs(server, NORA, { ...propose(JUDGE), ...inSession });
    const persistent = { ...propose({ ...JUDGE, path: "/rulings" }, { persistent: true }) };
    const lasting = await askAs(server, NORA, { ...persistent, ...inSession });
    expect([approved.status, lasting.status]).toEqual([263, 263]);
    const nonce = await suspended(server, "s-1", { resume_by: "PT1M" });
    vi.setSystemTime(Date.now() + 60_000);
    const late = await askAs(server, NORA, resumption(nonce));
    expect(refusalOf(late)).toEqual([408, "session-expired"]);
    // A clock that steps back does not make it come in time.
    vi.setSystemTime(Date.now() - 120_000);
    expect(refusalOf(await askAs(server, NORA, resumption(nonce)))).toEqual([
      408,
      "session-expired",
    ]);
    vi.setSystemTime(Date.now() + 120_000);
    const used = await askAs(server, NORA, callWithin("s-1"));
    expect(refusalOf(used)).toEqual([408, "session-expired"]);
    await vi.advanceTimersByTimeAsync(30_000);
    const list = { method: "DISCOVER", path: "/contracts" };
    const left = await vi.waitFor(async () => {
      const { body } = await askAs(server, NORA, list);
      expect(body).toHaveLength(1);
      return body;
    }, PATIENCE);
    expect(left).toMatchObject([{ synthesis_id: lasting.body["synthesis_id"] }]);
    const inspect = { method: "INSPECT", body: { target: "lifecycle", agent_id: NORA, limit: 1 } };
    const events = (await askAs(server, NORA, inspect)).body["result"]?.["events"];
    expect(events).toMatchObject([
      { payload: { event_type: "rcns_release", reason: "session-expired", session_id: "s-1" } },
    ]);
  });
});

// AGTP "Sessions"
describe("REVOKE of a session", () => {
  const revoke = (session: string) => ({
    method: "REVOKE",
    body: { target: "session", session_id: session, reason: "done" },
  });

  it("closes it for good, with what was negotiated for it", async () => {
    const server = await openServer(FILES);
    const inSession = { headers: { "Session-ID": "s-1" } };
    await askAs(server, NORA, { ...propose(JUDGE), ...inSession });
    const nonce = await suspended(server, "s-1");
    const reply = await askAs(server, NORA, revoke("s-1"));
    expect(reply.body["result"]).toEqual({ session_id: "s-1", status: "ended", reason: "done" });
    const attempts = [resumption(nonce), callWithin("s-1")];
    for (const request of attempts) {
      expect(refusalOf(await askAs(server, NORA, request))).toEqual([409, "session-ended"]);
    }
    const list = await askAs(server, NORA, { method: "DISCOVER", path: "/contracts" });
    expect(list.body).toEqual([]);
    const again = await askAs(server, NORA, revoke("s-1"));
    expect(again.body["result"]).toMatchObject({ status: "ended", noop: true });
  });

  it("is for its agent, and for operators", async () => {
    const [own, other] = [newSession(), newSession()];
    await askAs(shared(), NORA, callWithin(own));
    await askAs(shared(), NORA, callWithin(other));
    expect((await askAs(shared(), OTTO, revoke(own))).status).toBe(404);
    expect((await askAs(shared(), NORA, revoke(own))).status).toBe(200);
    expect((await askAs(shared(), OPAL, revoke(other))).status).toBe(200);
    expect((await askAs(shared(), NORA, revoke(newSession()))).status).toBe(404);
  });

  it("closes one that has just begun at another node", async () => {
    const nodes = new ServingNodes({
      ...{ store: createMemoryStore(), files: { served: FILES }, modules: ["tasks", "floor"] },
      ...{ pause: () => Promise.resolve(), now: () => Date.now() },
    });
    await nodes.start();
    const session = `session-${randomUUID()}`;
    expect((await askAs(nodes.answering(0), NORA, callWithin(session))).status).toBe(200);
    const reply = await askAs(nodes.answering(1), NORA, revoke(session));
    expect(reply.body["result"]).toMatchObject({ session_id: session, status: "ended" });
    const within = await askAs(nodes.answering(0), NORA, callWithin(session));
    expect(refusalOf(within)).toEqual([409, "session-ended"]);
  });
});

// AGTP "Sessions"
describe("a session of a certificate", () => {
  it("is ended by no header, and by a renewed certificate", async () => {
    const session = newSession();
    await askAs(shared(), NORA, callWithin(session), certified("1f"));
    const revoke = { method: "REVOKE", body: { target: "session", session_id: session } };
    expect((await askAs(shared(), NORA, revoke)).status).toBe(404);
    expect((await askAs(shared(), NORA, revoke, certified("20"))).status).toBe(200);
  });

  it("that is suspended is suspended to no header", async () => {
    const session = newSession();
    await suspended(shared(), session, {}, certified("1f"));
    expect((await askAs(shared(), NORA, suspension(session))).status).toBe(404);
    const again = await askAs(shared(), NORA, suspension(session), certified("1f"));
    expect(refusalOf(again)).toEqual([409, "session-suspended"]);
  });
});

// AGTP "Sessions"
describe("INSPECT of a session", () => {
  const inspect = (session: string) => ({
    method: "INSPECT",
    body: { target: "session", session_id: session },
  });

  it("shows its record to its agent and to operators, and to nobody else", async () => {
    const session = newSession();
    await askAs(shared(), NORA, callWithin(session));
    for (const agentId of [NORA, OPAL]) {
      const reply = await askAs(shared(), agentId, inspect(session));
      expect(reply.body["result"]).toEqual({
        target: "session",
        session_id: session,
        agent_id: NORA,
        state: "active",
        last_activity_at: expect.stringMatching(/Z$/),
      });
    }
    for (const agentId of [OTTO, undefined]) {
      expect((await askAs(shared(), agentId, inspect(session))).status).toBe(404);
    }
    expect((await askAs(shared(), NORA, inspect(newSession()))).status).toBe(404);
    const missing = { method: "INSPECT", body: { target: "session" } };
    expect(refusalOf(await askAs(shared(), NORA, missing))).toEqual([400, "missing-target-id"]);
  });

  it("shows that of a certificate to no header, and to a renewed certificate", async () => {
    const session = newSession();
    await askAs(shared(), NORA, callWithin(session), certified("1f"));
    const statusOf = async (peer: Partial<Peer>): Promise<number> =>
      (await askAs(shared(), NORA, inspect(session), peer)).status;
    expect([await statusOf({}), await statusOf(certified("1f"))]).toEqual([404, 200]);
    expect(await statusOf(certified("20"))).toBe(200);
  });

  it("says how long a suspended one waits", async () => {
    const session = newSession();
    await suspended(shared(), session);
    const reply = await askAs(shared(), NORA, inspect(session));
    expect(reply.body["result"]).toMatchObject({ state: "suspended", reason: "awaiting_input" });
    expect(Date.parse(resultOf(reply, "resume_by"))).toBeGreaterThan(Date.now());
  });
});
