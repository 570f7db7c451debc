import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { JsonSchema } from "../../src/schema/json-schema.ts";
import {
  type CompiledSchema,
  compileOwn,
  createSchemaCompiler,
  preparingGenerators,
} from "../../src/schema/schema.ts";
import { cpuMs } from "../support/cpu-time.ts";

const WHERE = { file: "endpoints/x.toml", key: "endpoint.input_schema" };

function compile(schema: JsonSchema): CompiledSchema {
  const { compiled, problems } = createSchemaCompiler().compile(schema, WHERE);
  expect(problems).toEqual([]);
  if (compiled === undefined) throw new Error("not compiled");
  return compiled;
}

function problemsOf(schema: JsonSchema): readonly string[] {
  const { compiled, problems } = createSchemaCompiler().compile(schema, WHERE);
  if (problems.length > 0) expect(compiled).toBeUndefined();
  return problems.map(({ key, message, hint }) => [key, message, hint].join(" | "));
}

const BOOKING: JsonSchema = {
  type: "object",
  required: ["guest_id"],
  additionalProperties: false,
  properties: {
    guest_id: { type: "string", format: "uuid" },
    nights: { type: "integer", minimum: 1 },
    room: { enum: ["single", "double"] },
    "a/b~c": { type: "string" },
  },
};

// JSON Schema 2020-12 §11
describe("unevaluated members and items", () => {
  const isThen = { properties: { foo: { const: "then" } }, required: ["foo"] };
  const baz = { properties: { baz: { type: "string" } }, required: ["baz"] };
  const closed = { unevaluatedProperties: false };

  it.each<[string, JsonSchema, unknown, boolean]>([
    ["`if` looked at", { if: isThen, else: baz, ...closed }, { foo: "then" }, true],
    [
      "`if` looked at, and failed",
      { if: isThen, else: baz, ...closed },
      { foo: "x", baz: "" },
      false,
    ],
    [
      "a branch looked at, and failed",
      { anyOf: [{ oneOf: [baz, true], properties: { a: true } }, true], ...closed },
      { baz: "", a: 1 },
      false,
    ],
    [
      "`contains` looked at",
      { prefixItems: [true], contains: { type: "string" }, unevaluatedItems: false },
      [1, "foo"],
      true,
    ],
    [
      "`contains` did not",
      { prefixItems: [true], contains: { type: "string" }, unevaluatedItems: false },
      [1, 2, "foo"],
      false,
    ],
    [
      "a schema inside looked at",
      { unevaluatedItems: { type: "boolean" }, anyOf: [{ items: { type: "string" } }, true] },
      ["foo", "bar"],
      true,
    ],
    [
      "a pattern that RE2 does not know looked at",
      { anyOf: [{ patternProperties: { "^(?!x)": true } }], ...closed },
      { a: 1 },
      true,
    ],
    [
      "it did not",
      { anyOf: [{ patternProperties: { "^(?!x)": true } }], ...closed },
      { x: 1 },
      false,
    ],
  ])("are those that nothing has: %s", (_, schema, value, isValid) => {
    expect(compile(schema).check(value) === undefined).toBe(isValid);
  });

  it.each([
    [[], false],
    [["a"], true],
    [["a", 1], true],
    [[1, "a"], false],
  ])("go with a prefix: %j", (value, isValid) => {
    const schema = { prefixItems: [{ type: "string" }], contains: { const: "a" } };
    expect(compile(schema).check(value) === undefined).toBe(isValid);
  });

  it("are found in a large value", () => {
    const many = Array.from({ length: 200_000 }, (_, index) => ({ index }));
    const row = { properties: { index: { type: "integer" } } };
    const schema = { items: { allOf: [row], unevaluatedProperties: false } };
    expect(compile(schema).check(many)).toBeUndefined();
    expect(compile(schema).check([...many, { more: 1 }])).toHaveLength(1);
  });
});

