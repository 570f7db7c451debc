/** Schemas of endpoints as those of tools: nothing that they mean is another thing afterwards. */
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isObjectSchema,
  toolInputSchema,
  withOutput,
} from "../../../../src/modules/mcp/tools/tool-description.ts";

const name = fc.constantFrom("a", "b", "c");
const leaf = fc.constantFrom(
  ...[{ type: "string" }, { type: "integer" }, { enum: ["x", 1] }, { type: ["number", "null"] }],
);
const members = fc.record(
  {
    type: fc.constantFrom("object", ["object", "null"], ["string", "array"], "string"),
    properties: fc.dictionary(name, leaf),
    required: fc.uniqueArray(name),
    additionalProperties: fc.boolean(),
    minProperties: fc.nat(2),
    not: fc.record({ required: fc.uniqueArray(name, { minLength: 1 }) }),
  },
  { requiredKeys: [] },
);
const schema = fc.oneof(members, fc.record({ anyOf: fc.array(members, { minLength: 1 }) }));
const input = fc.dictionary(
  name,
  fc.oneof(fc.string({ maxLength: 2 }), fc.integer(), fc.constant(null), fc.constant("x")),
);

const ajv = new Ajv2020({ strict: false });

describe("toolInputSchema", () => {
  it("says of every input what the endpoint's schema says", () => {
    fc.assert(
      fc.property(schema, fc.array(input, { maxLength: 8 }), (endpoint, inputs) => {
        const tool = toolInputSchema(endpoint);
        expect(tool["type"]).toBe("object");
        const [before, after] = [ajv.compile(endpoint), ajv.compile(tool)];
        for (const one of inputs) expect(after(one)).toBe(before(one));
      }),
      { numRuns: 50 },
    );
  });

  it("leaves a schema that says so already as it is", () => {
    const endpoint = { type: "object", properties: { a: { type: "string" } } };
    expect(toolInputSchema(endpoint)).toBe(endpoint);
    expect(isObjectSchema({ type: ["object", "null"] })).toBe(false);
  });
});

// MCP 2025-11-25 "Tool"
describe("withOutput", () => {
  it("has objects alone as schemas of properties for the older protocol, and means the same", () => {
    const properties = { any: true, none: false, a: { type: "string" } };
    const objects = { any: {}, none: { not: {} }, a: { type: "string" } };
    const object = { type: "object" as const };
    const output = { ...object, properties };
    const tool = { name: "t", inputSchema: { ...object, properties } };
    const { current, older } = withOutput(tool, output);
    expect(current).toEqual({ ...tool, outputSchema: output });
    const told = { ...object, properties: objects };
    expect(older).toEqual({ name: "t", inputSchema: told, outputSchema: told });
  });

  it("leaves a tool as it is whose properties have objects", () => {
    const tool = { name: "t", inputSchema: { type: "object" as const, properties: { a: {} } } };
    expect(withOutput(tool, {}).older).toBe(tool);
  });
});
