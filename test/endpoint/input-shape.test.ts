/** The types that the members of an input may have. */
import { describe, expect, it } from "vitest";
import { declaredTypes } from "../../src/endpoint/input-shape.ts";

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
    const started = performance.now();
    expect(typesOf(own, { own: { allOf: [{ type: "string" }, ...many] } })).toEqual(["string"]);
    expect(typesOf(own, { own: { anyOf: [...many, { type: "string" }] } })).toContain("object");
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