// AGTP-API §13.2
describe("a compiled schema", () => {
  it("answers undefined for a valid value", () => {
    const value = { guest_id: "123e4567-e89b-12d3-a456-426614174000", nights: 2 };
    expect(compile(BOOKING).check(value)).toBeUndefined();
  });

  it.each(["integer", "number"])("takes no number beyond all numbers for a %s", (type) => {
    const { n } = JSON.parse('{"n":1e999}');
    expect(compile({ type }).check(n)).toMatchObject([{ keyword: "type" }]);
    expect(compile({ type }).check(1e300)).toBeUndefined();
  });

  it("points at the missing member and at the one too many", () => {
    expect(compile(BOOKING).check({ nigths: 1 })).toEqual([
      { path: "/guest_id", keyword: "required", message: "is required" },
      {
        path: "/nigths",
        keyword: "additionalProperties",
        message: "is not a member that the schema declares",
      },
    ]);
  });

  it("lists every violation with its own pointer and keyword", () => {
    const violations = compile(BOOKING).check({
      guest_id: "x",
      nights: 0,
      room: "king",
      "a/b~c": 1,
    });
    expect(violations?.map(({ path, keyword }) => `${path} ${keyword}`)).toEqual([
      "/guest_id format",
      "/nights minimum",
      "/room enum",
      "/a~1b~0c type",
    ]);
    expect(violations?.[2]?.message).toBe('must be one of "single", "double"');
  });

  it("lists at most twenty violations", () => {
    const value = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, 1]));
    expect(compile(BOOKING).check(value)).toHaveLength(20);
  });

  it("names the first violation only where listing all could fill the memory", () => {
    const schema = compile({ type: "array", items: { type: "string" } });
    expect(schema.check(Array.from({ length: 6000 }, () => 1))).toHaveLength(1);
    expect(schema.check(Array.from({ length: 100 }, () => 1))).toHaveLength(20);
  });

  it("sees own members only, whatever a prototype has", () => {
    const schema = compile({ type: "object", required: ["constructor"] });
    expect(schema.check({})).toHaveLength(1);
    expect(schema.check(JSON.parse('{"constructor":1}'))).toBeUndefined();
    const optional = compile({ type: "object", properties: { valueOf: { type: "number" } } });
    for (const isSmall of [true, false]) {
      expect(schema.check({}, isSmall)).toHaveLength(1);
      expect(schema.check(JSON.parse('{"constructor":1}'), isSmall)).toBeUndefined();
      expect(optional.check({}, isSmall)).toBeUndefined();
    }
    const closed = compile({ type: "object", additionalProperties: false });
    const parsed: unknown = JSON.parse('{"__proto__":{"admin":true}}');
    expect(closed.check(parsed, true)?.[0]?.path).toBe("/__proto__");
    expect(closed.check(JSON.parse('{"__proto__":{"admin":true}}'))?.[0]?.path).toBe("/__proto__");
  });

  it("calls a value too deep instead of running out of stack", () => {
    const schema = compile({
      type: "object",
      additionalProperties: false,
      properties: { next: { $ref: "#" } },
    });
    let deep: Record<string, unknown> = {};
    for (let level = 0; level < 100_000; level += 1) deep = { next: deep };
    expect(schema.check(deep)).toEqual([
      { path: "", keyword: "depth", message: "is nested too deeply" },
    ]);
    expect(schema.check({ next: { next: {} } })).toBeUndefined();
  });

  it("cuts a path that is as long as the body", () => {
    const [violation] = compile(BOOKING).check({ ["k".repeat(100_000)]: 1, guest_id: 1 }) ?? [];
    expect(violation?.path.length).toBeLessThan(600);
  });

  it("survives branches that never matter", () => {
    const branch = { oneOf: [{ anyOf: [{ additionalProperties: {} }] }, {}], not: true };
    expect(compile({ anyOf: [{}, branch] }).check({})).toBeUndefined();
  });

  it("judges an object without a body as a violation, not as a fault", () => {
    expect(compile(BOOKING).check(undefined)).toHaveLength(1);
  });
});

