/** Schemas of OpenAPI as schemas of endpoints: translated, and whole in themselves. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseToml, toJson } from "../../src/base/toml-document.ts";
import { assembleSchema } from "../../src/openapi/assemble-schema.ts";
import { type Direction, SchemaReader } from "../../src/openapi/schema-reader.ts";
import { writeToml } from "../../src/openapi/write-toml.ts";
import type { JsonSchema } from "../../src/schema/json-schema.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { OPERATOR_SCHEMA_BOUNDS } from "../../src/schema/schema-bounds.ts";
import { checkSchema } from "../../src/schema/schema-check.ts";

type Schemas = Readonly<Record<string, unknown>>;

interface Choice {
  readonly openapi?: string;
  readonly direction?: Direction;
  readonly schemas?: Schemas;
}

function convert(
  schema: unknown,
  { openapi = "3.0.3", direction = "input", schemas = {} }: Choice = {},
) {
  const reader = new SchemaReader({ openapi, components: { schemas } }, direction);
  const assembled = assembleSchema(reader.read(schema), reader);
  expect(checkSchema(assembled.schema, OPERATOR_SCHEMA_BOUNDS)).toEqual([]);
  return { ...assembled, notes: reader.notes.messages };
}

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function isValid(schema: JsonSchema, value: unknown): boolean {
  const { compiled, problems } = createSchemaCompiler().compile(schema, { file: "x", key: "" });
  expect(problems).toEqual([]);
  return compiled?.check(value) === undefined;
}

describe("the dialect of OpenAPI 3.0", () => {
  it.each([
    [{ type: "string", nullable: true }, { type: ["string", "null"] }],
    [{ nullable: true }, {}],
    [
      { type: "string", nullable: true, enum: ["a", null] },
      { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] },
    ],
    [
      { type: "string", enum: ["a", null] },
      { type: "string", enum: ["a"] },
    ],
    [{ enum: [null] }, { type: "null" }],
    [
      { nullable: true, anyOf: [{ type: "string" }, { type: "integer" }] },
      { anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] },
    ],
    [
      { type: "number", minimum: 1, exclusiveMinimum: true },
      { type: "number", exclusiveMinimum: 1 },
    ],
    [
      { type: "number", minimum: 1, exclusiveMinimum: false },
      { type: "number", minimum: 1 },
    ],
    [
      { type: "string", example: "x", xml: {}, "x-y": 1 },
      { type: "string", examples: ["x"] },
    ],
    [
      { type: "array", items: [{ type: "string" }] },
      { type: "array", prefixItems: [{ type: "string" }] },
    ],
    [{ type: "string", default: null, format: "odd" }, { type: "string" }],
    [
      { type: "string", format: "int64" },
      { type: "string", format: "int64" },
    ],
    [
      { type: "object", required: true, properties: {} },
      { type: "object", properties: {} },
    ],
    [
      { type: "object", required: ["a", "a", 1] },
      { type: "object", required: ["a"] },
    ],
    [
      { allOf: [{ type: "string" }], description: "d" },
      { type: "string", description: "d" },
    ],
    [{ description: "One. Two\nthree." }, { description: "One." }],
  ])("%j is %j", (schema, expected) => {
    expect(convert(schema).schema).toEqual(expected);
  });

  it.each(["3.0.3", "3.1.0"])("of %s lets null through wherever its author means it", (openapi) => {
    const schemas = { User: { type: "object", properties: { name: { type: "string" } } } };
    const properties = {
      assignee: { allOf: [ref("User"), { nullable: true, description: "Whose it is." }] },
      follower: { $ref: "#/components/schemas/User", nullable: true },
      due: { type: "string", nullable: true },
      owner: { allOf: [ref("User"), { description: "Whose it was." }] },
    };
    const { schema } = convert({ type: "object", properties }, { openapi, schemas });
    expect(isValid(schema, { assignee: null, follower: null, due: null })).toBe(true);
    expect(isValid(schema, { assignee: { name: "Ada" } })).toBe(true);
    expect(isValid(schema, { assignee: { name: 7 } })).toBe(false);
    expect(isValid(schema, { owner: null })).toBe(false);
  });

  it("notes what it leaves out", () => {
    const { schema, notes } = convert({
      type: "file",
      pattern: "(",
      minLength: "1",
      colour: "red",
    });
    expect(schema).toEqual({});
    expect(notes).toHaveLength(4);
    expect(notes.join()).toMatch(/"file".*"\(".*"minLength".*"colour"/);
  });

  it("says what should stand where a keyword is left out", () => {
    expect(convert({ type: "string", enum: [] }).notes).toEqual([
      'the schema keyword "enum" is an array where a list of one or more values is expected, left out',
    ]);
  });
});

describe("the notes of a document", () => {
  it("have an end, and say that there are more", () => {
    const keywords = Array.from({ length: 300 }, (_, at) => [`k${at}`, at] as const);
    const { notes } = convert(Object.fromEntries(keywords));
    expect(notes).toHaveLength(201);
    expect(notes.at(-1)).toBe("there is more like this, which is not listed");
    expect(convert(Object.fromEntries(keywords.slice(0, 200))).notes).toHaveLength(200);
  });
});

describe("OpenAPI 3.1", () => {
  it("passes JSON Schema through, but for what TOML and the vocabulary have not", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "https://x.example/y",
      type: ["string", "null"],
      enum: ["a", null],
      examples: ["a", null],
      if: { const: "a" },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { minLength: 1 },
    };
    const { schema: converted } = convert(schema, { openapi: "3.1.0" });
    expect(isValid(converted, "a")).toBe(true);
    expect(isValid(converted, null)).toBe(true);
    expect(isValid(converted, "b")).toBe(false);
    expect(toJson(parseToml(writeToml({ converted })).table?.["converted"])).toEqual(converted);
  });

  it("keeps what is said beside a reference", () => {
    const schemas = { Name: { type: "string", description: "A name." } };
    const choice = { openapi: "3.1.0", schemas };
    expect(convert({ ...ref("Name"), description: "Yours." }, choice).schema).toEqual({
      ...{ type: "string", description: "Yours." },
    });
    expect(isValid(convert({ ...ref("Name"), minLength: 2 }, choice).schema, "x")).toBe(false);
    // In 3.0 what stands beside a reference says nothing.
    expect(isValid(convert({ ...ref("Name"), minLength: 2 }, { schemas }).schema, "x")).toBe(true);
  });
});

describe("properties that are for one direction", () => {
  const schemas = { Id: { type: "integer", readOnly: true } };
  const schema = {
    type: "object",
    required: ["id", "secret", "name"],
    properties: {
      id: ref("Id"),
      secret: { type: "string", writeOnly: true },
      name: { type: "string" },
    },
  };

  it.each([
    ["input", ["secret", "name"]],
    ["output", ["id", "name"]],
  ] as const)("an %s has %j", (direction, names) => {
    const { schema: converted } = convert(schema, { direction, schemas });
    expect(converted["required"]).toEqual(names);
    expect(Object.keys(converted["properties"] as object)).toEqual(names);
  });

  it.each([
    ["another branch", { allOf: [ref("User"), { required: ["secret", "name"] }] }],
    ["the schema around", { allOf: [ref("User")], required: ["secret", "name"] }],
    [
      "a branch of a branch",
      { allOf: [ref("User"), { allOf: [{ required: ["secret", "name"] }] }] },
    ],
    ["what stands beside a reference", { ...ref("User"), required: ["secret", "name"] }],
  ])("are not required by %s", (_, source) => {
    const user = { ...schema, required: undefined };
    const choice = { openapi: "3.1.0", direction: "output", schemas: { ...schemas, User: user } };
    const { schema: converted } = convert({ type: "array", items: source }, choice as Choice);
    expect(isValid(converted, [{ name: "x" }])).toBe(true);
    expect(isValid(converted, [{ id: 1 }])).toBe(false);
  });
});

describe("allOf", () => {
  it("is one object when it is made of plain ones, whoever closed himself", () => {
    const schemas = {
      Base: { type: "object", required: ["id"], properties: { id: { type: "string" } } },
      Pet: {
        allOf: [
          ref("Base"),
          { properties: { name: { type: "string" } }, additionalProperties: false },
        ],
        required: ["name"],
      },
    };
    expect(convert(ref("Pet"), { schemas }).schema).toEqual({
      type: "object",
      required: ["id", "name"],
      properties: { id: { type: "string" }, name: { type: "string" } },
    });
  });

  it("is nothing but words when it is made of nothing else", () => {
    const words = [{}, { example: "Aaron" }, { description: "Any value." }];
    const { schema } = convert({ type: "object", additionalProperties: { allOf: words } });
    expect(isValid(schema, { name: "Aaron", size: 3 })).toBe(true);
  });

  it("stays when it is more, and judges the same", () => {
    const { schema } = convert({ allOf: [{ minimum: 1 }, { maximum: 3, not: { const: 2 } }] });
    expect([0, 1, 2, 3, 4].filter((value) => isValid(schema, value))).toEqual([1, 3]);
  });
});

describe("a discriminator", () => {
  const schemas = {
    Cat: { type: "object", properties: { kind: { type: "string" }, lives: { type: "integer" } } },
    Dog: { type: "object", properties: { kind: { type: "string" }, tricks: { type: "integer" } } },
  };
  const discriminator = { propertyName: "kind", mapping: { feline: ref("Cat").$ref } };
  const { schema } = convert({ oneOf: [ref("Cat"), ref("Dog")], discriminator }, { schemas });

  it.each([
    [{ kind: "feline", lives: 9 }, true],
    [{ kind: "Dog", tricks: 1 }, true],
    [{ kind: "Cat" }, false],
    [{ kind: "feline", lives: "many" }, false],
    [{ lives: 9 }, false],
  ])("takes %j: %s", (value, expected) => {
    expect(isValid(schema, value)).toBe(expected);
  });
});

describe("a discriminator that a branch does not require", () => {
  const discriminator = { propertyName: "type" };
  const branch = (name: string, ...required: readonly string[]) => ({
    ...{ type: "object", required },
    properties: { type: { type: "string", enum: [name] }, role: { type: "string" } },
  });
  const takes = (schemas: Schemas, value: unknown): boolean => {
    const oneOf = Object.keys(schemas).map(ref);
    return isValid(convert({ oneOf, discriminator }, { openapi: "3.1.0", schemas }).schema, value);
  };

  it("may be absent there, and is judged where it is not", () => {
    const one = { message: branch("message", "role"), call: branch("call", "type") };
    expect(takes(one, { role: "user" })).toBe(true);
    expect(takes(one, { type: "message", role: "user" })).toBe(true);
    expect(takes(one, { type: "message" })).toBe(false);
    expect(takes(one, { type: "other", role: "user" })).toBe(false);
    const both = { message: branch("message", "role"), note: branch("note", "role") };
    expect(takes(both, { role: "user" })).toBe(true);
    expect(takes(both, { type: "note", role: "user" })).toBe(true);
  });
});

describe("a discriminator beside an enum of the property", () => {
  const kind = (...values: readonly unknown[]) => ({ kind: { type: "string", enum: values } });
  const branch = (properties: object, rest: object = {}) => ({
    ...{ type: "object", properties, ...rest },
  });
  const either = (rest: object = {}) => ({
    oneOf: [ref("Cat"), ref("Dog")],
    discriminator: { propertyName: "kind" },
    ...rest,
  });
  const taken = (schemas: Schemas, schema: object = either()) => {
    const { schema: converted } = convert(schema, { openapi: "3.1.0", schemas });
    return ["cat", "kitten", "dog", "Cat", "DOG"].filter((value) =>
      isValid(converted, { kind: value }),
    );
  };

  it("leaves each branch the values that it declares", () => {
    const Cat = branch(kind("cat", "kitten"));
    expect(taken({ Cat, Dog: branch(kind("dog")) })).toEqual(["cat", "kitten", "dog"]);
    expect(taken({ Cat, Dog: branch({ kind: { const: "DOG" } }) })).toEqual([
      ...["cat", "kitten", "DOG"],
    ]);
  });

  it("tells branches that inherit the enum apart by the value that is spelt like their name", () => {
    const allOf = [ref("Pet")];
    const schemas = { Pet: branch(kind("cat", "dog")), Cat: { allOf }, Dog: { allOf } };
    expect(taken(schemas)).toEqual(["cat", "dog"]);
    const { schema } = convert(either(), { schemas });
    expect(schema["oneOf"]).toMatchObject([
      { properties: { kind: { const: "cat" } } },
      { properties: { kind: { const: "dog" } } },
    ]);
  });

  it("counts the enum that stands beside it", () => {
    const schemas = { Cat: branch({}), Dog: branch({}) };
    expect(taken(schemas, either(branch(kind("cat", "dog"))))).toEqual(["cat", "dog"]);
  });

  it("takes a value of branches that nothing tells apart", () => {
    const schemas = { Cat: branch(kind("kitten", "dog")), Dog: branch(kind("kitten", "dog")) };
    expect(taken(schemas)).toEqual(["kitten", "dog"]);
    const number = branch({ kind: { type: "integer" } });
    const { schema } = convert(either(), { schemas: { Cat: number, Dog: number } });
    expect(isValid(schema, { kind: 1 })).toBe(true);
  });

  it("keeps the values of a mapping that the property can have", () => {
    const mapping = { cat: "Cat", feline: "Cat", hound: "Dog" };
    const discriminator = { propertyName: "kind", mapping };
    const schemas = { Cat: branch(kind("cat")), Dog: branch(kind("dog")) };
    expect(taken(schemas, either({ discriminator }))).toEqual(["cat", "dog"]);
  });

  it("reads schemas that are made of each other without end", () => {
    const loop = { allOf: [ref("Cat"), ref("Dog")], properties: { kind: ref("Dog") } };
    expect(() => convert(either(), { schemas: { Cat: loop, Dog: loop } })).not.toThrow();
  });
});

describe("references", () => {
  it("are written out, however deep", () => {
    const schemas = {
      A: { type: "object", properties: { b: ref("B") } },
      B: { type: "array", items: { $ref: "#/components/schemas/A~1C/properties/x%20y" } },
      "A/C": { properties: { "x y": { type: "boolean" } } },
    };
    expect(convert(ref("A"), { schemas }).schema).toEqual({
      type: "object",
      properties: { b: { type: "array", items: { type: "boolean" } } },
    });
  });

  it("become definitions where a schema contains itself", () => {
    const schemas = {
      "Tree Node": {
        type: "object",
        required: ["value"],
        properties: {
          value: { type: "integer" },
          children: { type: "array", items: ref("Tree Node") },
        },
      },
    };
    const { schema, isCut } = convert({ type: "array", items: ref("Tree Node") }, { schemas });
    expect(isCut).toBe(false);
    expect(Object.keys(schema["$defs"] as object)).toEqual(["Tree_Node"]);
    expect(isValid(schema, [{ value: 1, children: [{ value: 2 }] }])).toBe(true);
    expect(isValid(schema, [{ value: 1, children: [{ value: "2" }] }])).toBe(false);
  });

  it("become definitions where writing them out would take too long", () => {
    const text = { type: "string", description: "x".repeat(250) };
    const properties = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`p${at}`, text]));
    const schemas = { Big: { type: "object", properties } };
    const uses = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`u${at}`, ref("Big")]));
    const { schema, isCut } = convert({ type: "object", properties: uses }, { schemas });
    expect(isCut).toBe(false);
    expect(Object.keys(schema["$defs"] as object)).toEqual(["Big"]);
  });

  it("end somewhere in a schema of thousands, whose near parts are still described", () => {
    const schemas: Record<string, unknown> = {};
    for (let at = 0; at < 3000; at += 1) {
      const next = [1, 2, 3].map((step) => [`p${step}`, ref(`S${(at * 3 + step) % 3000}`)]);
      schemas[`S${at}`] = {
        type: "object",
        required: ["id"],
        properties: { id: { type: "string" }, ...Object.fromEntries(next) },
      };
    }
    const { schema, isCut } = convert(ref("S0"), { schemas });
    expect(isCut).toBe(true);
    expect(isValid(schema, { id: "1", p1: { id: "2" } })).toBe(true);
    expect(isValid(schema, { id: "1", p1: { id: 2 } })).toBe(false);
  });

  it("that are cut off refuse nothing by what is left of them", () => {
    const names = Array.from({ length: 60 }, (_, index) => `Kind${index}`);
    const text = { type: "string", description: "x".repeat(250) };
    const schemas = Object.fromEntries(
      names.map((name) => [
        name,
        {
          ...{ type: "object", required: ["kind"] },
          properties: { kind: { enum: [name] }, a: text, b: text, c: text },
        },
      ]),
    );
    const kind = { oneOf: names.map(ref), discriminator: { propertyName: "kind" } };
    const other = { not: { anyOf: names.map(ref) } };
    const open = { allOf: [ref("Kind0")], unevaluatedProperties: false };
    const source = { type: "object", properties: { kind, other, open } };
    const { schema, isCut } = convert(source, { openapi: "3.1.0", schemas });
    expect(isCut).toBe(true);
    const value = { kind: { kind: "Kind7" }, other: { kind: 7 }, open: { kind: "Kind0" } };
    expect(isValid(schema, value)).toBe(true);
  });

  it("that would be written out without end are not", () => {
    const schemas: Record<string, unknown> = { L40: { type: "string" } };
    for (let level = 0; level < 40; level += 1) {
      const next = ref(`L${level + 1}`);
      schemas[`L${level}`] = {
        allOf: [next, next],
        anyOf: [next, next],
        properties: { a: next, b: next },
      };
    }
    expect(convert(ref("L0"), { schemas }).isCut).toBe(true);
  });
});

describe("any schema at all", () => {
  const keyword = fc.constantFrom(
    ...["type", "properties", "items", "allOf", "oneOf", "anyOf", "not", "required", "enum"],
    ...["nullable", "$ref", "format", "pattern", "minimum", "exclusiveMinimum", "const", "default"],
    ...["additionalProperties", "discriminator", "description", "example", "examples", "__proto__"],
    ...[
      "dependencies",
      "patternProperties",
      "minLength",
      "readOnly",
      "x-y",
      "$defs",
      "prefixItems",
    ],
  );
  const leaf = fc.oneof(
    fc.constantFrom("string", "object", "array", "null", "file", "#/components/schemas/A", "("),
    fc.constantFrom("#", "#/components/schemas/B", "#/nothing", "int32", "", "__proto__"),
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "medium", withCrossShrink: true },
      leaf,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.oneof(keyword, fc.string({ maxLength: 3 })), tie("value"), { maxKeys: 5 }),
    ),
  }));

  it("becomes one that an endpoint can have, and that TOML can hold", () => {
    fc.assert(
      fc.property(
        value,
        value,
        value,
        fc.constantFrom("3.0.0", "3.1.0"),
        (schema, A, B, openapi) => {
          const { schema: converted } = convert(schema, { openapi, schemas: { A, B } });
          const { table, fault } = parseToml(writeToml({ converted }));
          expect(fault).toBeUndefined();
          expect(toJson(table?.["converted"])).toEqual(converted);
        },
      ),
      { numRuns: 500 },
    );
  });
});
