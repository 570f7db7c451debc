/** Calls that wait for an operator: one approval, one call. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { canonicalDigest } from "../../../src/identity/canonical-form.ts";
import {
  ALMA,
  approvedFor,
  approvingFiles,
  BORIS,
  booking,
  decide,
  OLGA,
  OPERATOR,
  questionOf,
  ranIn,
  under,
} from "../../support/approving.ts";
import { openServer, type TestReply } from "../../support/dispatch.ts";
import { readJws, recordOf } from "../../support/records.ts";
import { askAs, confirmation, refusalOf } from "../../support/waiting.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function open(
  approvals: readonly object[] = [],
  tables: Readonly<Record<string, object>> = {},
  more: Readonly<Record<string, string>> = {},
) {
  return openServer({ ...(await approvingFiles(approvals, tables)), ...more });
}

function codeOf({ body }: TestReply): string {
  return String(body["error"]?.["code"]);
}

describe("a call that needs an approval", () => {
  it("is answered 262 with what has to be approved, and nothing runs", async () => {
    const server = await open();
    const reply = await askAs(server, ALMA, booking("7"));
    expect(refusalOf(reply)).toEqual([262, "approval-required"]);
    const { escalation_id: id, call_digest: digest, expires_at: expires } = reply.body;
    expect(String(id)).toMatch(/^esc-/);
    expect(String(digest)).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(Date.parse(String(expires)) - Date.now()).toBeGreaterThan(3_500_000);
    expect(ranIn(server)).toEqual([]);
  });

  it("is shown whole to operators, and its digest is taken over what is shown", async () => {
    const server = await open();
    const asked = await askAs(server, ALMA, booking("7"));
    const poll = { method: "QUERY", path: `/escalations/${asked.body["escalation_id"]}` };
    const { body } = await askAs(server, undefined, poll, OPERATOR);
    const result: TestReply["body"] = body["result"] ?? {};
    const { context, kind, call_digest: digest } = result;
    expect(kind).toBe("approval");
    const call: TestReply["body"] = context?.["call"] ?? {};
    expect(call).toEqual({
      ...{ agent: ALMA, principal: null, method: "BOOK", path: "/rooms/7" },
      input: { room: "7", guest: "Ada" },
      endpoint_version: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      policy_version: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      ...{ expires_at: asked.body["expires_at"], nonce: expect.any(String) },
    });
    expect(canonicalDigest(call)).toBe(String(digest));
    expect(digest).toBe(asked.body["call_digest"]);
  });

  it("runs once with the approval, and the record of it names the escalation", async () => {
    const server = await open();
    const id = await approvedFor(server, booking("7"));
    const reply = await askAs(server, ALMA, under(id, booking("7")));
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ booked: "7" });
    expect(recordOf(reply).payload).toMatchObject({ escalation_id: id, status: 200 });
    expect(ranIn(server)).toEqual(["book 7 Ada"]);
    const again = await askAs(server, ALMA, under(id, booking("7")));
    expect(refusalOf(again)).toEqual([409, "approval-used"]);
    expect(again.body).toMatchObject({
      ...{ outcome: "answered", outcome_status: 200, escalation_id: id },
      audit_id: reply.headers.get("audit-id"),
    });
    expect(recordOf(again).payload).toMatchObject({ escalation_id: id, status: 409 });
    expect(ranIn(server)).toHaveLength(1);
  });

  it("can be approved though the clock has stepped back, and is over once its time was over", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const server = await open();
    const step = (hours: number) => vi.setSystemTime(Date.now() + hours * 3_600_000);
    expect((await askAs(server, ALMA, { method: "DISCOVER", path: "/agents" })).status).toBe(200);
    step(-2);
    const id = await approvedFor(server, booking("7"));
    expect((await askAs(server, ALMA, under(id, booking("7")))).status).toBe(200);
    const given = await approvedFor(server, booking("8"));
    const asked = await questionOf(server, booking("9"));
    for (const hours of [4, -4]) {
      step(hours);
      for (const [late, room] of [
        [given, "8"],
        [asked, "9"],
      ] as const) {
        const reply = await askAs(server, ALMA, under(late, booking(room)));
        expect(codeOf(reply)).toBe("approval-expired");
      }
    }
    expect(ranIn(server)).toEqual(["book 7 Ada"]);
  });

  it("waits while nobody has decided, and while it is deferred", async () => {
    const server = await open();
    const id = await questionOf(server, booking("7"));
    expect(codeOf(await askAs(server, ALMA, under(id, booking("7"))))).toBe("approval-required");
    await decide(server, id, "deferred");
    const reply = await askAs(server, ALMA, under(id, booking("7")));
    expect(refusalOf(reply)).toEqual([262, "approval-required"]);
    expect(reply.body).toMatchObject({ escalation_id: id, escalation_status: "deferred" });
    expect(recordOf(reply).payload).toMatchObject({ escalation_id: id });
    expect(ranIn(server)).toEqual([]);
  });

  it("is one question however often it is asked, and another for another input", async () => {
    const server = await open();
    const id = await questionOf(server, booking("7"));
    expect(await questionOf(server, booking("7"))).toBe(id);
    expect(await questionOf(server, booking("8"))).not.toBe(id);
    const ids = await Promise.all(
      Array.from({ length: 5 }, () => questionOf(server, booking("9"))),
    );
    expect(new Set(ids).size).toBe(1);
    await decide(server, id, "accepted");
    expect(await questionOf(server, booking("7"))).toBe(id);
    await askAs(server, ALMA, under(id, booking("7")));
    expect(await questionOf(server, booking("7"))).not.toBe(id);
  });

  it("does not have its task wait: the task may ask again", async () => {
    const server = await open();
    const headers = { "Task-ID": "t-1" };
    const id = await questionOf(server, booking("7", { headers }));
    const again = await askAs(server, ALMA, under(id, booking("7", { headers })));
    expect(refusalOf(again)).toEqual([262, "approval-required"]);
  });

  it.each([
    ["a missing scope", { headers: { "Authority-Scope": "rcns:negotiate" } }, 455],
    ["a malformed input", { body: { guest: 7 } }, 422],
    ["a path that is none", { path: "/rooms" }, 404],
  ] as const)("is put before nobody where it is refused for %s", async (_, changes, status) => {
    const server = await open();
    expect((await askAs(server, ALMA, booking("7", changes))).status).toBe(status);
    expect(server.state.escalations.list()).toEqual([]);
  });

  it("is not taken from strangers, who could fill the queue", async () => {
    const server = await open([], { policies: { identity: { unknown_agents: "accept" } } });
    const headers = { "Authority-Scope": "booking:room" };
    const reply = await askAs(server, "e".repeat(64), booking("7", { headers }));
    expect(refusalOf(reply)).toEqual([262, "credentials-missing"]);
    expect(server.state.escalations.list()).toEqual([]);
  });

  it("is bounded per caller, and leaves others their share", async () => {
    const server = await open();
    for (let room = 0; room < 64; room += 1) await questionOf(server, booking(`r${room}`));
    const over = await askAs(server, ALMA, booking("over"));
    expect(refusalOf(over)).toEqual([429, "rate-limited"]);
    await questionOf(server, booking("7"), BORIS);
  });

  it("is refused where it is longer than anybody reads", async () => {
    const server = await open();
    const guest = "x".repeat(40_000);
    const reply = await askAs(server, ALMA, booking("7", { body: { guest } }));
    expect(refusalOf(reply)).toEqual([422, "schema-validation-failed"]);
    expect(server.state.escalations.list()).toEqual([]);
  });

  it("is refused where it has no canonical form", async () => {
    const server = await open();
    const body = '{"guest":"\\ud800"}';
    const reply = await askAs(server, ALMA, booking("7", { body }));
    expect(reply.status).toBe(422);
    expect(server.faults).toEqual([]);
  });
});

describe("an approval", () => {
  it.each([
    ["another agent", BORIS, booking("7"), []],
    ["another path", ALMA, booking("8"), ["path", "input"]],
    ["another input", ALMA, booking("7", { body: { guest: "Bob" } }), ["input"]],
    ["another method", ALMA, booking("7", { method: "RESERVE" }), ["method"]],
  ] as const)("is not for %s, and is not used up by it", async (_, agent, request, members) => {
    const server = await open([{ method: "RESERVE", approval: "operator" }]);
    const id = await approvedFor(server, booking("7"));
    const reply = await askAs(server, agent, under(id, request));
    expect(refusalOf(reply)).toEqual([409, "approval-mismatch"]);
    expect(recordOf(reply).payload).toMatchObject({ escalation_id: id, status: 409 });
    expect(reply.body["mismatched"] ?? []).toEqual(expect.arrayContaining([...members]));
    expect(ranIn(server)).toEqual([]);
    expect((await askAs(server, ALMA, under(id, booking("7")))).status).toBe(200);
  });

  it("is the same for the same call written otherwise", async () => {
    const server = await open();
    const id = await approvedFor(server, booking("7"));
    const body = { method: "BOOK", parameters: { guest: "Ada" } };
    expect((await askAs(server, ALMA, under(id, booking("7", { body })))).status).toBe(200);
  });

  it.each(["esc-0", "esc-0197a3f0-0000-7000-8000-000000000000"])(
    "that there is not, is a mismatch: %s",
    async (id) => {
      const server = await open();
      const reply = await askAs(server, ALMA, under(id, booking("7")));
      expect(refusalOf(reply)).toEqual([409, "approval-mismatch"]);
    },
  );

  it("is no other escalation", async () => {
    const server = await open();
    const body = { task_id: "t", reason: "scope_limit", context: { q: "?" } };
    const asked = await askAs(server, ALMA, { method: "ESCALATE", body });
    const id = String(asked.body["result"]?.["escalation_id"]);
    await decide(server, id, "accepted");
    const reply = await askAs(server, ALMA, under(id, booking("7")));
    expect(refusalOf(reply)).toEqual([409, "approval-mismatch"]);
  });

  it("is refused with 403 where an operator said no", async () => {
    const server = await open();
    const id = await questionOf(server, booking("7"));
    await askAs(server, undefined, confirmation(id, "rejected", { reason: "too dear" }), OPERATOR);
    const reply = await askAs(server, ALMA, under(id, booking("7")));
    expect(refusalOf(reply)).toEqual([403, "approval-rejected"]);
    expect(reply.body).toMatchObject({ explanation: "too dear", escalation_id: id });
    expect(recordOf(reply).payload).toMatchObject({ escalation_id: id, status: 403 });
  });

  it("can be taken back until it is used, and not after", async () => {
    const server = await open();
    const taken = await approvedFor(server, booking("7"));
    expect((await decide(server, taken, "rejected")).status).toBe(200);
    const refused = await askAs(server, ALMA, under(taken, booking("7")));
    expect(refusalOf(refused)).toEqual([403, "approval-rejected"]);
    expect(ranIn(server)).toEqual([]);
    const used = await approvedFor(server, booking("7"));
    expect((await askAs(server, ALMA, under(used, booking("7")))).status).toBe(200);
    const late = await decide(server, used, "rejected");
    expect(refusalOf(late)).toEqual([409, "decision-conflict"]);
  });

  it.each(["before", "after"])("is over when its time is, %s a word", async (when) => {
    const server = await open([{ path: "/rooms/{room}", approval: "operator", ttl_seconds: 60 }]);
    const id = await questionOf(server, booking("7"));
    if (when === "after") await decide(server, id, "accepted");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    const reply = await askAs(server, ALMA, under(id, booking("7")));
    expect(refusalOf(reply)).toEqual([409, "approval-expired"]);
    expect(recordOf(reply).payload).toMatchObject({ escalation_id: id });
    expect(await questionOf(server, booking("7"))).not.toBe(id);
  });

  it("is used up by a call that fails, and its failure is told", async () => {
    const server = await open();
    for (const [path, status] of [
      ["/full/7", 422],
      ["/broken/7", 500],
    ] as const) {
      const id = await approvedFor(server, booking("7", { path }));
      const reply = await askAs(server, ALMA, under(id, booking("7", { path })));
      expect(reply.status).toBe(status);
      const again = await askAs(server, ALMA, under(id, booking("7", { path })));
      expect(again.body).toMatchObject({ outcome: "answered", outcome_status: status });
    }
    expect(ranIn(server)).toEqual(["fail 7", "throwing 7"]);
  });

  it("runs one of many calls that bring it at once", async () => {
    const server = await open();
    const id = await approvedFor(server, booking("7"));
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => askAs(server, ALMA, under(id, booking("7")))),
    );
    const answered = replies.filter(({ status }) => status === 200);
    expect(answered).toHaveLength(1);
    expect(replies.filter((one) => codeOf(one) === "approval-used")).toHaveLength(49);
    expect(ranIn(server)).toHaveLength(1);
  });

  it("is nothing to a call that needs none", async () => {
    const server = await open();
    const request = { method: "QUERY", path: "/free/7", body: {} };
    expect((await askAs(server, ALMA, under("esc-1", request))).status).toBe(200);
  });
});

describe("the decision on a call", () => {
  it("is an operator's certificate alone, and neither a scope's nor the caller's", async () => {
    const server = await open();
    const id = await questionOf(server, booking("7"));
    const poll = { method: "QUERY", path: `/escalations/${id}` };
    expect((await askAs(server, OLGA, poll)).status).toBe(200);
    for (const agent of [ALMA, BORIS, OLGA]) {
      const reply = await askAs(server, agent, confirmation(id, "accepted"));
      expect(refusalOf(reply)).toEqual([403, "confirmation-forbidden"]);
    }
    const own = await askAs(server, ALMA, confirmation(id, "accepted"), OPERATOR);
    expect(refusalOf(own)).toEqual([403, "confirmation-forbidden"]);
    expect((await decide(server, id, "accepted")).status).toBe(200);
  });

  it("is recorded with the digest and the operator in the chain of the agent", async () => {
    const server = await open();
    const asked = await askAs(server, ALMA, booking("7"));
    const id = String(asked.body["escalation_id"]);
    const receipt = await decide(server, id, "accepted");
    const auditId = String(receipt.body["result"]?.["audit_id"]);
    const jws = (await server.state.ledger.find(auditId)) ?? "";
    expect(readJws(jws).payload).toMatchObject({
      ...{ agent_id: ALMA, event_type: "escalation_decided", escalation_id: id },
      ...{ call_digest: asked.body["call_digest"], escalation_status: "accepted" },
      operator: { id: OPERATOR.certificate?.fingerprint, via: "certificate" },
    });
  });
});

describe("an approval and an Idempotency-Key", () => {
  it("answer a call that was answered with the same answer", async () => {
    const server = await open();
    const keyed = booking("7", { headers: { "Idempotency-Key": "k-1" } });
    const id = await approvedFor(server, keyed);
    const first = await askAs(server, ALMA, under(id, keyed));
    expect(first.status).toBe(200);
    const again = await askAs(server, ALMA, under(id, keyed));
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(ranIn(server)).toHaveLength(1);
  });

  it("do not keep that the call waits, or was refused, under the key", async () => {
    const server = await open();
    const keyed = booking("7", { headers: { "Idempotency-Key": "k-1" } });
    const refusedId = await questionOf(server, keyed);
    expect(codeOf(await askAs(server, ALMA, under(refusedId, keyed)))).toBe("approval-required");
    await decide(server, refusedId, "rejected");
    expect(codeOf(await askAs(server, ALMA, under(refusedId, keyed)))).toBe("approval-rejected");
    const id = await approvedFor(server, keyed);
    const done = await askAs(server, ALMA, under(id, keyed));
    expect(done.status).toBe(200);
    expect(done.headers.get("idempotency-replayed")).toBeUndefined();
    expect(ranIn(server)).toEqual(["book 7 Ada"]);
  });

  it("do not keep a refusal of another approval under the key", async () => {
    const server = await open();
    const keyed = booking("7", { headers: { "Idempotency-Key": "k-1" } });
    const other = await approvedFor(server, booking("8"));
    const refused = await askAs(server, ALMA, under(other, keyed));
    expect(codeOf(refused)).toBe("approval-mismatch");
    const id = await approvedFor(server, keyed);
    expect((await askAs(server, ALMA, under(id, keyed))).status).toBe(200);
  });

  it("let one of many with keys of their own run", async () => {
    const server = await open();
    const id = await approvedFor(server, booking("7"));
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) => {
        const headers = { "Idempotency-Key": `k-${at}` };
        return askAs(server, ALMA, under(id, booking("7", { headers })));
      }),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(ranIn(server)).toHaveLength(1);
  });
});

describe("an approval that is used", () => {
  it("is kept before the handler is called", async () => {
    const server = await open();
    const { escalations } = server.state;
    const id = await approvedFor(server, booking("7"));
    const use = escalations.use.bind(escalations);
    let begun: readonly string[] = ["unasked"];
    vi.spyOn(escalations, "use").mockImplementation(async (...args) => {
      begun = ranIn(server);
      return use(...args);
    });
    expect((await askAs(server, ALMA, under(id, booking("7")))).status).toBe(200);
    expect(begun).toEqual([]);
  });

  it("is not, where it cannot be kept: nothing runs, and it is good for the next call", async () => {
    const server = await open();
    const { escalations } = server.state;
    const id = await approvedFor(server, booking("7"));
    vi.spyOn(escalations, "use").mockRejectedValueOnce(new Error("the disk is full"));
    expect((await askAs(server, ALMA, under(id, booking("7")))).status).toBe(500);
    expect(ranIn(server)).toEqual([]);
    expect((await askAs(server, ALMA, under(id, booking("7")))).status).toBe(200);
  });

  it("loses to a word that took it back meanwhile", async () => {
    const server = await open();
    const { escalations } = server.state;
    const id = await approvedFor(server, booking("7"));
    const use = escalations.use.bind(escalations);
    vi.spyOn(escalations, "use").mockImplementationOnce(async (...args) => {
      await decide(server, id, "rejected");
      return use(...args);
    });
    const reply = await askAs(server, ALMA, under(id, booking("7")));
    expect(refusalOf(reply)).toEqual([403, "approval-rejected"]);
    expect(ranIn(server)).toEqual([]);
  });

  it("tells the outcome by the record of the answer, where nothing else is kept of it", async () => {
    const server = await open();
    const { escalations } = server.state;
    const id = await approvedFor(server, booking("7"));
    vi.spyOn(escalations, "settleUse").mockRejectedValueOnce(new Error("killed"));
    const first = await askAs(server, ALMA, under(id, booking("7")));
    await askAs(server, ALMA, { method: "QUERY", path: "/free/7", body: {} });
    const again = await askAs(server, ALMA, under(id, booking("7")));
    expect(again.body).toMatchObject({
      ...{ outcome: "answered", outcome_status: 200 },
      audit_id: first.headers.get("audit-id"),
    });
  });
});

describe("HTTP clients that nobody vouches for", () => {
  it("share what strangers may ask, and take nothing from agents", async () => {
    const server = await open();
    const from = (address: string) => ({ address, speaksAs: ALMA, isAnybody: true });
    for (let room = 0; room < 64; room += 1) {
      const request = booking(`r${room}`);
      expect((await askAs(server, ALMA, request, from(`10.0.0.${room}`))).status).toBe(262);
    }
    expect((await askAs(server, ALMA, booking("over"), from("10.0.1.1"))).status).toBe(429);
    await questionOf(server, booking("7"));
  });
});

describe("a call that is still running under an approval", () => {
  it("is told to whoever brings the approval again, and its deadline when it has passed", async () => {
    const server = await open([], { limits: { handler_timeout_ms: 1_000 } });
    const slow = booking("7", { path: "/slow/7" });
    const id = await approvedFor(server, slow);
    const first = askAs(server, ALMA, under(id, slow));
    const meanwhile = await askAs(server, ALMA, under(id, slow));
    expect(refusalOf(meanwhile)).toEqual([409, "approval-used"]);
    expect(meanwhile.body).toMatchObject({ outcome: "running" });
    expect(refusalOf(await first)).toEqual([500, "handler-timeout"]);
    const after = await askAs(server, ALMA, under(id, slow));
    expect(after.body).toMatchObject({ outcome: "answered", outcome_status: 500 });
    expect(ranIn(server)).toEqual(["slow 7"]);
  });
});
