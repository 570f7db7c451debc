import { describe, expect, it } from "vitest";
import { replyToOutcome } from "../../../src/dispatch/handling/invoke.ts";
import { notFound } from "../../../src/dispatch/refusals/refusal.ts";
import type { Outcome } from "../../../src/dispatch/routes/route.ts";
import { makeRoute } from "../../support/exchange.ts";

const ROUTE = makeRoute({
  errors: new Set(["room_unavailable"]),
  outputSchema: {
    type: "object",
    required: ["reservation_id"],
    properties: { reservation_id: { type: "string" } },
  },
});
const BODY = { reservation_id: "r-1" };

function manyFields(count: number, length = 1): Readonly<Record<string, string>> {
  const fields = Array.from({ length: count }, (_, at) => [`X-${at}`, "x".repeat(length)]);
  return Object.fromEntries(fields);
}

/** Handlers are plain JavaScript: what they return may be anything. */
function judgeAny(outcome: unknown, route = ROUTE) {
  return replyToOutcome(route, outcome as Outcome);
}

// AGTP-API §6.4 "errors", §13.3
describe("replyToOutcome", () => {
  it("makes a 200 of a body that the output schema accepts", () => {
    expect(judgeAny({ body: BODY })).toMatchObject({
      status: 200,
      body: BODY,
      contentType: "application/vnd.agtp+json",
      refusal: undefined,
    });
  });

  it("lets an output have members that nobody declared", () => {
    expect(judgeAny({ body: { ...BODY, more: 1 } })).toMatchObject({ status: 200 });
  });

  it("makes a 422 of a declared error", () => {
    expect(judgeAny({ error: "room_unavailable", message: "none left" })).toMatchObject({
      status: 422,
      refusal: { code: "room_unavailable", message: "none left" },
    });
  });

  it("says where an output fails its schema, the whole value included", () => {
    expect(judgeAny({ body: [] })).toBe(
      "the output does not satisfy the output schema: / must be object",
    );
  });

  it.each([
    [undefined, "the handler returned nothing"],
    ["done", "the handler returned a string, expected { body } or { error }"],
    [
      { reservation_id: 7 },
      'the handler returned an object of "reservation_id", expected { body } or { error }',
    ],
    [{}, "the handler returned an object of nothing, expected { body } or { error }"],
    [{ status: "200", body: BODY }, 'unknown status "200"'],
    [{ body: Promise.resolve(BODY) }, "the body is a promise: the handler has to await it"],
  ])("says what %j is, and what was expected", (outcome, fault) => {
    expect(judgeAny(outcome)).toBe(fault);
  });

  it.each([
    ["an undeclared error", { error: "on_fire" }],
    ["an error that is no text", { error: ["room_unavailable"] }],
    ["an inherited name for an error", { error: "constructor" }],
    ["a body without what the schema requires", { body: {} }],
    ["no body where the schema requires one", { status: 200 }],
    ["nothing", undefined],
    ["null", null],
    ["a text", "done"],
    ["an empty object", {}],
    ["a status that AGTP does not know", { status: 299, body: BODY }],
    ["a status as text", { status: "200", body: {} }],
    ["header values with line breaks", { body: BODY, headers: { "X-A": "a\r\nB: c" } }],
    ["header names that are no tokens", { body: BODY, headers: { "X A": "a" } }],
    ["header values that are no texts", { body: BODY, headers: { "X-A": 1 } }],
    ["more header fields than a client reads", { body: BODY, headers: manyFields(1_000) }],
    ["longer header fields than a client reads", { body: BODY, headers: manyFields(10, 20_000) }],
    ["header values beyond latin1", { body: BODY, headers: { "X-A": "\u010a" } }],
  ])("takes %s for a fault", (_, outcome) => {
    expect(judgeAny(outcome)).toEqual(expect.any(String));
  });

  it("holds no refusal of the handler's own against the output schema", () => {
    expect(judgeAny({ status: 409, body: { why: "taken" } })).toMatchObject({ status: 409 });
  });

  it("drops the fields that only the server writes", () => {
    const headers = { "SERVER-ID": "x", "content-type": "text/plain", "X-Own": "kept" };
    expect(judgeAny({ body: BODY, headers })).toMatchObject({
      headers: { "X-Own": "kept" },
      contentType: "text/plain",
    });
  });

  it("lets the protocol's own routes refuse, and nobody else", () => {
    const refusal = notFound("genesis-not-found", "none");
    expect(judgeAny(refusal, makeRoute({ tier: "A" }))).toMatchObject({ status: 404, refusal });
    expect(judgeAny({ ...refusal, body: BODY })).toMatchObject({ refusal: undefined });
  });

  it("takes a member called kind for what it is", () => {
    const outcome = { body: BODY, kind: "room" };
    expect(judgeAny(outcome, makeRoute({ tier: "A" }))).toMatchObject({ status: 200 });
  });
});
