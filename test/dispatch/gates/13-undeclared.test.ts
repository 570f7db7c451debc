import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Exchange } from "../../../src/dispatch/exchange.ts";
import { bodyGate } from "../../../src/dispatch/gates/13-body.ts";
import { inputGate } from "../../../src/dispatch/gates/16-input.ts";
import type { Refusal } from "../../../src/dispatch/refusals/refusal.ts";
import type { Route } from "../../../src/dispatch/routes/route.ts";
import type { JsonSchema } from "../../../src/schema/json-schema.ts";
import { meteredSchema } from "../../../src/schema/metered-schema.ts";
import { type ExchangeOptions, makeExchange, makeRoute } from "../../support/exchange.ts";

const PROPERTIES = {
  city: { type: "string", minLength: 2 },
  nights: { type: "integer" },
  parameters: { type: "object", maxProperties: 1 },
};
const CLOSED = routeOf({ properties: PROPERTIES, required: ["city"], additionalProperties: false });
const OPEN = routeOf({ properties: PROPERTIES, required: ["city"] });
const PARTICULAR = routeOf({
  properties: PROPERTIES,
  patternProperties: { "^q": { type: "integer" } },
  additionalProperties: false,
});
const AGREED = makeRoute({
  inputSchema: CLOSED.definition.inputSchema,
  input: meteredSchema(CLOSED.definition.inputSchema),
});

function routeOf(schema: JsonSchema): Route {
  return makeRoute({ inputSchema: { type: "object", ...schema } });
}

interface Judged {
  readonly exchange: Exchange;
  readonly refusal: Refusal | undefined;
}

/** As a connection hears it that nothing was refused, or one that is looked at. */
function judge(
  route: Route,
  options: ExchangeOptions,
  watched: number | undefined,
  doubted?: number,
): Judged {
  const made = makeExchange(options);
  Object.assign(made, { route, peer: { ...made.peer, watched, doubted } });
  return { exchange: made, refusal: bodyGate(made) ?? inputGate(made) };
}

function heard({ exchange, refusal }: Judged): unknown {
  const { input, taskId, sessionId } = exchange;
  return refusal ?? { input: JSON.stringify(input), taskId, sessionId };
}

