/** The types that the members of an input may have. */
import { describe, expect, it } from "vitest";
import { declaredTypes, inputShape } from "../../src/endpoint/input-shape.ts";
import { cpuMs } from "../support/cpu-time.ts";

describe("declaredTypes", () => {
  const typesOf = (schema: object, $defs: object = {}) => [...declaredTypes(schema, { $defs })];

  it.each([
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, ["string", "null"]],
    [{ type: ["string", "integer"], enum: ["a"] }, ["string"]],
    [{ allOf: [{ type: "number" }, { const: 3 }] }, ["integer"]],
    [{ $ref: "#/$defs/x" }, ["boolean"]],
  ])("of %j are %j", (schema, expected) => {
    const types = typesOf(schema, { x: { type: "boolean" } });
    expect(types.toSorted()).toEqual(expected.toSorted());
  });

  it("of a schema that leads to itself in many ways are found at once", () => {
    const own = { $ref: "#/$defs/own" };
    const many = Array.from({ length: 20 }, () => own);
    const started = cpuMs();
    expect(typesOf(own, { own: { allOf: [{ type: "string" }, ...many] } })).toEqual(["string"]);
    expect(typesOf(own, { own: { anyOf: [...many, { type: "string" }] } })).toContain("object");
    expect(cpuMs() - started).toBeLessThan(5000);
  });
});

// AGTP-API §5.5
describe("inputShape", () => {
  const count = { properties: { count: { type: "integer" } } };

  it.each([
    ["of its own", count],
    ["of all of several schemas", { allOf: [{ type: "object" }, count] }],
    ["of one of several schemas", { oneOf: [count, { required: ["other"] }] }],
    ["of any of several schemas", { anyOf: [{ $ref: "#/$defs/x" }], $defs: { x: count } }],
    ["of another schema", { $ref: "#/$defs/x", $defs: { x: count } }],
    ["under a condition", { if: { required: ["a"] }, else: count }],
    ["that two schemas limit", { ...count, allOf: [{ properties: { count: { minimum: 1 } } }] }],
  ])("knows a member %s", (_, schema) => {
    expect(inputShape(schema).scalars).toEqual(new Map([["count", ["integer"]]]));
  });

  it("leaves text alone where one of several schemas takes it", () => {
    const text = { properties: { count: { type: "string" } } };
    expect(inputShape({ oneOf: [count, text] }).scalars).toEqual(new Map());
  });

  it("of a schema that leads to itself is found", () => {
    const schema = { ...count, allOf: [{ $ref: "#" }] };
    expect([...inputShape(schema).scalars.keys()]).toEqual(["count"]);
  });

  // JSON Schema 2020-12 §10.3.2.2
  it("knows members of an operator's schema that only patterns declare", () => {
    const patternProperties = { "^n_": { type: "integer" }, _f$: { type: ["integer", "boolean"] } };
    const shape = inputShape(
      {
        properties: { n_text: { type: "string" } },
        patternProperties: { "^n_": {} },
        allOf: [{ patternProperties }],
      },
      true,
    );
    expect(shape.patterned?.("n_rooms")).toEqual(["integer"]);
    expect(shape.patterned?.("n_f")).toEqual(["integer"]);
    expect(shape.patterned?.("is_f")).toEqual(["boolean", "integer"]);
    expect(shape.patterned?.("other")).toEqual([]);
    expect(shape.patterned?.("n_text")).toBeUndefined();
    expect(inputShape(count, true).patterned).toBeUndefined();
  });

  it("matches no pattern of a stranger's", () => {
    const patternProperties = { "^n_": { type: "integer" } };
    expect(inputShape({ patternProperties }).patterned).toBeUndefined();
  });
});
