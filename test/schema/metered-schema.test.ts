import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../src/schema/json-schema.ts";
import { FORMATS } from "../../src/schema/keywords-and-formats.ts";
import { prepareMeteredCheck } from "../../src/schema/metered-schema.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { SCHEMA_TYPES } from "../../src/schema/schema-vocabulary.ts";
import { cpuMs } from "../support/cpu-time.ts";

const BOOKING: JsonSchema = {
  type: "object",
  required: ["guest_id"],
  additionalProperties: false,
  properties: {
    guest_id: { type: "string", format: "uuid" },
    nights: { type: "integer", minimum: 1, multipleOf: 2 },
    room: { enum: ["single", "double"] },
    "a/b~c": { type: ["string", "null"], minLength: 2, maxLength: 3, pattern: "^[a-z]+$" },
    tags: { type: "array", items: { type: "string" }, maxItems: 2, uniqueItems: true },
    size: { const: { width: 1 } },
  },
  dependentRequired: { room: ["nights"] },
};

function compiledCheck(schema: JsonSchema): (value: unknown) => unknown {
  const { compiled, problems } = createSchemaCompiler().compile(schema, { file: "", key: "" });
  if (compiled === undefined) throw new Error(JSON.stringify(problems));
  return (value) => compiled.check(value, true);
}

function conditionalSchema(condition: unknown, met: unknown, unmet: unknown): JsonSchema {
  return Object.fromEntries([
    ["if", condition],
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    ["then", met],
    ["else", unmet],
  ]);
}

