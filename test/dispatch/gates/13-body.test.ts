import { describe, expect, it } from "vitest";
import type { Exchange } from "../../../src/dispatch/exchange.ts";
import { bodyGate } from "../../../src/dispatch/gates/13-body.ts";
import { inputGate } from "../../../src/dispatch/gates/16-input.ts";
import { innerExchange } from "../../../src/dispatch/handling/inner-dispatch.ts";
import type { Refusal } from "../../../src/dispatch/refusals/refusal.ts";
import type { Route } from "../../../src/dispatch/routes/route.ts";
import { type ExchangeOptions, makeExchange, makeRoute } from "../../support/exchange.ts";

const ROUTE = makeRoute({
  properties: {
    city: { type: "string" },
    nights: { type: "integer" },
    action: { type: "string" },
    parameters: { type: "object" },
  },
});

interface Judged {
  readonly exchange: Exchange;
  readonly refusal: Refusal | undefined;
}

function judge(options: ExchangeOptions, prepare: Partial<Exchange> = {}, route: Route = ROUTE) {
  const exchange = makeExchange(options);
  Object.assign(exchange, { route, ...prepare });
  return { exchange, refusal: bodyGate(exchange) ?? inputGate(exchange) } satisfies Judged;
}

// AGTP-API §5.5, §13.2, §13.3
describe("bodyGate, and inputGate behind it", () => {
  it("takes no body for no parameters", () => {
    expect(judge({}).exchange.input).toEqual({});
  });

  it("takes a plain body as it is", () => {
    const { exchange, refusal } = judge({ body: { city: "Oslo" } });
    expect(refusal).toBeUndefined();
    expect(exchange.input).toEqual({ city: "Oslo" });
  });

  it("takes a body out of its envelope, and adopts its identifiers", () => {
    const body = { task_id: "t", session_id: "s", parameters: { city: "Oslo" } };
    const { exchange } = judge({ body });
    expect(exchange).toMatchObject({ input: { city: "Oslo" }, taskId: "t", sessionId: "s" });
  });

  it("prefers the identifiers of the header", () => {
    const body = { task_id: "body", parameters: {} };
    const { exchange } = judge({ body, headers: { "task-id": "head" } });
    expect(exchange.taskId).toBe("head");
  });

  it("leaves the wrong identifiers of a plain body to the schema", () => {
    expect(judge({ body: { city: "Oslo", task_id: "t" } }).refusal?.status).toBe(422);
  });

  // RFC 7493 §2.2
  it("refuses an integer that a handler would get as another one, and says where it is", () => {
    const judged = (body: string): readonly unknown[] => {
      const { refusal } = judge({ body });
      return [refusal?.status, (refusal?.details as { errors?: object } | undefined)?.errors];
    };
    const message =
      "9007199254740993 cannot be kept to the digit: send it as a text, if the endpoint takes one";
    expect(judged('{"parameters": {"a/b": [0, {"c": 9007199254740993}]}, "city": "Oslo"}')).toEqual(
      [422, [{ path: "/parameters/a~1b/1/c", keyword: "precision", message }]],
    );
    expect(judged('{"nights": 9007199254740993}')).toMatchObject([422, [{ path: "/nights" }]]);
    expect(judged('{"nights": 9007199254740992}')).toEqual([undefined, undefined]);
    expect(judged('{"city": "9007199254740993"}')).toEqual([undefined, undefined]);
    // The schema has the first word, and what is no input is nobody's matter.
    expect(judged('{"nights": "x", "parameters": {"a": 9007199254740993}}')).toMatchObject([
      422,
      [{ path: "/nights", keyword: "type" }],
    ]);
    const enveloped = '{"parameters": {"nights": 1}, "context": {"at": 9007199254740993}}';
    expect(judged(enveloped)).toEqual([undefined, undefined]);
    const both =
      '{"context": {"at": 9007199254740993}, "parameters": {"nights": 9007199254740995}}';
    expect(judged(both)).toMatchObject([422, [{ path: "/nights" }]]);
  });

  it.each([
    ["a power", "1e400"],
    ["a negative one", "-1E+0309"],
    ["digits", `${"9".repeat(309)}.5`],
  ])("refuses a number that a handler would have as none: %s", (_, number) => {
    const { refusal } = judge({
      body: `{"parameters": {"a": [1e300, ${number}]}, "city": "Oslo"}`,
    });
    expect(refusal).toMatchObject({
      status: 422,
      details: { errors: [{ path: "/parameters/a/1", keyword: "precision" }] },
    });
  });

  it.each([
    ["nights=9007199254740993", "9007199254740993"],
    ["nights=-1e400", "-1e400"],
    ["city=&nights=9007199254740993&other=1", "9007199254740993"],
  ])("says of a number in the query %s that it cannot be kept", (query, number) => {
    const nights = { anyOf: [{ type: "number" }, { type: "null" }] };
    const route = makeRoute({ properties: { city: {}, other: {}, nights } });
    const { refusal } = judge({ query }, {}, route);
    const message = `${number} cannot be kept to the digit, expected a number that can`;
    expect(refusal).toMatchObject({
      status: 422,
      details: { errors: [{ path: "/nights", keyword: "precision", message }] },
    });
  });

  it("says so of a number in the path, beside what else is wrong", () => {
    const { refusal } = judge(
      { query: "none=9007199254740993" },
      { pathValues: { nights: "9007199254740993" } },
    );
    expect(refusal?.details).toMatchObject({
      errors: [
        { path: "/none", keyword: "additionalProperties" },
        { path: "/nights", keyword: "precision" },
      ],
    });
  });

  it("says of a text in a body that it is one", () => {
    const { refusal } = judge({ query: "city=x", body: { nights: "9007199254740993" } });
    expect(refusal).toMatchObject({ details: { errors: [{ path: "/nights", keyword: "type" }] } });
  });

  it("refuses what a composition has taken from a rounded answer", () => {
    const judged = (input: Readonly<Record<string, unknown>>): unknown => {
      const exchange = innerExchange(makeExchange({}), ["BOOK", "/room"], input);
      exchange.route = ROUTE;
      const refusal = bodyGate(exchange) ?? inputGate(exchange);
      return (refusal?.details as { errors?: object[] } | undefined)?.errors?.[0];
    };
    const loop: Record<string, unknown> = { last: 1 };
    loop["loop"] = loop;
    expect(judged({ nights: 2 ** 60 })).toMatchObject({ path: "/nights", keyword: "precision" });
    expect(judged({ nights: 2 ** 53 - 1, parameters: loop })).toBeUndefined();
    expect(judged({ nights: -6.02e23 })).toBeUndefined();
    expect(judged({ parameters: { loop, at: [2 ** 53] } })).toMatchObject({
      path: "/parameters/at/0",
    });
    const beyond = { parameters: { at: Number.POSITIVE_INFINITY } };
    expect(judged(beyond)).toMatchObject({ path: "/parameters/at", keyword: "precision" });
  });

  it("merges query, body and path: the path wins over the body, the body over the query", () => {
    const { exchange } = judge(
      { query: "city=query&nights=1&action=query", body: { city: "body", nights: 2 } },
      { pathValues: { city: "p%C3%A5th" } },
    );
    expect(exchange.input).toEqual({ city: "påth", nights: 2, action: "query" });
  });

  it("coerces what came as text, never what the body says", () => {
    expect(judge({ query: "nights=2" }).exchange.input).toEqual({ nights: 2 });
    expect(judge({ body: { nights: "2" } }).refusal?.status).toBe(422);
    expect(judge({ query: "nights=two" }).refusal?.status).toBe(422);
  });

  it("keeps the decoded query for the handler", () => {
    expect(judge({ query: "city=a%26b" }).exchange.query?.get("city")).toBe("a&b");
  });

  it.each([
    ["invalid-body", { body: "{" }],
    ["invalid-body", { body: "7" }],
    ["invalid-body", { body: '"text"' }],
    ["invalid-body", { body: "[{}]" }],
    ["unsupported-content-type", { body: "{}", headers: { "content-type": "text/html" } }],
    ["invalid-query", { query: "city=%ff" }],
    ["invalid-query", { query: "%" }],
    ["invalid-identifier", { body: { session_id: "a b", parameters: {} } }],
  ])("answers 400 %s for %j", (code, options) => {
    expect(judge(options).refusal).toMatchObject({ status: 400, code });
  });

  it.each([
    "application/json",
    "application/vnd.agtp+json",
    "application/agtp+json",
    "TEXT/JSON",
    "application/json;charset=utf-8",
    "application/vnd.agtp.endpoint+json ; x=y",
  ])("reads a body of type %s", (type) => {
    expect(judge({ body: "{}", headers: { "content-type": type } }).refusal).toBeUndefined();
  });

  it("does not ask for the type of a body that is not there", () => {
    expect(judge({ headers: { "content-type": "text/html" } }).refusal).toBeUndefined();
  });

  // AGTP-API §5.2
  it("answers 460 for a path value that is no UTF-8, naming the segment", () => {
    const { refusal } = judge({}, { pathValues: { city: "%c3%28" } });
    expect(refusal).toMatchObject({ status: 460, carried: { segment: "%c3%28" } });
  });

  it("answers 422 with every violation, and its pointer", () => {
    const { refusal } = judge({ body: { city: 1, nights: 1.5, "a/b": 1 } });
    expect(refusal).toMatchObject({ status: 422, code: "schema-validation-failed" });
    const paths = ["/a~1b", "/city", "/nights"].map((path) => expect.objectContaining({ path }));
    expect(refusal?.details).toEqual({ errors: expect.arrayContaining(paths) });
  });

  it("asks the handler's own rules only about input that the schema accepts", () => {
    const violation = { path: "/city", keyword: "format", message: "climbs" };
    const seen: unknown[] = [];
    const precheck = (input: Readonly<Record<string, unknown>>) => {
      seen.push(input);
      return [violation];
    };
    const route = { ...ROUTE, precheck };
    expect(judge({ body: { city: 1 } }, {}, route).refusal?.status).toBe(422);
    expect(seen).toEqual([]);
    const { refusal } = judge({ body: { city: ".." } }, {}, route);
    expect(refusal?.details).toEqual({ errors: [violation] });
  });

  // AGTP-API §3.6
  it("adds what a legacy mapping says, where it is declared, and lets the body say otherwise", () => {
    const mappedParameters = { action: "delete", idempotency_key: "k" };
    expect(judge({}, { mappedParameters }).exchange.input).toEqual({ action: "delete" });
    const { exchange } = judge({ body: { action: "hide" } }, { mappedParameters });
    expect(exchange.input).toEqual({ action: "hide" });
  });
});