describe("uniqueItems", () => {
  const schema: JsonSchema = { type: "array", uniqueItems: true };
  it.each([
    [[1, 2, 2], false],
    [[1, "1", true, null], true],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      false,
    ],
    [[{ a: [1] }, { a: [2] }, [1], [[1]]], true],
    [[[], {}], true],
  ])("judges %j", (value, isUnique) => {
    expect(compile(schema).check(value) === undefined).toBe(isUnique);
  });

  it("compares without calling anything that a value holds", () => {
    const hostile = JSON.parse(
      '[{"valueOf":null,"toString":null,"constructor":1},{"a":"\\ud800"}]',
    );
    expect(compile(schema).check(hostile)).toBeUndefined();
    expect(compile({ enum: [{ a: 1 }] }).check(hostile[0])?.[0]?.message).toBe(
      'must be one of {"a":1}',
    );
    expect(compile({ const: { a: [1] } }).check({ a: [1] })).toBeUndefined();
    expect(compile({ const: { a: 1, b: 2 } }).check({ b: 2, a: 1 })).toBeUndefined();
    expect(compile({ const: 1 }).check(hostile[1])?.[0]?.message).toBe("must be 1");
    expect(compile({ const: null }).check(null)).toBeUndefined();
  });

  it("takes time linear in the array", () => {
    const value = Array.from({ length: 100_000 }, (_, index) => ({ index }));
    expect(compile(schema).check(value)).toBeUndefined();
  });

  it("says nothing when it is false", () => {
    expect(compile({ type: "array", uniqueItems: false }).check([1, 1])).toBeUndefined();
  });
});

describe("formats", () => {
  it.each([
    ["date", "2024-02-29", "2023-02-29"],
    ["date", "2023-12-31", "2023-13-01"],
    ["date", "2000-02-29", "1900-02-29"],
    ["date", "0000-04-30", "2023-04-31"],
    ["date", "2023-01-01", "2023-00-01"],
    ["date", "2023-10-10", "2023-10-00"],
    ["date", "9999-12-31", "9999-12-3"],
    ["date", "2023-01-31", "2023-1-031"],
    ["date", "2023-01-30", "2023-01-3a"],
    ["date", "2023-01-29", "+023-01-29"],
    ["date-time", "2024-01-01T10:00:00Z", "2024-01-01"],
    ["date-time", "2024-01-01T10:00:00+02:00", "2024-01-01T25:00:00Z"],
    ["time", "10:00:00Z", "10:00"],
    ["uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"],
    [
      "uuid",
      "123E4567-E89B-12D3-A456-426614174000",
      "urn:uuid:123e4567-e89b-12d3-a456-426614174000",
    ],
    ["email", "guest@example.com", "guest@"],
    ["uri", "https://example.com/a?b#c", "/relative"],
    ["url", "https://example.com/a", "mailto:x@example.com"],
    ["ipv4", "127.0.0.1", "127.0.0.256"],
    ["ipv6", "::1", ":::"],
    ["hostname", "a.example", "-a.example"],
    ["duration", "P3D", "3D"],
    ["json-pointer", "/a/0", "a/0"],
    ["regex", "^a$", "("],
  ])("%s takes %s and refuses %s", (format, valid, invalid) => {
    const schema = compile({ type: "string", format });
    expect(schema.check(valid)).toBeUndefined();
    expect(schema.check(invalid)).toHaveLength(1);
  });

  it("takes hostile texts in linear time", () => {
    const startedAt = cpuMs();
    const texts = [
      `http://${":".repeat(200_000)}`,
      `x@${"a-".repeat(100_000)}`,
      "1:".repeat(99_999),
    ];
    for (const format of [
      "url",
      "uri",
      "email",
      "hostname",
      "ipv6",
      "date-time",
      "uri-reference",
    ]) {
      const schema = compile({ type: "string", format });
      for (const text of texts) schema.check(text);
    }
    // Quadratic time would be minutes.
    expect(cpuMs() - startedAt).toBeLessThan(10_000);
  });
});

