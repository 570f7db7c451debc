import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  matchResponse,
  parseExpectedResponse,
} from "../../../src/programs/conformance/response-pattern.ts";
import {
  type Bindings,
  createBindings,
  matchText,
} from "../../../src/programs/conformance/text-pattern.ts";
import { encodeRequest, fillRequest } from "../../../src/programs/conformance/transcript.ts";
import { matchValue } from "../../../src/programs/conformance/value-pattern.ts";
import { cpuMs } from "../../support/cpu-time.ts";

function match(expected: unknown, actual: unknown, bindings = createBindings()) {
  return matchValue(expected, actual, { at: "body", bindings });
}

describe("matchText", () => {
  it.each([
    ["{one|two}", "two"],
    ["deprecated; removed_in={version}", "deprecated; removed_in=3.0.0"],
    ["{method} /{any}", "BOOK /rooms"],
    ["{sha256}", "0".repeat(64)],
    ["/rooms/{room_id}", "/rooms/{room_id}"],
    ["a{any}b", "a\nb"],
  ])("takes %j for %j", (pattern, text) => {
    expect(matchText(pattern, text, createBindings())).toBe(true);
  });

  it.each([
    ["{one|two}", "three"],
    ["{one|two}", "one|two"],
    ["{method}", "book"],
    ["{sha256}", "0".repeat(63)],
    ["a.c", "abc"],
  ])("does not take %j for %j", (pattern, text) => {
    expect(matchText(pattern, text, createBindings())).toBe(false);
  });

  it("keeps what a placeholder stood for, and compares with it", () => {
    const bindings = createBindings();
    expect(matchText("syn-{token:id}", "syn-7(*", bindings)).toBe(true);
    expect(bindings.get("id")).toBe("7(*");
    expect(matchText("again {{id}}", "again 7(*", bindings)).toBe(true);
    expect(matchText("again {{id}}", "again 7((", bindings)).toBe(false);
  });

  it("does not take a name that nobody bound for anything", () => {
    expect(matchText("{{nobody}}", "", createBindings())).toBe(false);
  });

  it("ends in time for long texts that nearly fit", () => {
    const started = cpuMs();
    expect(matchText("{any}a{any}a{any}b", "a".repeat(60_000_000), createBindings())).toBe(false);
    expect(cpuMs() - started).toBeLessThan(5000);
  });

  it("takes every text for itself", () => {
    const plain = fc.string({ unit: "grapheme" }).filter((text) => !/[{}]/.test(text));
    fc.assert(fc.property(plain, (text) => matchText(text, text, createBindings())));
  });
});

