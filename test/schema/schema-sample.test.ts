import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { prepareMeteredCheck } from "../../src/schema/metered-schema.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { PLAIN_STYLE, schemaSample } from "../../src/schema/schema-sample.ts";
import { cpuMs } from "../support/cpu-time.ts";

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

describe("schemaSample", () => {
  it.each(FORMATS)("has a text of the format %s", (format) => {
    const schema = { type: "string", format };
    expect(isValid(schema, schemaSample(schema))).toBe(true);
  });

  it.each<object>([
    { type: "string" },
    { type: "string", minLength: 20 },
    { type: "string", maxLength: 3 },
    { type: "string", minLength: 40, maxLength: 41 },
    { type: "array", contains: { const: 7 }, minContains: 2 },
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
    const value = schemaSample({ ...schema });
    expect(isValid(schema, value), JSON.stringify(value)).toBe(true);
  });

  it("has what is required, or all there is", () => {
    const properties = { a: { type: "string" }, b: { type: "integer" } };
    const schema = { type: "object", required: ["a"], properties };
    expect(schemaSample(schema)).toEqual({ a: "example" });
    expect(schemaSample(schema, { extent: "all" })).toEqual({ a: "example", b: 1 });
  });

  it("has days to come, one after the other", () => {
    const date = { type: "string", format: "date" };
    const schema = {
      type: "object",
      properties: { from: date, to: date },
      required: ["from", "to"],
    };
    expect(schemaSample(schema)).toEqual({ from: "2030-01-15", to: "2030-01-16" });
  });

  it("takes any JSON for a schema", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (schema) => {
        schemaSample(schema);
      }),
    );
  });

  it("comes to an end where a schema refers to itself", () => {
    const required = Array.from({ length: 200 }, (_, at) => `p${at}`);
    const properties = Object.fromEntries(required.map((name) => [name, { $ref: "#" }]));
    const startedAt = cpuMs();
    schemaSample({ type: "object", required, properties });
    const branch = { allOf: [{ $ref: "#" }, { $ref: "#" }, { $ref: "#" }] };
    schemaSample(branch);
    expect(cpuMs() - startedAt).toBeLessThan(1000);
  });
});

describe("a sample in plain words", () => {
  const style = PLAIN_STYLE;
  const scalar = fc.oneof(
    fc.constant({ type: "boolean" }),
    fc.record({ type: fc.constant("integer"), minimum: fc.integer({ min: -9, max: 99 }) }),
    fc.record({ type: fc.constant("integer"), exclusiveMaximum: fc.integer({ min: -9, max: 9 }) }),
    fc.record({ type: fc.constant("number"), exclusiveMinimum: fc.integer({ min: -9, max: 9 }) }),
    fc.record({ type: fc.constant("integer"), minimum: fc.nat(99), multipleOf: fc.constant(7) }),
    fc.record({ type: fc.constant("string"), minLength: fc.nat(40) }),
    fc.record({ type: fc.constant("string"), maxLength: fc.nat(9) }),
    fc.record({
      type: fc.constant("string"),
      format: fc.constantFrom("date-time", "email", "uuid", "uri", "ipv4"),
    }),
    fc.record({ enum: fc.array(fc.integer(), { minLength: 1, maxLength: 4 }) }),
    fc.record({ const: fc.string() }),
    fc.constant({ type: ["null", "string"] }),
  );
  const { schema } = fc.letrec<{ schema: object }>((tie) => ({
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      scalar,
      fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(3) }),
      fc.record({ allOf: fc.tuple(tie("schema")) }),
      fc.record({ oneOf: fc.tuple(tie("schema")) }),
      fc
        .dictionary(fc.constantFrom("a", "b", "c"), tie("schema"))
        .map((properties) => ({ type: "object", properties, required: Object.keys(properties) })),
    ),
  }));

  it("satisfies the schema that it is made from", () => {
    fc.assert(
      fc.property(schema, (made) => {
        const one = made as Readonly<Record<string, unknown>>;
        expect(prepareMeteredCheck(one)(schemaSample(one, { style }))).toBeUndefined();
      }),
    );
  });

  it("follows references, and ends where they do not", () => {
    const tree = {
      $ref: "#/$defs/node",
      $defs: {
        node: {
          type: "object",
          required: ["next"],
          properties: { next: { $ref: "#/$defs/node" } },
        },
      },
    };
    expect(JSON.stringify(schemaSample(tree, { style })).length).toBeLessThan(1000);
    const wide = {
      type: "array",
      minItems: 1e9,
      items: { type: "array", minItems: 1e9, items: {} },
    };
    expect(JSON.stringify(schemaSample(wide, { style })).length).toBeLessThan(100_000);
  });
});
