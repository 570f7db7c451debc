import { describe, expect, it, vi } from "vitest";
import { mergeInput, parseBody, parseQuery, unwrapEnvelope } from "../../src/endpoint/input.ts";
import { inputShape } from "../../src/endpoint/input-shape.ts";

// AGTP-API §5.5
describe("parseQuery", () => {
  it.each<[string, Record<string, string>]>([
    ["", {}],
    ["a=1&b=2", { a: "1", b: "2" }],
    ["a=1&a=2&a=3", { a: "3" }],
    ["a=b+c", { a: "b+c" }],
    ["a=alice%2Cbob&d=%C3%A9", { a: "alice,bob", d: "é" }],
    ["a&b=", { a: "", b: "" }],
    ["a=1=2&&x%3Dy=z", { a: "1=2", "x=y": "z" }],
    ["a=?/:@", { a: "?/:@" }],
  ])("reads %j", (query, fields) => {
    expect(parseQuery(query)).toEqual(new Map(Object.entries(fields)));
  });

  it.each(["a=%", "a=%4", "a=%zz", "%C3=1", "a=%FF", "a=%ED%A0%80", "a=%C0%AF"])(
    "refuses %j",
    (query) => {
      expect(parseQuery(query)).toBeUndefined();
    },
  );

  it("refuses more fields than anybody needs", () => {
    expect(parseQuery("a&".repeat(1000))).toBeDefined();
    expect(parseQuery("a&".repeat(5000))).toBeUndefined();
  });
});