describe("compiling", () => {
  it.each<[string, JsonSchema]>([
    ["a union of types", { type: ["string", "null"], minLength: 1 }],
    ["required in a branch", { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] }],
    ["annotations", { title: "t", description: "d", examples: [1], default: 1, deprecated: true }],
    ["extensions", { "x-note": { anything: true }, $comment: "c" }],
    ["booleans as schemas", { properties: { a: true, b: false }, items: true }],
    ["a local reference", { $ref: "#/$defs/a%20b", $defs: { "a b": { type: "string" } } }],
    [
      "an anchor",
      { items: { $ref: "#item" }, $defs: { item: { $anchor: "item", type: "string" } } },
    ],
    ["recursion that goes deeper", { properties: { next: { $ref: "#" } } }],
    ["the dialect", { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" }],
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    ["conditions", { if: { required: ["a"] }, then: { required: ["b"] } }],
    ["tuples", { type: "array", prefixItems: [{ type: "string" }], items: false }],
    ["unevaluated members", { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }],
    [
      "dependencies",
      { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { minProperties: 2 } } },
    ],
    [
      "Unicode patterns",
      { pattern: "^\\p{L}+$", patternProperties: { "^x_": { type: "integer" } } },
    ],
  ])("accepts %s", (_, schema) => {
    expect(() => compile(schema).check({})).not.toThrow();
  });

  it.each<[string, JsonSchema, string]>([
    [
      "an unknown keyword",
      { properties: { a: { minLenght: 1 } } },
      "properties.a.minLenght | unknown keyword | did you mean minLength?",
    ],
    [
      "a foreign keyword",
      { nullable: true },
      'nullable | unknown keyword | write type = ["string", "null"]',
    ],
    ["an unknown type", { type: "strnig" }, 'type | is "strnig", expected string, integer'],
    ["an empty type", { type: [] }, "type | is an array, expected"],
    [
      "an unknown format",
      { format: "uuidd" },
      'format | is "uuidd", expected a known format | did you mean uuid',
    ],
    ["a bad pattern", { pattern: "(" }, 'pattern | "(" is no regular expression'],
    [
      "a bad pattern as a key",
      { patternProperties: { "[": {} } },
      'patternProperties."[" | "[" is no regular expression',
    ],
    [
      "a remote reference",
      { $ref: "https://x.example/s.json" },
      '"$ref" | is "https://x.example/s.json", expected a reference into this schema',
    ],
    [
      "a reference to nothing",
      { items: { $ref: "#/$defs/no" } },
      'items | "#/$defs/no" leads to no schema',
    ],
    [
      "a reference into data",
      { $ref: "#/examples/0", examples: [{}] },
      '"#/examples/0" leads to no schema',
    ],
    [
      "an older dialect",
      { $schema: "http://json-schema.org/draft-07/schema#" },
      '"$schema" | is "http://json-schema.org/draft-07/schema#", expected',
    ],
    ["a nested $id", { properties: { a: { $id: "x" } } }, "only the root of a schema may have it"],
    ["a reference to itself", { $ref: "#" }, "judges one value without end"],
    [
      "a circle of references",
      {
        $ref: "#/$defs/a",
        $defs: { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } },
      },
      "judges one value without end",
    ],
    ["an empty enum", { enum: [] }, "enum | is an array, expected a list of one or more values"],
    ["a negative length", { maxLength: -1 }, "maxLength | is -1, expected 0, 1, 2 …"],
    ["a fraction as a count", { minItems: 1.5 }, "minItems | is 1.5"],
    ["a multiple of nothing", { multipleOf: 0 }, "multipleOf | is 0, expected a number above 0"],
    ["a number as text", { minimum: "1" }, 'minimum | is "1", expected a number'],
    [
      "required as a flag",
      { properties: { a: { required: true } } },
      "properties.a.required | is true, expected a list of different names",
    ],
    [
      "a repeated name",
      { required: ["a", "a"] },
      "required | is an array, expected a list of different names",
    ],
    ["if alone", { if: {} }, "if | means nothing without then or else"],
    [
      "a property named __proto__",
      { properties: JSON.parse('{"__proto__":{}}') as JsonSchema },
      '"__proto__" cannot be the name of a property',
    ],
    [
      "a schema that is a text",
      { items: "string" as never },
      'items | is "string", expected a schema',
    ],
    ["an anchor outside $defs", { $anchor: "all" }, "is not in a schema of $defs"],
    [
      "an anchor that is no name",
      { $defs: { a: { $anchor: "1st" } } },
      'is "1st", expected a name',
    ],
    [
      "one anchor for two schemas",
      { $defs: { a: { $anchor: "one" }, b: { $anchor: "one" } } },
      '."$anchor" | "one" a second time',
    ],
    ["an $id that is a number", { $id: 5 as never }, '"$id" | is 5, expected a URI'],
    ["a pattern that is a number", { pattern: 5 }, "pattern | is 5, expected a regular expression"],
    [
      "a list of patterns",
      { patternProperties: ["a"] as never },
      "patternProperties | is an array, expected a table of schemas",
    ],
    [
      "65,537 values",
      { enum: Array.from({ length: 65_537 }, (_, index) => index % 10) },
      "enum | has too many values",
    ],
    [
      "257 references",
      { $defs: { a: {} }, anyOf: Array.from({ length: 257 }, () => ({ $ref: "#/$defs/a" })) },
      'anyOf.256."$ref" | is one reference too many',
    ],
    ["names in extensions", { "x-a": [{ $id: "b" }] }, "x-a | must not hold $id or $anchor"],
    ["an empty allOf", { allOf: [] }, "allOf | is an array, expected a list of schemas"],
  ])("refuses %s", (_, schema, message) => {
    expect(problemsOf(schema).join("\n")).toContain(message);
  });

  it("names the file and the whole key", () => {
    const { problems } = createSchemaCompiler().compile(
      { properties: { a: { type: "x" } } },
      WHERE,
    );
    expect(problems[0]).toMatchObject({
      file: "endpoints/x.toml",
      key: "endpoint.input_schema.properties.a.type",
    });
  });

  it("lets two schemas have the same $id, and the same text", () => {
    const compiler = createSchemaCompiler();
    const first = compiler.compile({ $id: "urn:x", type: "string" }, WHERE).compiled;
    const second = compiler.compile({ $id: "urn:x", type: "integer" }, WHERE).compiled;
    const again = compiler.compile({ $id: "urn:x", type: "string" }, WHERE).compiled;
    expect(first?.check("a")).toBeUndefined();
    expect(second?.check("a")).toHaveLength(1);
    expect(again?.check(1)).toHaveLength(1);
  });

  it("refuses schemas beyond the bounds, quickly and without exhausting the stack", () => {
    let deep: JsonSchema = {};
    for (let level = 0; level < 40; level += 1) deep = { items: deep };
    expect(problemsOf(deep).join()).toContain("is nested too deeply");
    let bottomless: JsonSchema = {};
    for (let level = 0; level < 100_000; level += 1) bottomless = { items: bottomless };
    expect(problemsOf(bottomless).join()).toContain("is too large");
    const wide = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`p${index}`, {}]));
    expect(problemsOf({ properties: wide }).join()).toContain("too many properties");
    const unknown = Object.fromEntries(
      Array.from({ length: 9000 }, (_, index) => [`k${index}`, 1]),
    );
    expect(problemsOf(unknown)).toHaveLength(20);
    expect(problemsOf({ description: "x".repeat(300_000) }).join()).toContain("is too large");
    expect(problemsOf({ pattern: "a".repeat(2000) }).join()).toContain("is too long");
  });

  it("refuses references that fan out to billions of judgements", () => {
    const defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => {
        const next = { $ref: `#/$defs/d${index + 1}` };
        return [`d${index}`, { allOf: [next, next] }];
      }),
    );
    const schema = { $ref: "#/$defs/d0", $defs: { ...defs, d40: { type: "string" } } };
    expect(problemsOf(schema).join()).toContain("judges one value without end");
  });

  it("compiles as long a chain of references as it accepts", () => {
    const chain = (length: number): JsonSchema => {
      const defs = Object.fromEntries(
        Array.from({ length }, (_, index) => [
          `d${index}`,
          { type: "object", properties: { x: { $ref: `#/$defs/d${index + 1}` } } },
        ]),
      );
      return { $ref: "#/$defs/d0", $defs: { ...defs, [`d${length}`]: { type: "string" } } };
    };
    const schema = compile(chain(120));
    expect(schema.check({ x: { x: {} } })).toBeUndefined();
    expect(schema.check({ x: 1 })?.[0]?.path).toBe("/x");
    expect(problemsOf(chain(200)).join()).toContain("is nested too deeply through its references");
  });

  it("keeps recursive schemas of one compiler apart", () => {
    const compiler = createSchemaCompiler();
    const list = { properties: { next: { $ref: "#" } }, type: "object" };
    const tree = { items: { $ref: "#" }, type: "array" };
    const first = compiler.compile(list, WHERE).compiled;
    const second = compiler.compile(tree, WHERE).compiled;
    expect(first?.check({ next: { next: {} } })).toBeUndefined();
    expect(second?.check([[[]]])).toBeUndefined();
    expect(first?.check({ next: [] })?.[0]?.path).toBe("/next");
    expect(second?.check([{}])?.[0]?.path).toBe("/0");
  });
});