describe("matchValue", () => {
  it.each([
    ["{integer}", 1],
    ["{boolean}", false],
    ["{null}", null],
    ["{text}", ""],
    ["{fraction}", 1],
    ["{any}", { deep: [1] }],
    [{ "a?": 1 }, {}],
    [{ "{absent}": ["b"] }, { a: 1 }],
    [
      ["{every}", { a: "{integer}", "{more}": 0 }],
      [{ a: 1 }, { a: 2, b: 3 }],
    ],
    [["{every}", 1], []],
    [
      ["{some}", 2, 3],
      [1, 2, 3],
    ],
    [
      ["{none}", 2],
      [1, 3],
    ],
    [{ "{all}": ["{object}", { a: 1, "{more}": 0 }] }, { a: 1 }],
    [{ "{either}": ["{null}", "{integer}"] }, null],
    ["{closed-schema}", { type: "object", additionalProperties: false }],
    ["{path}", "/rooms/{room_id}/beds"],
    ["{aliases}", { GET: "FETCH" }],
  ])("takes %j for %j", (expected, actual) => {
    expect(match(expected, actual)).toEqual([]);
  });

  it.each([
    ["{integer}", 1.5, "body: expected an integer, got 1.5"],
    ["{string}", " ", 'body: expected a text that is not empty, got " "'],
    ["{positive}", 0, "body: expected an integer from 1, got 0"],
    [{ "a?": 1 }, { a: 2 }, "body/a: expected 1, got 2"],
    [{ "a?": 1 }, { b: 2 }, "body/b: not expected"],
    [{ "{absent}": ["b"] }, { b: 1 }, "body/b: not expected"],
    [["{every}", 1], [1, 2], "body/1: expected 1, got 2"],
    [["{some}", 4], [1, 2], "body: expected an element 4"],
    [["{none}", 2], [1, 2], "body/1: expected no element 2"],
    [{ "{either}": [{ a: 1, b: 2 }, { a: 1 }] }, { a: 3 }, "body/a: expected 1, got 3"],
    [
      "{closed-schema}",
      { type: "object" },
      'body: expected a schema with "additionalProperties": false, got {"type":"object"}',
    ],
    ["{path}", "/book/{id}{id}", /^body: expected a path that the grammar allows: /],
    ["{path}", "/query", /^body: expected a path that the grammar allows: /],
    [
      "{aliases}",
      { GET: "POST", POST: "CREATE" },
      /^body: expected GET to be an alias of a method/,
    ],
    ["{schema}", { type: "thing" }, /^body: expected a JSON Schema 2020-12: \/type /],
  ])("does not take %j for %j", (expected, actual, mismatch) => {
    const [first = ""] = match(expected, actual);
    expect(first).toMatch(mismatch);
  });

  it("compares with values of any type", () => {
    const bindings = createBindings({ manifest: { list: [{ a: [1] }], version: "1.0" } });
    expect(match("{{manifest.list}}", [{ a: [1] }], bindings)).toEqual([]);
    expect(match("{{manifest.list}}", [{ a: [1, 2] }], bindings)).toHaveLength(1);
    expect(match(["{some}", "{{manifest.version}}"], ["1.0"], bindings)).toEqual([]);
  });

  it("keeps a whole value", () => {
    const bindings = createBindings();
    expect(match("{any:first}", { a: 1 }, bindings)).toEqual([]);
    expect(match("{{first}}", { a: 1 }, bindings)).toEqual([]);
    expect(match("{{first}}", { a: 2 }, bindings)).toHaveLength(1);
  });

  it("shows no more of a value than anybody wants to read", () => {
    const [mismatch = ""] = match(1, "x".repeat(100_000));
    expect(mismatch.length).toBeLessThan(400);
  });
});