function repeat<Item>(count: number, make: (index: number) => Item): readonly Item[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

describe("prepareMeteredCheck", () => {
  it("judges as the compiled validator does", () => {
    fc.assert(
      fc.property(
        anySchema(),
        fc.array(anyValue(), { minLength: 1, maxLength: 8 }),
        (schema, values) => {
          const { compiled, problems } = createSchemaCompiler().compile(schema, {
            file: "",
            key: "",
          });
          expect(problems).toEqual([]);
          const check = prepareMeteredCheck(schema);
          for (const value of values) {
            const metered = check(value);
            const other = compiled?.check(value);
            if ((metered === undefined) !== (other === undefined)) {
              expect({ schema, value, metered }).toEqual({ schema, value, metered: other });
            }
          }
        },
      ),
      // The same ones each time: this is no place to find more errors of the other one.
      { numRuns: 600, seed: 2020 },
    );
  });

  it.each<[string, JsonSchema, unknown]>([
    ["a missing member and one too many", BOOKING, { nigths: 1 }],
    [
      "members of wrong kinds",
      BOOKING,
      { guest_id: "x", nights: 0, room: "king", "a/b~c": 1, tags: {}, size: { width: 2 } },
    ],
    ["texts and lists", BOOKING, { guest_id: "", "a/b~c": "A", tags: ["a", 1, "a"], nights: 3 }],
    ["a dependency", BOOKING, { guest_id: "123e4567-e89b-12d3-a456-426614174000", room: "single" }],
    ["no object at all", BOOKING, undefined],
    ["branches", { anyOf: [{ type: "string" }, { minimum: 3 }] }, 1],
    ["exclusive branches", { oneOf: [{ type: "integer" }, { minimum: 0 }] }, 1],
    ["a negation", { properties: { a: { not: { type: "null" } } } }, { a: null }],
    ["names", { propertyNames: { maxLength: 1 } }, { ab: 1 }],
    ["too few", { minProperties: 2 }, { a: 1 }],
    ["a reference", { items: { $ref: "#/$defs/x" }, $defs: { x: { type: "null" } } }, [null, 1]],
    ["a false schema", { properties: { a: false } }, { a: 1 }],
    [
      "an unevaluated member",
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { b: 1 },
    ],
    ["a condition", conditionalSchema({ type: "string" }, { minLength: 3 }, true), "a"],
    ["limits", { exclusiveMinimum: 1, maximum: 0 }, 1],
    ["items beyond a prefix", { prefixItems: [{}], items: false }, [1, 2]],
  ])("says of %s what the compiled validator says", (_, schema, value) => {
    const violations = prepareMeteredCheck(schema)(value);
    expect(violations).toBeDefined();
    const sorted = (list: unknown): unknown =>
      Array.isArray(list) && list.map((one) => JSON.stringify(one)).sort();
    expect(sorted(violations)).toEqual(sorted(compiledCheck(schema)(value)));
  });

  // Where the other one errs; JSON Schema 2020-12 §10.3.1.3, §11.2
  it.each<[JsonSchema, unknown, boolean]>([
    [{ contains: { type: "string" }, unevaluatedItems: false }, ["a"], true],
    [{ contains: { type: "string" }, unevaluatedItems: false }, ["a", 1], false],
    [{ prefixItems: [true], contains: { type: "string" } }, [], false],
    [{ contains: true, minContains: 0, maxContains: 1 }, [1, 2], false],
    [{ contains: false, minContains: 0 }, [1], true],
    [
      {
        unevaluatedProperties: false,
        anyOf: [{ properties: { a: {} } }, { properties: { b: {} } }],
      },
      { a: 1, b: 1 },
      true,
    ],
  ])("judges %j of %j as %s", (schema, value, isValid) => {
    expect(prepareMeteredCheck(schema)(value) === undefined).toBe(isValid);
  });

  it("knows the same formats", () => {
    for (const format of FORMATS.keys()) {
      const check = prepareMeteredCheck({ format });
      const compiled = compiledCheck({ format });
      const judged = FORMATTED.map((value) => check(value) === undefined);
      expect([format, judged]).toEqual([
        format,
        FORMATTED.map((value) => compiled(value) === undefined),
      ]);
    }
  });

  it("lists at most twenty violations", () => {
    const check = prepareMeteredCheck({ items: { type: "string" } });
    expect(check(repeat(50, () => 1))).toHaveLength(20);
  });

  it("sees own members only, whatever a prototype has", () => {
    expect(prepareMeteredCheck({ required: ["constructor"] })({})).toHaveLength(1);
    const closed = prepareMeteredCheck({ additionalProperties: false });
    expect(closed(JSON.parse('{"__proto__":{"admin":true}}'))?.[0]?.path).toBe("/__proto__");
    const hostile: unknown = JSON.parse('[{"valueOf":null,"toString":null},{"a":"\\ud800"}]');
    expect(
      prepareMeteredCheck({ uniqueItems: true, items: { enum: [{ a: 1 }] } })(hostile),
    ).toHaveLength(2);
  });

  it.each<[string, JsonSchema, unknown]>([
    ["a recursive schema", { items: { $ref: "#" } }, DEEP],
    ["an enum of structures", { enum: [[]] }, DEEP],
    ["unique items", { uniqueItems: true }, DEEP],
    ["a schema that refers to itself", { $ref: "#" }, 1],
  ])("calls a bottomless value too deep for %s", (_, schema, value) => {
    expect(prepareMeteredCheck(schema)(value)).toEqual([
      { path: "", keyword: "depth", message: "is nested too deeply" },
    ]);
  });

  it.each<[string, JsonSchema, unknown]>([
    [
      "recursion that doubles",
      { allOf: [{ items: { $ref: "#" } }, { items: { $ref: "#" } }] },
      nested(100),
    ],
    [
      "many branches over many items",
      { allOf: repeat(300, (at) => ({ contains: { const: -at } })) },
      MANY,
    ],
    ["items that may be anything", { allOf: repeat(300, () => ({ items: true })) }, MANY],
    ["items among which is any", { allOf: repeat(300, () => ({ contains: true })) }, MANY],
    ["comparisons with a large value", { anyOf: repeat(300, (at) => ({ enum: [{ at }] })) }, WIDE],
    ["uniqueness, again and again", { allOf: repeat(300, () => ({ uniqueItems: true })) }, MANY],
    [
      "many required names",
      {
        items: {
          not: { required: repeat(4000, String) },
          anyOf: [{ required: repeat(4000, String) }, true],
        },
      },
      repeat(50_000, () => ({})),
    ],
    [
      "members that need many others",
      { items: { dependentRequired: { key1: repeat(4000, (at) => `key${at}`) } } },
      repeat(50_000, () => WIDE),
    ],
    [
      "many members that could be there",
      { items: { properties: Object.fromEntries(repeat(4000, (at) => [`k${at}`, true])) } },
      repeat(50_000, () => ({})),
    ],
    [
      "many members that would have a schema",
      { items: { dependentSchemas: Object.fromEntries(repeat(4000, (at) => [`k${at}`, false])) } },
      repeat(50_000, () => ({})),
    ],
    ["counts of many names", { allOf: repeat(300, () => ({ minProperties: 1 })) }, WIDE],
    [
      "a pattern over long texts",
      { not: { pattern: "(?:a?){200}(?:a){200}b" } },
      "a".repeat(100_000),
    ],
    [
      "patterns over many names",
      {
        patternProperties: Object.fromEntries(repeat(32, (at) => [`^k.*${at}$`, true])),
        additionalProperties: false,
      },
      WIDE,
    ],
    [
      "lengths of a long text",
      { allOf: repeat(300, () => ({ minLength: 60_000 })) },
      "ab".repeat(50_000),
    ],
    [
      "formats of a long text",
      { allOf: repeat(300, () => ({ not: { format: "uri" } })) },
      "a ".repeat(50_000),
    ],
  ])("stops when %s would take too long", (_, schema, value) => {
    const startedAt = cpuMs();
    expect(prepareMeteredCheck(schema)(value)).toEqual([
      { path: "", keyword: "cost", message: "takes too long to check against this schema" },
    ]);
    // A tenth of this on a machine that does nothing else; without the meter it would be minutes.
    expect(cpuMs() - startedAt).toBeLessThan(3_000);
  });

  it("has time for a body of a megabyte", () => {
    const record = {
      type: "object",
      properties: {
        id: { pattern: "^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$" },
        size: { type: "integer" },
      },
      additionalProperties: false,
    };
    const value = repeat(15_000, (size) => ({ id: "123e4567-e89b-12d3-a456-426614174000", size }));
    expect(prepareMeteredCheck({ type: "array", items: record })(value)).toBeUndefined();
  });
});

function nested(levels: number): unknown {
  let value: unknown = [];
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

const FORMATTED = [
  ...[
    "",
    "a",
    "2024-02-29",
    "2024-01-01T10:00:00Z",
    "10:00:00Z",
    "P3D",
    "a@b.example",
    "a.example",
  ],
  ...["127.0.0.1", "::1", "https://a.example/{b}?c#d", "/a/0", "#/a", "0/a", "(", "aGk=", "é"],
  ...["123e4567-e89b-12d3-a456-426614174000", 1, 1.5, 3_000_000_000, 1e300, null, {}],
];

const DEEP = nested(50_000);
const MANY = repeat(100_000, () => 0);
const WIDE = Object.fromEntries(repeat(30_000, (index) => [`key${index}`, index]));

const NAMES = ["a", "b", "ab", "__proto__", "constructor", "x/y~z"];

function anyValue(): fc.Arbitrary<unknown> {
  const scalar = fc.constantFrom<unknown>(
    "",
    "a",
    "ab",
    "é😀",
    0,
    1,
    2,
    1.5,
    -3,
    true,
    false,
    null,
  );
  return fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      scalar,
      fc.array(tie("value"), { maxLength: 4 }),
      fc
        .array(fc.tuple(fc.constantFrom(...NAMES), tie("value")), { maxLength: 4 })
        .map((members) => Object.fromEntries(members)),
    ),
  })).value;
}

