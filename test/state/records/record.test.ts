import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_AUDIT_ID, type RecordFacts, recordPayload } from "../../../src/state/records/record.ts";
import { sha256 } from "../../support/records.ts";

const NOW = Date.UTC(2026, 4, 1, 9, 0, 0, 7);
const FACTS: RecordFacts = {
  agentId: "a1".repeat(32),
  ownerId: "acme:eu",
  requestId: "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42",
  responseId: "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b43",
  actionId: undefined,
  method: "BOOK",
  requestedMethod: undefined,
  path: "/room/7",
  status: 200,
  sessionId: undefined,
  taskId: undefined,
  principalId: undefined,
  assurance: "unverified",
  requestBody: Buffer.from('{"guest":"é"}'),
  responseBody: '{"room":"é"}',
};

/** Every member that a record of these tests can have. */
const MEMBERS: readonly string[] = [
  ...["audit_record_version", "agent_id", "owner_id", "server_id", "request_id", "response_id"],
  ...["previous_audit_id", "issued_at", "method", "path", "status", "identity_assurance"],
  ...["request_hash", "result_hash", "requested_method", "action_id", "session_id", "task_id"],
  ...["principal_id", "reason", "actor"],
];

function textOf(changes: Partial<RecordFacts> = {}, serverId = "agents.example"): string {
  const { before, after } = recordPayload({ ...FACTS, ...changes }, serverId, NOW);
  return before + NO_AUDIT_ID + after;
}

function payloadOf(changes?: Partial<RecordFacts>, serverId?: string): Record<string, unknown> {
  return JSON.parse(textOf(changes, serverId));
}

// AGTP-IDENTIFIERS "Attribution-Record"
describe("recordPayload", () => {
  it("says who asked for what, and what the answer was, at top level", () => {
    expect(payloadOf()).toEqual({
      audit_record_version: "1",
      agent_id: FACTS.agentId,
      owner_id: "acme:eu",
      server_id: "agents.example",
      request_id: FACTS.requestId,
      response_id: FACTS.responseId,
      previous_audit_id: "0".repeat(64),
      issued_at: "2026-05-01T09:00:00.007Z",
      method: "BOOK",
      path: "/room/7",
      status: 200,
      identity_assurance: "unverified",
      request_hash: `sha256:${sha256('{"guest":"é"}')}`,
      result_hash: `sha256:${sha256('{"room":"é"}')}`,
    });
  });

  it("names what only some requests have", () => {
    const some = {
      requestedMethod: "POST",
      actionId: FACTS.responseId,
      sessionId: "s-1",
      taskId: "t-1",
      principalId: "alice",
    };
    expect(payloadOf(some)).toMatchObject({
      requested_method: "POST",
      action_id: FACTS.responseId,
      session_id: "s-1",
      task_id: "t-1",
      principal_id: "alice",
    });
  });

  it("has the members of an extension beside its own", () => {
    const extension = { event_type: "agent-genesis-issued", reason: 'a "reason"\n' };
    expect(payloadOf({ extension })).toMatchObject(extension);
    expect(payloadOf({ extension: {} })).toEqual(payloadOf());
  });

  it.each(["", Buffer.alloc(0)])("has a hash for no body at all", (body) => {
    const { request_hash, result_hash } = payloadOf({ requestBody: body, responseBody: body });
    expect([request_hash, result_hash]).toEqual(Array(2).fill(`sha256:${sha256("")}`));
  });

  it("hashes octets as they are, text as UTF-8", () => {
    const octets = Buffer.from([0xff, 0x00, 0x80]);
    const { request_hash, result_hash } = payloadOf({ requestBody: octets, responseBody: "☃" });
    expect(request_hash).toBe(`sha256:${sha256(octets)}`);
    expect(result_hash).toBe(`sha256:${sha256(Buffer.from("☃", "utf8"))}`);
  });

  // A client that could end a string could have any record of any agent signed.
  it.each([
    '","agent_id":"eeee',
    "\\",
    '\\"',
    "é\u0085\u00ff",
    "\u0000\u001f\u007f",
    "\u2028\u2029",
    "\ud800",
    "__proto__",
  ])("takes %j for a text, wherever a peer may write it", (text) => {
    const fields = ["requestId", "method", "requestedMethod", "path", "sessionId"] as const;
    const others = ["taskId", "principalId"] as const;
    for (const field of [...fields, ...others]) {
      const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      expect(payloadOf({ [field]: text })).toEqual({ ...payloadOf(), [name]: text });
    }
  });

  it("is one JSON text for every text that a peer can send", () => {
    const text = fc.string({ unit: "binary", maxLength: 40 });
    const facts = fc.record({
      requestId: text,
      method: text,
      requestedMethod: fc.option(text, { nil: undefined }),
      path: text,
      sessionId: fc.option(text, { nil: undefined }),
      taskId: fc.option(text, { nil: undefined }),
      principalId: fc.option(text, { nil: undefined }),
      extension: fc.dictionary(fc.constantFrom("reason", "actor"), text),
    });
    fc.assert(
      fc.property(facts, text, (changes, serverId) => {
        const { extension, ...others } = changes;
        const parsed = payloadOf(changes, serverId);
        expect(parsed["request_id"]).toBe(others.requestId);
        expect(parsed["method"]).toBe(others.method);
        expect(parsed["requested_method"]).toBe(others.requestedMethod);
        expect(parsed["path"]).toBe(others.path);
        expect(parsed["session_id"]).toBe(others.sessionId);
        expect(parsed["task_id"]).toBe(others.taskId);
        expect(parsed["principal_id"]).toBe(others.principalId);
        expect(parsed["server_id"]).toBe(serverId);
        expect(parsed["agent_id"]).toBe(FACTS.agentId);
        expect(parsed["previous_audit_id"]).toBe(NO_AUDIT_ID);
        expect(parsed).toMatchObject(extension);
        expect(MEMBERS).toEqual(expect.arrayContaining(Object.keys(parsed)));
      }),
      { numRuns: 300 },
    );
  });
});