describe("mergeInput", () => {
  const shape = inputShape({
    type: "object",
    properties: {
      nights: { type: "integer" },
      price: { type: "number" },
      breakfast: { type: "boolean" },
      note: { type: "string" },
      either: { type: ["integer", "string"] },
      maybe: { type: ["integer", "null"] },
      referred: { $ref: "#/$defs/count" },
      anchored: { $ref: "#flag" },
      branch: { anyOf: [{ type: "integer" }, { type: "null" }] },
      chosen: { enum: [1, 2, 3] },
      fixed: { const: true },
      narrowed: { allOf: [{ type: ["string", "integer"] }, { type: "number" }] },
      free: {},
    },
    $defs: { count: { type: "integer" }, flag: { $anchor: "flag", type: "boolean" } },
  });
  const fromQuery = (fields: Record<string, string>): unknown =>
    mergeInput(shape, {}, new Map(Object.entries(fields)), undefined);

  it("lets the path win over the body, and the body over the query", () => {
    const query = new Map([
      ["a", "query"],
      ["b", "query"],
      ["c", "query"],
    ]);
    expect(mergeInput(shape, { a: "body", b: "body" }, query, { a: "path" })).toEqual({
      a: "path",
      b: "body",
      c: "query",
    });
  });

  it("hands on the body itself when there is nothing to merge", () => {
    const body = { nights: "2" };
    expect(mergeInput(shape, body, undefined, undefined)).toBe(body);
    expect(mergeInput(shape, body, new Map(), undefined)).toBe(body);
    expect(mergeInput(shape, undefined, undefined, undefined)).toEqual({});
  });

  it.each([
    ["nights", "2", 2],
    ["nights", "-2", -2],
    ["nights", "2.0", "2.0"],
    ["nights", "02", "02"],
    ["nights", "+2", "+2"],
    ["nights", " 2", " 2"],
    ["nights", "2e3", "2e3"],
    ["nights", "0x10", "0x10"],
    ["nights", "", ""],
    ["nights", "9007199254740991", 9007199254740991],
    ["nights", "9007199254740992", 2 ** 53],
    ["nights", "9007199254740993", "9007199254740993"],
    ["nights", "-12345678901234567000", -12345678901234567000],
    ["price", "1.50", 1.5],
    ["price", "-1e3", -1000],
    ["price", "6.02e23", 6.02e23],
    ["price", "1e20", 1e20],
    ["price", "1e999", "1e999"],
    ["price", ".5", ".5"],
    ["price", "Infinity", "Infinity"],
    ["price", "12345678901234567890", "12345678901234567890"],
    ["breakfast", "true", true],
    ["breakfast", "false", false],
    ["breakfast", "TRUE", "TRUE"],
    ["breakfast", "1", "1"],
    ["note", "2", "2"],
    ["either", "2", "2"],
    ["maybe", "2", 2],
    ["referred", "2", 2],
    ["anchored", "true", true],
    ["branch", "2", 2],
    ["chosen", "2", 2],
    ["fixed", "true", true],
    ["narrowed", "2", 2],
    ["free", "2", "2"],
    ["unknown", "2", "2"],
  ])("reads %s=%s as %j", (name, text, value) => {
    expect(fromQuery({ [name]: text })).toEqual({ [name]: value });
    expect(mergeInput(shape, {}, undefined, { [name]: text })).toEqual({ [name]: value });
  });

  it("never changes what the body says", () => {
    expect(mergeInput(shape, { nights: "2" }, new Map([["x", "1"]]), undefined)).toEqual({
      nights: "2",
      x: "1",
    });
  });

  it("keeps members named __proto__ and constructor members, from wherever they come", () => {
    const query = parseQuery("__proto__=a&constructor=b") ?? new Map<string, string>();
    const input = mergeInput(shape, JSON.parse('{"__proto__":{"admin":1}}'), query, undefined);
    expect(Object.keys(input).sort()).toEqual(["__proto__", "constructor"]);
    expect("admin" in input).toBe(false);
    expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
  });

  it("survives references that lead nowhere or round in circles", () => {
    const circular = inputShape({
      properties: { a: { $ref: "#/$defs/a" }, b: { $ref: "#/nope" }, c: { $ref: "#/%zz" } },
      $defs: { a: { $ref: "#/$defs/a" } },
    });
    expect(circular.scalars.size).toBe(0);
  });
});

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("parseBody", () => {
  it("takes an empty body for an empty object", () => {
    expect(parseBody(bytes(""))).toEqual({ kind: "ok", value: {} });
  });

  it("gives every empty body an object of its own", () => {
    expect(parseBody(bytes(""))).not.toBe(parseBody(bytes("")));
  });

  it("reads a part of a larger buffer", () => {
    const buffer = Buffer.from('xx{"a":"é"}yy', "utf8");
    expect(parseBody(buffer.subarray(2, buffer.length - 2))).toEqual({
      kind: "ok",
      value: { a: "é" },
    });
  });

  it.each([
    ["[1]", "the body is an array, expected a JSON object"],
    ["null", "the body is null, expected a JSON object"],
    ['"x"', "the body is a string, expected a JSON object"],
    ["{", "the body is not JSON"],
    ["{'a':1}", "the body is not JSON"],
    [" ", "the body is not JSON"],
    ['{"a":1}{"b":2}', "the body is not JSON"],
    ['\uFEFF{"a":1}', "the body is not JSON"],
    ['{"a":NaN}', "the body is not JSON"],
  ])("refuses %j", (text, message) => {
    expect(parseBody(bytes(text))).toEqual({ kind: "invalid", message });
  });

  it("refuses what is not UTF-8", () => {
    const body = Uint8Array.from([...bytes('{"a":"'), 0xff, ...bytes('"}')]);
    expect(parseBody(body)).toEqual({ kind: "invalid", message: "the body is not UTF-8" });
  });

  it("takes 64 levels and refuses 65, brackets in texts aside", () => {
    const nested = (levels: number): string =>
      `{"${'[\\"{'.repeat(90)}":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
    expect(parseBody(bytes(nested(64))).kind).toBe("ok");
    expect(parseBody(bytes(nested(65)))).toEqual({
      kind: "invalid",
      message: "the body is nested deeper than 64 levels",
    });
  });

  it("leaves members whose reader bounds them deep enough to be refused, and no deeper", () => {
    const members = new Set(["schema"]);
    const deep = (name: string, levels: number): string =>
      `{"a":1,"${name}":${'{"]":['.repeat(levels)}"[["${"]}".repeat(levels)},"z":2}`;
    const parsed = parseBody(bytes(deep("schema", 100_000)), { deepMembers: members });
    expect(parsed).toMatchObject({ kind: "ok", value: { a: 1, z: 2 } });
    const text = JSON.stringify(parsed.kind === "ok" ? parsed.value["schema"] : "");
    expect(text.split(/[[{]/).length - 1).toBeGreaterThan(64);
    expect(text.length).toBeLessThan(1_000);
    expect(parseBody(bytes(deep("other", 33)), { deepMembers: members })).toEqual({
      kind: "invalid",
      message: "the body is nested deeper than 64 levels",
    });
    for (const broken of [
      `{"schema":${"[".repeat(99)}`,
      `{"schema":${"[".repeat(99)}${"}".repeat(100)}`,
    ]) {
      expect(parseBody(bytes(broken), { deepMembers: members }).kind).toBe("invalid");
    }
  });

  it("refuses a megabyte of brackets at once", () => {
    expect(parseBody(bytes("[".repeat(1_000_000))).kind).toBe("invalid");
    expect(parseBody(bytes('{"a":'.repeat(200_000))).kind).toBe("invalid");
    expect(parseBody(bytes(`"${"\\".repeat(1_000_000)}`)).kind).toBe("invalid");
  });

  describe("counts before it makes anything", () => {
    const members = (count: number): string =>
      `{${Array.from({ length: count }, (_, at) => `"m${at}":${at}`).join(",")}}`;
    const items = (item: string, count: number): string =>
      `{"a":[${new Array<string>(count).fill(item).join(",")}]}`;

    it.each([
      ["the most members", members(10_000)],
      ["members in many objects", items('{"a":1}', 9_999)],
      ["the most values", items("1", 49_998)],
      ["a long text of commas, colons and brackets", `{"a":"${",:[{".repeat(50_000)}"}`],
      ["a long text of quotes", `{"a":"${'\\"'.repeat(50_000)}"}`],
    ])("takes %s", (_, text) => {
      expect(parseBody(bytes(text)).kind).toBe("ok");
    });

    it.each([
      ["one member more", members(10_001), "the body has more than 10000 members"],
      ["many objects", items('{"a":1}', 10_000), "the body has more than 10000 members"],
      ["one member many times", `{${'"a":1,'.repeat(95_000)}"a":1}`, "more than 10000 members"],
      ["many items", items("1", 50_000), "the body has more than 50000 values"],
      ["many lists", items("[]", 50_000), "the body has more than 50000 values"],
      [
        "nesting behind a long text",
        `{"b":"${"x".repeat(60_000)}","a":${"[".repeat(64)}`,
        "deeper",
      ],
    ])("refuses %s", (_, text, message) => {
      const parse = vi.spyOn(JSON, "parse");
      const parsed = parseBody(bytes(text));
      const { length } = parse.mock.calls;
      parse.mockRestore();
      expect(parsed).toMatchObject({ kind: "invalid", message: expect.stringContaining(message) });
      expect(length).toBe(0);
    });
  });

  it("keeps a member named __proto__ a member", () => {
    const parsed = parseBody(bytes('{"__proto__":{"admin":true}}'));
    expect(parsed.kind === "ok" && Object.keys(parsed.value)).toEqual(["__proto__"]);
    expect(parsed.kind === "ok" && "admin" in parsed.value).toBe(false);
  });
});

describe("unwrapEnvelope", () => {
  it("unwraps a body that names the method of the request line", () => {
    const body = { method: "book", parameters: { a: 1 }, task_id: "t", session_id: "s", extra: 1 };
    expect(unwrapEnvelope(body, "BOOK")).toEqual({
      parameters: { a: 1 },
      taskId: "t",
      sessionId: "s",
    });
  });

  it("unwraps a body of envelope keys alone, whatever method it names", () => {
    const body = { method: "CANCEL", parameters: { a: 1 }, context: { locale: "de" } };
    expect(unwrapEnvelope(body, "BOOK")).toEqual({ parameters: { a: 1 } });
    expect(unwrapEnvelope({ parameters: {} }, "BOOK")).toEqual({ parameters: {} });
  });

  it.each([
    [{ parameters: { a: 1 }, guest_id: "g" }],
    [{ parameters: [1], method: "BOOK" }],
    [{ parameters: "x" }],
    [{ method: "BOOK", task_id: "t" }],
    [{}],
  ])("leaves %j as it is", (body) => {
    expect(unwrapEnvelope(body, "BOOK")).toEqual({ parameters: body });
  });

  it("passes over identifiers that are no texts", () => {
    expect(
      unwrapEnvelope({ parameters: {}, task_id: 7, session_id: null, context: [] }, "X"),
    ).toEqual({ parameters: {} });
  });
});