describe("fillRequest", () => {
  function fill(lines: readonly string[], bindings: Bindings) {
    const filled = fillRequest({ lines, isCut: false }, bindings);
    if (filled.kind === "fault") return filled.message;
    return encodeRequest(filled.text).toString("utf8");
  }

  it("puts values into head and body, each as it must stand there", () => {
    const bindings = createBindings({
      path: "/a",
      who: ["Agent-ID: x", "Request-ID: 1"],
      input: { name: 'O"Neill' },
      word: 'a"b',
    });
    const lines = [
      "AGTP/1.0 QUERY {{path}}",
      "{{who}}",
      "Content-Length: {length}",
      "",
      '{"input": "{{input}}", "in": "<{{word}}>", "name": "{{input.name}}"}',
    ];
    const body = '{"input": {"name":"O\\"Neill"}, "in": "<a\\"b>", "name": "O\\"Neill"}';
    expect(fill(lines, bindings)).toBe(
      `AGTP/1.0 QUERY /a\r\nAgent-ID: x\r\nRequest-ID: 1\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });

  it("names a value that is missing", () => {
    expect(fill(["AGTP/1.0 QUERY {{path}}"], createBindings())).toBe(
      "there is no value for {{path}}",
    );
  });

  it("lets no value end a line of the head", () => {
    for (const path of ["/a\r\nAgent-ID: x", "/a\n", "/\u0000", "/é"]) {
      const filled = fill(["AGTP/1.0 QUERY {{path}}"], createBindings({ path }));
      expect(filled).toContain("a value cannot be sent in");
    }
  });

  it("makes JSON of whatever value a body names", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = fill(
          ["AGTP/1.0 QUERY /", "", '{"it": "{{v}}"}'],
          createBindings({ v: value }),
        );
        const sent: unknown = JSON.parse(text.slice(text.indexOf("\r\n\r\n")));
        expect(sent).toEqual(JSON.parse(JSON.stringify({ it: value })));
      }),
      { examples: [["\\x00"], [{ "\\x41": '\\"' }]] },
    );
  });
});

const ACTUAL = {
  status: 200,
  headers: new Map([
    ["server-id", "x"],
    ["response-id", "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42"],
  ]),
  body: '{"a":1,"list":[1,2],"at":"2026-01-01T00:00:00Z","id":"ff00"}',
};
const HEAD = "AGTP/1.0 200 OK\nServer-ID: x\nResponse-ID: {uuid}";
const BODY = '{"a":1,"list":[1,2],"at":"{date}","id":"{hex}"}';

function matchOf(text: string, options?: Parameters<typeof matchResponse>[2]): readonly string[] {
  const { response, fault } = parseExpectedResponse(text.split("\n"));
  if (response === undefined) throw new Error(fault);
  return matchResponse(response, ACTUAL, options);
}

describe("matchResponse", () => {
  it("finds nothing wrong with the expected response, in any order and spacing", () => {
    expect(matchOf(`${HEAD}\n\n${BODY}`)).toEqual([]);
    expect(matchOf(`AGTP/1.0 200\nresponse-id: {uuid}\nSERVER-ID: {any}\n\n{any}`)).toEqual([]);
    expect(matchOf(`${HEAD}\n\n{ "id": "{hex}", "at": "{any}", "a": 1, "list": "{any}" }`)).toEqual(
      [],
    );
  });

  it.each([
    ["the status", HEAD.replace("200", "404"), BODY, "status: expected 404, got 200"],
    ["a header value", HEAD.replace(": x", ": y"), BODY, "header server-id: expected y, got x"],
    ["a missing header", `${HEAD}\nTask-ID: t`, BODY, "header task-id: missing"],
    [
      "an unlisted header",
      "AGTP/1.0 200 OK\nResponse-ID: {uuid}",
      BODY,
      "header server-id: not expected, got x",
    ],
    ["a value", HEAD, BODY.replace('"a":1', '"a":2'), "body/a: expected 2, got 1"],
    ["a type", HEAD, BODY.replace('"a":1', '"a":"1"'), 'body/a: expected "1", got 1'],
    ["a missing member", HEAD, BODY.replace("{", '{"b":1,'), "body/b: missing"],
    ["an unlisted member", HEAD, BODY.replace('"a":1,', ""), "body/a: not expected"],
    ["an element", HEAD, BODY.replace("[1,2]", "[1,3]"), "body/list/1: expected 3, got 2"],
    ["a length", HEAD, BODY.replace("[1,2]", "[1]"), "body/list: expected 1 elements, got 2"],
    [
      "a placeholder",
      HEAD,
      BODY.replace("{hex}", "{uuid}"),
      'body/id: expected "{uuid}", got "ff00"',
    ],
  ])("says where %s differs", (_, head, body, mismatch) => {
    expect(matchOf(`${head}\n\n${body}`)).toEqual([mismatch]);
  });

  it("stands {more} for whatever else there is", () => {
    expect(matchOf(`${HEAD}\n\n{"a":1,"{more}":0}`)).toEqual([]);
    expect(matchOf(`${HEAD}\n\n{"list":[1,"{more}"],"{more}":0}`)).toEqual([]);
    expect(matchOf(`${HEAD}\n\n{"list":[1,2,3,"{more}"],"{more}":0}`)).toHaveLength(1);
  });

  it("ignores unlisted headers when it is told to", () => {
    expect(matchOf(`AGTP/1.0 200 OK\n\n${BODY}`, { unlistedHeaders: "ignore" })).toEqual([]);
  });

  it("compares a text body as text", () => {
    expect(matchOf(`${HEAD}\n\n{"a":1,{any}}`)).toEqual([]);
    expect(matchOf(`${HEAD}\n\nnothing`)).toHaveLength(1);
    expect(matchOf(HEAD)).toHaveLength(1);
  });

  it("takes characters that mean something in expressions for themselves", () => {
    const { response } = parseExpectedResponse(["AGTP/1.0 200 OK", "", "a.c"]);
    if (response === undefined) throw new Error("no response");
    const actual = { status: 200, headers: new Map(), body: "abc" };
    expect(matchResponse(response, actual)).toHaveLength(1);
    expect(matchResponse(response, { ...actual, body: "a.c" })).toEqual([]);
  });
});