// AGTP-API §13.2
describe("members that no schema declares", () => {
  const name = fc.oneof(
    fc.constantFrom("city", "nights", "parameters", "task_id", "session_id", "method", "context"),
    fc.constantFrom("__proto__", "constructor", "toString", "", "12", "007", "\u007f0", "\u007f20"),
    fc.constantFrom("a/b~c", 'a"b', "a\\b", "q", "é", "\ud800", "\u2028", "k".repeat(600)),
    fc.string({ maxLength: 4 }),
  );
  const value = fc.oneof(
    fc.constantFrom<unknown>("x", "Oslo", 1, null, true, [], [{ deep: 1 }], 'a":{"'),
    fc.dictionary(name, fc.constantFrom<unknown>(1, "x", { more: 1 }), { maxKeys: 3 }),
  );
  const members = fc.array(fc.tuple(name, value), { maxLength: 30 });
  const routes = fc.constantFrom(CLOSED, OPEN, PARTICULAR, AGREED);
  const escaped = (text: string): string =>
    `"${Array.from(text, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"`;

  it("are refused, or accepted, in the same words whether or not their names were looked at", () => {
    fc.assert(
      fc.property(routes, members, fc.boolean(), name, (route, list, isEscaped, asked) => {
        const write = isEscaped ? escaped : JSON.stringify;
        const body = `{${list.map(([key, one]) => `${write(key)}:${JSON.stringify(one)}`).join(",")}}`;
        const query = `${encodeURIComponent(asked === "\ud800" ? "x" : asked)}=1&nights=2`;
        for (const options of [{ body }, { body, query }]) {
          expect(heard(judge(route, options, 64))).toEqual(heard(judge(route, options, undefined)));
        }
      }),
      { numRuns: 500 },
    );
  });

  it("leave an accepted input its own, whoever sent the same body beside a query before", () => {
    const route = routeOf({ properties: { list: { type: "array" }, city: {} } });
    const options = { body: '{"list":[1]}', query: "city=Oslo" };
    for (let time = 0; time < 4; time += 1) {
      const { exchange, refusal } = judge(route, options, 64);
      expect([exchange.input, refusal]).toEqual([{ city: "Oslo", list: [1] }, undefined]);
      (exchange.input["list"] as unknown[]).push(2);
    }
  });

  it("are told by the names that were sent, whatever another body said before", () => {
    const short = `{${"abcdefghijklmnopqrstuvwxyz".replaceAll(/./g, '"$&":1,')}"":1,"":2}`;
    const bodies = [
      ...['{"first":1}', '{"other":1}', '{"other":2}', '{"first":"é"}', '{"other":"é"}'],
      ...['{"city":"Oslo","first":1}', '{"city":"Oslo","other":1}', '{"city":5,"other":1}', short],
      ...['{"first":1', '{"other":1', '{"parameters":{"first":1}}', '{"parameters":{"other":1}}'],
    ];
    for (const body of [...bodies, ...bodies.toReversed(), ...bodies]) {
      for (const route of [CLOSED, CLOSED, OPEN, PARTICULAR, AGREED]) {
        for (const query of [undefined, "&", "asked=1", "&".repeat(9000)]) {
          const options = { body, ...(query === undefined ? {} : { query }) };
          expect(heard(judge(route, options, 64))).toEqual(heard(judge(route, options, undefined)));
        }
      }
    }
  });

  it("have their names and values in a query, whatever another one said beside the same body", () => {
    const body = fc.constantFrom(
      '{"city":"Oslo"}',
      '{"city":"O"}',
      '{"nights":1}',
      '{"city":"Oslo","x":1}',
    );
    const field = fc.constantFrom(
      "a=1",
      "b=2",
      "b=3",
      "x=5",
      "12=1",
      "city=Bo",
      "nights=x",
      "%7f0=1",
    );
    const query = fc.array(field, { maxLength: 4 }).map((fields) => fields.join("&"));
    const request = fc.record({ body, query });
    fc.assert(
      fc.property(fc.array(fc.tuple(routes, request), { maxLength: 12 }), (requests) => {
        for (const [route, options] of requests) {
          expect(heard(judge(route, options, 64))).toEqual(heard(judge(route, options, undefined)));
        }
      }),
      { numRuns: 500 },
    );
  });

  it("keep their names, in the query too, beside a body that is too long to be looked at", () => {
    const body = JSON.stringify({ "\u007f0": "k".repeat(9000) });
    const query = "asked=1";
    const watched = heard(judge(CLOSED, { body, query }, 64));
    expect(watched).toEqual(heard(judge(CLOSED, { body, query }, undefined)));
    expect(watched).toMatchObject({ details: { errors: [{}, {}, {}] } });
  });

  it("are found in parameters, however those are written", () => {
    const options = { body: '{"\\u0070arameters":{"\u007f0":1}}', query: "asked=1" };
    const watched = heard(judge(CLOSED, options, 64));
    expect(watched).toEqual(heard(judge(CLOSED, options, undefined)));
    expect(watched).toMatchObject({ details: { errors: [{}, {}, {}] } });
  });

  it.each([
    ['{"a":1,"b"'],
    ['{"a":1,"b":}'],
    ['{"a":1 "b":2}'],
    ['{"a":1,"\\x":2}'],
    ['{"a\u0001":1}'],
    ['{"a":1}}'],
    ['{"a" 5:1}'],
    ['{:1,"a":2}'],
    ['[{"a":1}]'],
    ['{"a":"'],
    ['{"a\\'],
  ])("make no JSON of what is none: %j", (body) => {
    const refusal = judge(CLOSED, { body }, 64).refusal;
    expect(refusal).toMatchObject({ status: 400, code: "invalid-body" });
    expect(refusal).toEqual(judge(CLOSED, { body }, undefined).refusal);
  });

  it("are judged before they are parsed on a connection that sent what is no JSON", () => {
    const doubted = (body: string, before?: number): number | undefined =>
      judge(OPEN, { body }, undefined, before).exchange.peer.doubted;
    expect(doubted('{"city":"Oslo"}')).toBeUndefined();
    expect(doubted("[]")).toBeUndefined();
    const begun = doubted('{"city":');
    expect(begun).toBeGreaterThan(1);
    expect(doubted('{"city":"Oslo"}', begun)).toBe((begun ?? 0) - 1);
    expect(doubted('{"city":"Oslo"}', 1)).toBeUndefined();
    for (const body of ['{"city":', '{"city":"Oslo"}', "[1]", '{"city":1}', "", " "]) {
      expect(heard(judge(OPEN, { body }, undefined, 64))).toEqual(
        heard(judge(OPEN, { body }, undefined)),
      );
    }
  });

  it("have their names again in what a handler is called with", () => {
    const body = { city: "Oslo", "k/~é": { "\u007f0": 1 }, other: [{ city: 1 }] };
    const { exchange, refusal } = judge(OPEN, { body, query: "asked=1" }, 64);
    expect(refusal).toBeUndefined();
    expect(exchange.input).toEqual({ ...body, asked: "1" });
  });

  it("are looked at on a connection that was refused something with one, and then on no other", () => {
    const watched = (body: object, before?: number): number | undefined =>
      judge(CLOSED, { body }, before).exchange.peer.watched;
    expect(watched({ city: "Oslo" })).toBeUndefined();
    expect(watched({ city: 1 })).toBeUndefined();
    const begun = watched({ city: "Oslo", other: 1 });
    expect(begun).toBeGreaterThan(1);
    expect(watched({ city: "Oslo" }, begun)).toBe((begun ?? 0) - 1);
    expect(watched({ other: 1 }, 2)).toBe(begun);
    expect(watched({ city: "Oslo" }, 1)).toBeUndefined();
  });
});