function anySchema(): fc.Arbitrary<JsonSchema> {
  const count = fc.nat(3);
  const name = fc.constantFrom("a", "b", "ab", "constructor", "x/y~z");
  const names = fc.uniqueArray(name, { maxLength: 3 });
  const number = fc.constantFrom(-1, 0, 1, 1.5, 2);
  const { node } = fc.letrec<{ node: JsonSchema | boolean; object: JsonSchema }>((tie) => {
    const schema = tie("node");
    const list = fc.array(schema, { minLength: 1, maxLength: 3 });
    const byName = fc.dictionary(name, schema, { maxKeys: 3, noNullPrototype: true });
    const byPattern = fc.dictionary(fc.constantFrom("^a", "b$", "\\S"), schema, {
      maxKeys: 2,
      noNullPrototype: true,
    });
    const keywords = {
      type: fc.oneof(
        fc.constantFrom(...SCHEMA_TYPES),
        fc.uniqueArray(fc.constantFrom(...SCHEMA_TYPES), { minLength: 1, maxLength: 4 }),
      ),
      enum: fc.array(anyValue(), { minLength: 1, maxLength: 4 }),
      const: anyValue(),
      minimum: number,
      maximum: number,
      exclusiveMinimum: number,
      exclusiveMaximum: number,
      multipleOf: fc.constantFrom(1, 2, 0.5),
      minLength: count,
      maxLength: count,
      pattern: fc.constantFrom("^a", "b$", "."),
      format: fc.constantFrom("date", "int32"),
      minItems: count,
      maxItems: count,
      uniqueItems: fc.boolean(),
      prefixItems: list,
      items: schema,
      contains: schema,
      minProperties: count,
      maxProperties: count,
      required: names,
      dependentRequired: fc.dictionary(name, names, { maxKeys: 2, noNullPrototype: true }),
      properties: byName,
      patternProperties: byPattern,
      additionalProperties: schema,
      propertyNames: schema,
      dependentSchemas: byName,
      allOf: list,
      anyOf: list,
      oneOf: list,
      not: schema,
      unevaluatedProperties: schema,
      unevaluatedItems: schema,
      $ref: fc.constant("#/$defs/other"),
    };
    const arbs = Object.entries(keywords).map(([k, v]) =>
      (v as fc.Arbitrary<unknown>).map((x): Record<string, unknown> => ({ [k]: x })),
    );
    const conditional = fc
      .tuple(schema, schema, schema)
      .map((branches) => conditionalSchema(...branches));
    const contain = fc
      .tuple(schema, count, count)
      .map(([c, min, max]) => ({ contains: c, minContains: Math.min(min, max) }));
    return {
      object: fc
        .array(fc.oneof(...arbs, conditional, contain), { maxLength: 4 })
        .map((parts) => Object.assign({}, ...parts) as JsonSchema),
      node: fc.oneof(
        { depthSize: "small" },
        fc.boolean(),
        fc.constantFrom({ type: "string" }, { type: "integer" }),
        tie("object"),
      ),
    };
  });
  const plain = fc.constantFrom<JsonSchema>(
    { type: "string" },
    { properties: { a: { $ref: "#" } } },
    { items: { $ref: "#/$defs/other" } },
    { type: "array", unevaluatedItems: false },
  );
  return fc.tuple(node, plain).map(([root, other]) => ({
    ...(typeof root === "boolean" ? { not: { const: root } } : root),
    $defs: { other },
  }));
}