function matches(schema: object, value: unknown): boolean {
  const { compiled } = createSchemaCompiler().compile({ ...schema }, { file: "x.toml", key: "" });
  if (compiled === undefined) throw new Error("the schema does not compile");
  return compiled.check(value) === undefined;
}

const byPattern = (pattern: string, text: string): boolean =>
  matches({ type: "string", pattern }, text);

// AGTP-API §13.2
describe("a pattern of an operator's schema", () => {
  // The platform's engine would be at each of them for half a minute and more.
  it.each([
    ["a repetition that is repeated", "^(a+)+$", `${"a".repeat(40)}!`],
    ["seven repetitions in a row", `^${"[a-z]*".repeat(7)}$`, `${"a".repeat(100)}!`],
    ["words", "^(\\w+\\s?)*$", `${"a".repeat(40)}!`],
    ["one branch in another", "^(a|aa)+$", `${"a".repeat(80)}!`],
    ["spaces at the end of a long text", "^(.*?)\\s+$", `${" ".repeat(200_000)}x`],
    ["a long text without end", "x+x+y", "x".repeat(100_000)],
  ])("is done with soon: %s", (_, pattern, text) => {
    expect(byPattern(pattern, text)).toBe(false);
  });

  it.each([
    ["^(?:[a-z]+-)*[a-z]+$", "a-long-slug", true],
    ["^(?:[a-z]+-)*[a-z]+$", "a--slug", false],
    ["^\\d{4}-\\d{2}$", "2030-05", true],
    ["^[a-z]+$", "a".repeat(500), true],
    ["^[a-z]+$", `${"a".repeat(500)}1`, false],
    ["^(?:é|\\u{1F3E8})+$", "é🏨é", true],
    ["^(a)\\1+$", "aaa", true],
    ["^(?=.*\\d)[a-z\\d]+$", "abc", false],
    ["^(?=.*\\d)[a-z\\d]+$", "abc1", true],
  ])("means what ECMAScript means: %s of %s is %s", (pattern, text, expected) => {
    expect(byPattern(pattern, text)).toBe(expected);
  });

  it("tells the names of members, too", () => {
    const schema = { type: "object", patternProperties: { "^(a+)+$": { type: "integer" } } };
    expect(matches(schema, { aaa: 1 })).toBe(true);
    expect(matches(schema, { aaa: "x" })).toBe(false);
    expect(matches(schema, { [`${"a".repeat(40)}!`]: "x" })).toBe(true);
  });
});

describe("a compiler that is prepared", () => {
  it("has its generators before the first value", () => {
    const compiler = createSchemaCompiler();
    expect([...preparingGenerators(compiler)]).toHaveLength(2);
    const made = vi.spyOn(Ajv2020.prototype, "addFormat");
    onTestFinished(() => made.mockRestore());
    const { compiled } = compiler.compile(BOOKING, WHERE);
    expect([compiled?.check({}, true), compiled?.check({})]).toHaveLength(2);
    expect(made).not.toHaveBeenCalled();
  });
});

describe("a schema of the program's own", () => {
  it("is compiled once for every deployment of the process", () => {
    const schema = { type: "object", required: ["own"] };
    const compiled = compileOwn(schema);
    expect(compileOwn(schema)).toBe(compiled);
    expect(compileOwn({ ...schema })).toBe(compiled);
    expect(compiled.check({})).toHaveLength(1);
  });

  it("is a bug where it has a problem", () => {
    expect(() => compileOwn({ type: "thing" })).toThrow('"thing"');
  });
});
