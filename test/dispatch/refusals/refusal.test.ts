import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  agentUnauthenticated,
  authorizationRequired,
  badRequest,
  carryMore,
  endpointViolation,
  handlerTimeout,
  namedError,
  notFound,
  notImplemented,
  proposalRejected,
  type Refusal,
  refusalBody,
  refusalText,
  sameForAll,
  schemaViolation,
  scopeViolation,
  serverError,
} from "../../../src/dispatch/refusals/refusal.ts";
import { noContract } from "../../../src/dispatch/refusals/refuse-contract.ts";
import { methodNotAllowed, methodViolation } from "../../../src/dispatch/refusals/refuse-method.ts";

const ALLOWED = ["AUDIT", "BOOK"];
const VIOLATION = { path: "/city", keyword: "type", message: "must be string" };

/** What each draft says the body carries. */
const REFUSALS: readonly (readonly [number, Refusal, readonly string[]])[] = [
  [400, badRequest("invalid-body", "no"), []],
  [400, badRequest("discover-target-conflict", "no", { conflict: {} }), ["conflict"]],
  [401, agentUnauthenticated("no"), ["reason"]],
  [262, authorizationRequired("credentials-missing", "no"), ["type", "explanation"]],
  [
    262,
    authorizationRequired("scope-required", "no", { scope: "rcns:negotiate" }),
    ["type", "explanation", "scope"],
  ],
  [404, notFound("endpoint-not-found", "no"), []],
  [404, sameForAll(notFound("endpoint-not-found", 'no "such"')), []],
  [405, methodNotAllowed("no", [], {}), ["allowed_methods_for_path", "redirects_for_path"]],
  [405, methodNotAllowed("no", ALLOWED, {}), ["allowed_methods_for_path", "redirects_for_path"]],
  [
    405,
    methodNotAllowed("no", ALLOWED, { BOOK: "RESERVE" }),
    ["allowed_methods_for_path", "redirects_for_path"],
  ],
  [405, methodNotAllowed("again", ALLOWED, {}), ["allowed_methods_for_path", "redirects_for_path"]],
  [422, schemaViolation([VIOLATION]), []],
  [422, namedError("room_unavailable", undefined, undefined), []],
  [455, scopeViolation(["booking:room"]), ["missing_scopes"]],
  [459, methodViolation('NO"NE', "1.0.0", []), ["method", "catalog_version", "suggestions"]],
  [459, methodViolation("BOKO", "1.0.0", ["BOOK"]), ["method", "catalog_version", "suggestions"]],
  [460, endpointViolation({ segment: "book", message: "no" }), ["segment"]],
  [463, proposalRejected("synthesis-disabled", "no"), ["reason", "explanation"]],
  [
    464,
    noContract("rcns-disabled", 'no "more"', "rcns-1"),
    ["reason", "explanation", "attempt_id"],
  ],
  [464, noContract("rcns-disabled", "no", "rcns-2"), ["reason", "explanation", "attempt_id"]],
  [464, noContract("rcns-disabled", "no", "rcns-1"), ["reason", "explanation", "attempt_id"]],
  [500, serverError("abc"), ["error_id"]],
  [500, handlerTimeout("abc"), ["error_id"]],
  [501, notImplemented("delegation-chain", "no"), ["feature"]],
];

describe("refusalBody", () => {
  it.each(REFUSALS)(
    "puts what a %i carries at top level and inside error",
    (status, refusal, carried) => {
      const body = refusalBody(refusal);
      const error = body["error"] as Readonly<Record<string, unknown>>;
      expect(refusal.status).toBe(status);
      expect(error).toMatchObject({ code: refusal.code, message: refusal.message });
      expect(Object.keys(body).toSorted()).toEqual([...carried, "error"].toSorted());
      for (const member of carried) expect(error[member]).toBe(body[member]);
    },
  );

  it("gives every message in lower case, without a full stop", () => {
    for (const [, { message }] of REFUSALS) expect(message).toMatch(/^[^A-Z].*[^.]$/s);
  });

  it("leaves out details that are not there", () => {
    expect(refusalBody(namedError("gone", undefined, undefined))).toEqual({
      error: { code: "gone", message: "gone" },
    });
  });
});

describe("refusalText", () => {
  it.each(REFUSALS)("is the body of a %i", (_status, refusal) => {
    expect(refusalText(refusal)).toBe(JSON.stringify(refusalBody(refusal)));
  });

  it("is the body of any refusal, whatever it says", () => {
    const names = fc.string({ minLength: 1 }).filter((name) => !(name in {}) && name !== "error");
    const refusals = fc.record(
      {
        ...{ kind: fc.constant("refusal" as const), status: fc.constant(422 as const) },
        ...{ code: fc.string(), message: fc.string({ unit: "binary" }), details: fc.anything() },
        carried: fc.dictionary(names, fc.jsonValue(), { maxKeys: 4, noNullPrototype: true }),
      },
      { requiredKeys: ["kind", "status", "code", "message"] },
    );
    fc.assert(
      fc.property(refusals, (refusal) => {
        let expected: unknown;
        try {
          expected = JSON.parse(JSON.stringify(refusalBody(refusal)));
        } catch {
          expect(() => refusalText(refusal)).toThrow();
          return;
        }
        expect(JSON.parse(refusalText(refusal))).toEqual(expected);
      }),
    );
  });
});

// AGTP-API §13.2
describe("carryMore", () => {
  it.each([
    ["one whose members are encoded already", methodViolation("FLY", "1.0.0", [])],
    ["one that is encoded as a whole", sameForAll(badRequest("malformed-schema", "no path"))],
  ])("puts members into the text of %s", (_, refused) => {
    const more = carryMore(refused, { negotiation_id: "n-1" });
    expect(more.carried).toEqual({ ...refused.carried, negotiation_id: "n-1" });
    expect(JSON.parse(refusalText(more))).toEqual(refusalBody(more));
  });
});

describe("schemaViolation", () => {
  it("lists at most twenty violations", () => {
    const { details } = schemaViolation(Array.from({ length: 30 }, () => VIOLATION));
    expect(details).toEqual({ errors: Array.from({ length: 20 }, () => VIOLATION) });
  });

  it("says the first violation in its message", () => {
    expect(schemaViolation([VIOLATION]).message).toBe("/city must be string");
    expect(schemaViolation([{ ...VIOLATION, path: "" }]).message).toBe("/ must be string");
  });
});

// AGTP-API §6.4 "errors"
describe("namedError", () => {
  it("makes the error's name the code, and a message of it when there is none", () => {
    expect(namedError("room_unavailable", undefined, { nights: 2 })).toMatchObject({
      status: 422,
      code: "room_unavailable",
      message: "room unavailable",
      details: { nights: 2 },
    });
  });
});
