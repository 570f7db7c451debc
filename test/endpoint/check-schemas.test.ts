import { describe, expect, it } from "vitest";
import { describeProblem } from "../../src/base/problem.ts";
import { checkServedSchemas } from "../../src/endpoint/check-schemas.ts";
import type { JsonSchema } from "../../src/schema/json-schema.ts";

const OBJECT: JsonSchema = { type: "object", additionalProperties: false };

function tell(input: JsonSchema, output: JsonSchema = OBJECT): readonly string[] {
  return checkServedSchemas({ file: "a.toml", input, output }).map(describeProblem);
}

// AGTP-API §13.3
describe("checkServedSchemas", () => {
  it("refuses an output that must have what it must not have", () => {
    const required = ["id", "price"];
    const properties = { id: { type: "string" } };
    expect(tell(OBJECT, { ...OBJECT, required, properties })).toEqual([
      'a.toml: endpoint.output_schema.required: "price" is not among the properties, so no output is valid (no others are allowed, by the schema or by output_validation)',
    ]);
    expect(tell(OBJECT, { type: "object", required, properties })).toEqual([]);
    const open = { ...OBJECT, required, properties, patternProperties: { "^p": true } };
    expect(tell(OBJECT, open)).toEqual([]);
  });

  it.each([
    ["input", { type: "integer", enum: ["1", "2"] }],
    ["input", { $ref: "#/$defs/word", type: "boolean" }],
    ["output", { type: "string", const: 7 }],
  ])("warns of a member of the %s that no value fits: %j", (side, member) => {
    const properties = { "a.b": member };
    const schema = { ...OBJECT, properties, $defs: { word: { type: "string" } } };
    const told = side === "input" ? tell(schema) : tell(OBJECT, schema);
    expect(told).toEqual([
      `warning: a.toml: endpoint.${side}_schema.properties."a.b": allows no value: its type, enum and const contradict each other`,
    ]);
  });

  it.each([{ type: "number", enum: [1, 2] }, { type: ["integer", "null"], const: null }, false])(
    "takes a member that some value fits, or none on purpose: %j",
    (member) => {
      expect(tell({ ...OBJECT, properties: { a: member } })).toEqual([]);
    },
  );

  // AGTP "Request Body"
  it("warns of a member that reads as an envelope", () => {
    const properties = { parameters: { type: "object" }, name: { type: "string" } };
    expect(tell({ ...OBJECT, properties })).toEqual([
      'warning: a.toml: endpoint.input_schema.properties.parameters: a body with this member alone is taken for an envelope around the input (callers have to send {"parameters": {"parameters": …}}: give it another name)',
    ]);
    expect(tell({ ...OBJECT, properties, required: ["name"] })).toEqual([]);
    const text = { parameters: { type: "string" } };
    expect(tell({ ...OBJECT, properties: text, required: ["parameters"] })).toEqual([]);
  });
});
