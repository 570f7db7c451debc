import { describe, expect, it } from "vitest";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { schemaExample } from "../../src/schema/schema-example.ts";

const compiler = createSchemaCompiler();

function isValid(schema: object, value: unknown): boolean {
  const { compiled, problems } = compiler.compile({ ...schema }, { file: "test", key: "" });
  if (compiled === undefined) throw new Error(JSON.stringify(problems));
  return compiled.check(value) === undefined;
}

const FORMATS = [
  ...["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"],
  ...["uri-reference", "uri-template", "json-pointer", "relative-json-pointer", "regex"],
];

describe("schemaExample", () => {
  it.each(FORMATS)("has a text of the format %s", (format) => {
    const schema = { type: "string", format };
    expect(isValid(schema, schemaExample(schema, "required"))).toBe(true);
  });

  it.each<object>([
    { type: "string" },
    { type: "string", minLength: 20 },
    { type: "string", maxLength: 3 },
    { type: "string", pattern: "^[A-Z]{3}$" },
    { type: "integer" },
    { type: "integer", minimum: 10, maximum: 12 },
    { type: "integer", exclusiveMinimum: 10 },
    { type: "integer", maximum: -5 },
    { type: "integer", multipleOf: 7, minimum: 15 },
    { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 0.5 },
    { type: "number", multipleOf: 0.5, minimum: 2.2 },
    { type: ["null", "integer"] },
    { type: "boolean" },
    { type: "null" },
    { const: "x" },
    { enum: ["b", "c"] },
    { type: "string", default: "d" },
    { type: "string", examples: ["e"] },
    { type: "array", minItems: 3, uniqueItems: true, items: { type: "string" } },
    { type: "array", minItems: 2, uniqueItems: true, items: { type: "integer", minimum: 4 } },
    { type: "array", prefixItems: [{ const: 1 }, { const: 2 }], minItems: 2 },
    { anyOf: [{ type: "integer" }, { type: "string" }] },
    { oneOf: [{ const: "one" }, { const: "two" }] },
    {
      allOf: [{ type: "object", required: ["a"] }, { properties: { a: { type: "integer" } } }],
    },
    {
      type: "object",
      required: ["to"],
      properties: { to: { $ref: "#/$defs/address" } },
      $defs: {
        address: { type: "object", required: ["city"], properties: { city: { type: "string" } } },
      },
      additionalProperties: false,
    },
    { type: "object", required: ["__proto__", "constructor"] },
  ])("is valid by %j", (schema) => {
    const value = schemaExample({ ...schema }, "required");
    expect(isValid(schema, value), JSON.stringify(value)).toBe(true);
  });

  it("has what is required, or all there is", () => {
    const properties = { a: { type: "string" }, b: { type: "integer" } };
    const schema = { type: "object", required: ["a"], properties };
    expect(schemaExample(schema, "required")).toEqual({ a: "example" });
    expect(schemaExample(schema, "all")).toEqual({ a: "example", b: 1 });
  });

  it("has days to come, one after the other", () => {
    const date = { type: "string", format: "date" };
    const schema = {
      type: "object",
      properties: { from: date, to: date },
      required: ["from", "to"],
    };
    expect(schemaExample(schema, "required")).toEqual({ from: "2030-01-15", to: "2030-01-16" });
  });

  it("comes to an end where a schema refers to itself", () => {
    const required = Array.from({ length: 200 }, (_, at) => `p${at}`);
    const properties = Object.fromEntries(required.map((name) => [name, { $ref: "#" }]));
    const startedAt = performance.now();
    schemaExample({ type: "object", required, properties }, "required");
    const branch = { allOf: [{ $ref: "#" }, { $ref: "#" }, { $ref: "#" }] };
    schemaExample(branch, "required");
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });
});
