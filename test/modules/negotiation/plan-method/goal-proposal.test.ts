import { describe, expect, it } from "vitest";
import { createValueDescriber } from "../../../../src/modules/negotiation/plan-method/goal-proposal.ts";
import type { JsonSchema } from "../../../../src/schema/json-schema.ts";
import { isCompatible } from "../../../support/compatibility.ts";

const describeValues = createValueDescriber();

function schemaOf(value: unknown): JsonSchema {
  const properties = describeValues({ value })["properties"];
  return (properties as Readonly<Record<string, JsonSchema>>)["value"] ?? {};
}

// AGTP "PLAN"
describe("createValueDescriber", () => {
  it.each([
    ["x", { type: "string" }],
    ["018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42", { type: "string", format: "uuid" }],
    ["2030-05-04", { type: "string", format: "date" }],
    ["single", { enum: ["single", "double"] }],
    [2, { type: "integer" }],
    [2, { type: "number" }],
    [2, { type: "integer", format: "int32" }],
    [2.5, { type: "number" }],
    [true, { type: "boolean" }],
    [null, { type: ["string", "null"] }],
    [{ a: 1 }, { type: "object" }],
    [[1], { type: "array" }],
    ["a".repeat(5000), { type: "string" }],
  ])("sees that %j fits %j", (value, schema) => {
    expect(isCompatible(schemaOf(value), schema)).toBe(true);
  });

  it.each([
    ["x", { type: "integer" }],
    ["x", { type: "string", format: "uuid" }],
    ["2030-02-30", { type: "string", format: "date" }],
    ["triple", { enum: ["single", "double"] }],
    [2.5, { type: "integer" }],
    [2 ** 40, { type: "integer", format: "int32" }],
    [null, { type: "string" }],
    [{ a: 1 }, { type: "array" }],
    ["a".repeat(5000), { type: "string", format: "uuid" }],
  ])("sees that %j does not fit %j", (value, schema) => {
    expect(isCompatible(schemaOf(value), schema)).toBe(false);
  });

  it("requires what is given, and nothing else", () => {
    expect(describeValues(JSON.parse('{"a": 1, "__proto__": 2}'))).toMatchObject({
      required: ["a", "__proto__"],
      additionalProperties: false,
    });
  });
});
