import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodePart, mergeInput, parseQuery } from "../../src/endpoint/input.ts";
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

describe("decodePart", () => {
  const octet = fc.nat(0xff).map((value) => `%${value.toString(16).padStart(2, "0")}`);
  const piece = fc.constantFrom("%", "a", "4", "é", "%C3%A9", "%F0%9F%98%80", "%2f", "%E2%82");

  it("decodes exactly what the platform decodes, and throws for nothing", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(octet, piece), { maxLength: 8 }), (pieces) => {
        const text = pieces.join("");
        let expected: string | undefined;
        try {
          expected = decodeURIComponent(text);
        } catch {
          expected = undefined;
        }
        expect(decodePart(text)).toBe(expected);
      }),
    );
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
    ["nights", "9007199254740993", "9007199254740993"],
    ["price", "1.50", 1.5],
    ["price", "-1e3", -1000],
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
