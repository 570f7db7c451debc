import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBody } from "../../../../src/endpoint/input.ts";
import {
  createContractSchemas,
  type ProposedPlace,
  type ProposedSchemaFault,
  readProposedSchema,
} from "../../../../src/modules/negotiation/propose/proposed-schema.ts";
import type { JsonSchema } from "../../../../src/schema/json-schema.ts";
import type { CompiledSchema } from "../../../../src/schema/schema.ts";
import { cpuMs } from "../../../support/cpu-time.ts";

function accept(value: unknown, place: ProposedPlace = "output_schema"): CompiledSchema {
  const result = readProposedSchema(value, place);
  if ("fault" in result) throw new Error(`${result.fault.path} ${result.fault.message}`);
  return result.schema;
}

function faultOf(
  value: unknown,
  place: ProposedPlace = "output_schema",
): ProposedSchemaFault | undefined {
  const result = readProposedSchema(value, place);
  return "fault" in result ? result.fault : undefined;
}

/** A schema that counts how often its members are read. */
function countReads(schema: object): { readonly schema: unknown; reads(): number } {
  let reads = 0;
  const counting = new WeakMap<object, unknown>();
  const count = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const known = counting.get(value);
    if (known !== undefined) return known;
    const proxy = new Proxy(value, {
      get: (target, key, receiver) => {
        reads += 1;
        return count(Reflect.get(target, key, receiver));
      },
    });
    counting.set(value, proxy);
    return proxy;
  };
  return { schema: count(schema), reads: () => reads };
}

function repeat<Item>(count: number, make: (index: number) => Item): readonly Item[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function named(count: number, make: (index: number) => unknown): Record<string, unknown> {
  return Object.fromEntries(repeat(count, (index) => [`p${index}`, make(index)]));
}

function nest(levels: number, wrap: (inner: unknown) => unknown, innermost: unknown = {}): unknown {
  return levels === 0 ? innermost : wrap(nest(levels - 1, wrap, innermost));
}

// AGTP-API §6.4, §13.3
describe("readProposedSchema", () => {
  it("closes an input that does not say whether it is open", () => {
    const input = accept({ type: "object", properties: { a: { type: "string" } } }, "input_schema");
    expect(input.schema["additionalProperties"]).toBe(false);
    expect(input.check({ a: "x" })).toBeUndefined();
    expect(input.check({ a: "x", b: 1 })?.[0]?.path).toBe("/b");
  });

  it("leaves an input alone that is closed already", () => {
    const closed = { type: "object", additionalProperties: false };
    expect(accept(closed, "input_schema").schema).toEqual(closed);
    const composed = {
      type: "object",
      allOf: [{ properties: { a: { type: "string" } } }],
      unevaluatedProperties: false,
    };
    const input = accept(composed, "input_schema");
    expect(input.schema).toEqual(composed);
    expect(input.check({ a: "x" })).toBeUndefined();
    expect(input.check({ b: "x" })).toHaveLength(1);
  });

  it("leaves an output as open as it is", () => {
    const output = accept({ type: "object", properties: { a: { type: "string" } } });
    expect(output.check({ a: "x", b: 1 })).toBeUndefined();
    expect(accept({}).check(1)).toBeUndefined();
    expect(accept(true).check(1)).toBeUndefined();
    expect(accept(false).check(1)).toHaveLength(1);
  });

  it.each<[string, unknown, string, string]>([
    ["no schema", undefined, "", "is missing, expected a JSON Schema"],
    ["a boolean", true, "", "is true, expected a JSON Schema"],
    ["a list", [], "", "is an array, expected a JSON Schema"],
    ["no type", {}, "/type", 'is missing, expected "object"'],
    ["another type", { type: "array" }, "/type", 'is "array", expected "object"'],
    ["a union", { type: ["object", "null"] }, "/type", 'is an array, expected "object"'],
    [
      "an open one",
      { type: "object", additionalProperties: true },
      "/additionalProperties",
      "is true, expected false: an input is closed",
    ],
  ])("refuses %s as an input", (_, value, path, message) => {
    expect(faultOf(value, "input_schema")).toEqual({ path, message });
  });

  it.each<[string, unknown]>([
    ["annotations", { title: "t", description: "d", examples: [1], default: 1, deprecated: true }],
    ["keywords that nobody knows", { "x-note": [{}], color: { $ref: "https://a.example" } }],
    ["keywords that mean nothing here", { if: true, minContains: 2, example: 1 }],
    ["the dialect and a name", { $schema: DIALECT, $id: "https://a.example/s", type: "object" }],
    ["recursion that goes deeper", { properties: { next: { $ref: "#" } } }],
    ["an anchor", { items: { $ref: "#x" }, $defs: { x: { $anchor: "x", type: "string" } } }],
    [
      "an encoded reference",
      { $ref: "#/%24defs/a%20b~1c", $defs: { "a b/c": { type: "object" } } },
    ],
    ["sixteen levels", nest(16, (items) => ({ items }))],
    ["256 properties", { properties: named(256, () => ({})) }],
    ["32 patterns", { anyOf: repeat(32, (at) => ({ pattern: `^x{${at}}$` })) }],
    ["escaped names", { properties: { 'a/b~c é\u0000"': { type: "string" } } }],
    ["backslashes before an escape", { const: "\\ud800", description: "\\\\\\ud800" }],
    ["a country list", { enum: repeat(249, (at) => `C${at}`) }],
  ])("takes %s", (_, value) => {
    expect(() => accept(value).check({})).not.toThrow();
  });

  it.each<[string, unknown, string, string]>([
    ["an unknown type", { type: "strnig" }, "/type", 'is "strnig", expected string, integer'],
    ["a text for a schema", { properties: { a: "string" } }, "/properties/a", "expected a schema"],
    ["a list of properties", { properties: [] }, "/properties", "expected a table of schemas"],
    ["an unknown format", { format: "uuidd" }, "/format", "expected a known format (did you mean"],
    ["a negative length", { maxLength: -1 }, "/maxLength", "is -1, expected 0, 1, 2 …"],
    ["a length beyond counting", { maxLength: 1e300 }, "/maxLength", "is 1e+300, expected 0, 1"],
    ["a repeated name", { required: ["a", "a"] }, "/required", "list of different names"],
    ["no branches", { allOf: [] }, "/allOf", "expected a list of schemas"],
    ["an older dialect", { $schema: "http://json-schema.org/draft-07/schema#" }, "/$schema", "is"],
    ["a number as a name", { $id: 1 }, "/$id", "is 1, expected a URI"],
    ["a name inside", { items: { $id: "x" } }, "/items/$id", "unknown keyword (only the root"],
    ["names in unknown keywords", { color: [{ $id: "x" }] }, "/color", "must not hold $id"],
    ["a dynamic reference", { $dynamicRef: "#a" }, "/$dynamicRef", "unknown keyword (write $ref)"],
    ["a recursive one", { $recursiveRef: "#" }, "/$recursiveRef", "unknown keyword (write $ref)"],
    ["a dynamic anchor", { $defs: { a: { $dynamicAnchor: "a" } } }, "/$defs/a/$dynamicAnchor", ""],
    [
      "a keyword of another dialect",
      { nullable: true },
      "/nullable",
      "unknown keyword (write type",
    ],
    ["a remote reference", { $ref: "https://a.example/s" }, "/$ref", "expected a reference into"],
    ["its own name in a reference", { $id: "urn:a", $ref: "urn:a#/x" }, "/$ref", "expected a ref"],
    ["a reference to a file", { $ref: "file:///etc/passwd" }, "/$ref", "expected a reference into"],
    ["a reference to nothing", { items: { $ref: "#/$defs/no" } }, "/items", "leads to no schema"],
    ["a reference into data", { $ref: "#/examples/0", examples: [{}] }, "", "leads to no schema"],
    [
      "a name of every object",
      { properties: JSON.parse('{"__proto__":{}}') },
      "/properties",
      "can",
    ],
    ["a look-ahead", { pattern: "^(?!a)" }, "/pattern", "RE2 can match: invalid or unsupported"],
    ["a back reference", { pattern: "(a)\\1" }, "/pattern", "RE2 can match: invalid escape"],
    ["a bad pattern as a name", { patternProperties: { "[": {} } }, "/patternProperties/[", "RE2"],
    ["a large program", { pattern: "(?:a{100}){100}" }, "/pattern", "takes 10002 steps a char"],
    ["a long pattern", { pattern: "a".repeat(257) }, "/pattern", "expected at most 256 characters"],
    [
      "33 patterns",
      { anyOf: repeat(33, () => ({ pattern: "a" })) },
      "/anyOf/32/pattern",
      "is one pattern too many, expected at most 32",
    ],
    [
      "large patterns together",
      { anyOf: repeat(3, () => ({ pattern: "a{900}" })) },
      "/anyOf/2/pattern",
      "takes the patterns over 2048 steps a character together",
    ],
    [
      "257 properties",
      { allOf: repeat(257, (at) => ({ properties: { [`p${at}`]: {} } })) },
      "/allOf/256/properties",
      "has too many properties, expected at most 256 in all",
    ],
    ["17 levels", nest(17, (items) => ({ items })), "/items".repeat(17), "nested too deeply"],
    ["a great many values", { enum: repeat(2049, Number) }, "/enum", "has too many values"],
    ["schemas without end", { anyOf: repeat(2049, () => ({})) }, "/anyOf/2047", "one schema too"],
    [
      "references without end",
      { allOf: repeat(257, () => ({ $ref: "#/$defs/a" })), $defs: { a: {} } },
      "/allOf/256/$ref",
      "is one reference too many",
    ],
    ["a text that is no Unicode", { title: "\ud800" }, "", "half of a surrogate pair"],
    ["a name that is no Unicode", { properties: { "\udfff": {} } }, "", "half of a surrogate"],
    ["a number that is none", JSON.parse('{"maximum":1e999}'), "", "a number that is too large"],
    ["one in data", { examples: [[Number.NaN]] }, "", "a number that is too large"],
    ["data without a bottom", { const: nest(64, (a) => [a]) }, "", "expected at most 64 levels"],
    ["a long text", { description: "é".repeat(33_000) }, "", "expected at most 65536 bytes"],
  ])("refuses %s", (_, value, path, message) => {
    const fault = faultOf(value);
    expect(fault?.path).toBe(path);
    expect(fault?.message).toContain(message);
  });

  it.each<[string, () => unknown]>([
    [
      "as many members as a body holds",
      () => Object.fromEntries(repeat(150_000, (at) => [`k${at}`, 1])),
    ],
    [
      "as many properties",
      () => ({ properties: Object.fromEntries(repeat(150_000, (at) => [at, {}])) }),
    ],
    ["lists without a bottom", () => ({ const: nest(5_000, (inner) => [inner]) })],
    [
      "64 KiB of brackets",
      () => JSON.parse(`{"default":${"[".repeat(32_000)}${"]".repeat(32_000)}}`),
    ],
    ["schemas without a bottom", () => nest(5_000, (items) => ({ items }))],
    ["unknown keywords only", () => Object.fromEntries(repeat(9_000, (at) => [`k${at}`, 1]))],
    [
      "twenty bad formats and more",
      () => ({ anyOf: repeat(2_000, (at) => ({ format: `f${at}` })) }),
    ],
    [
      "bad patterns only",
      () => ({ anyOf: repeat(600, () => ({ pattern: "(?:a{1000}){1000}(" })) }),
    ],
    [
      "large patterns only",
      () => ({ anyOf: repeat(600, () => ({ pattern: ".{1,340}".repeat(32) })) }),
    ],
    ["references to themselves", () => ({ $ref: "#" })],
    ["references in a circle", () => ({ $ref: "#/$defs/a", $defs: { a: { not: { $ref: "#" } } } })],
    [
      "references that fan out",
      () => ({
        $ref: "#/$defs/p0",
        $defs: {
          ...named(40, (at) => ({ allOf: repeat(2, () => ({ $ref: `#/$defs/p${at + 1}` })) })),
          p40: {},
        },
      }),
    ],
    [
      "branches in each property",
      () => ({ properties: named(256, () => ({ anyOf: repeat(32, () => ({})) })) }),
    ],
  ])("looks into %s for no longer than it takes", (_, make) => {
    const value = make();
    const startedAt = cpuMs();
    readProposedSchema(value, "output_schema");
    // Most of it is the time that a busy machine takes; the rest is a few milliseconds.
    expect(cpuMs() - startedAt).toBeLessThan(2_000);
  });

  it("reads the largest schema that it takes as often as a smaller one, for its size", () => {
    const pattern = { type: "string", pattern: "^(?:[a-z]{1,10}-)?[\\p{L}]{1,4}$" };
    const branches = { anyOf: [{ type: "string" }, { const: 1 }, { $ref: "#/$defs/x" }] };
    const readsOf = (count: number): number => {
      const { schema, reads } = countReads({
        type: "object",
        properties: named(count, (at) =>
          at < count / 8 ? pattern : { ...branches, title: "t".repeat(90) },
        ),
        $defs: { x: { type: "array", items: { $ref: "#" } } },
      });
      expect(faultOf(schema, "input_schema")).toBeUndefined();
      return reads();
    };
    const largest = readsOf(256);
    expect(largest).toBeLessThan(4.5 * readsOf(64));
    // Of each property there are seven members to read.
    expect(largest).toBeLessThan(256 * 64);
  });

  it("never throws, whatever is proposed, and neither does what it accepts", () => {
    const keyword = fc.constantFrom(
      ...["type", "properties", "items", "$ref", "$defs", "allOf", "enum", "pattern", "if", "then"],
      ...["$id", "$anchor", "required", "format", "additionalProperties", "__proto__", "not"],
    );
    const scalar = fc.constantFrom<unknown>(
      "#",
      "#/$defs/a",
      "object",
      "string",
      "^a",
      "a",
      1,
      true,
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: "medium" },
        scalar,
        fc.array(tie("value"), { maxLength: 3 }),
        fc
          .array(fc.tuple(fc.oneof(keyword, fc.constant("a")), tie("value")), { maxLength: 4 })
          .map((members) => Object.fromEntries(members)),
      ),
    }));
    const proposed = fc.oneof(value, fc.jsonValue());
    fc.assert(
      fc.property(proposed, fc.jsonValue(), (schema, judged) => {
        const result = readProposedSchema(schema, "output_schema");
        if ("schema" in result) result.schema.check(judged);
        else expect(result.fault.message).not.toBe("");
      }),
      { numRuns: 1000 },
    );
  });

  it("judges what a body says last of a name that it says twice", () => {
    const body = parseBody(Buffer.from('{"type":"string","type":"object"}'));
    if (body.kind === "invalid") return;
    expect(faultOf(body.value, "input_schema")).toBeUndefined();
  });
});

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

const BOOKING = { id: "123e4567-e89b-12d3-a456-426614174000", nights: 20_000, code: "ABC-1" };

/** No two of them are the same. */
function proposal(index: number): JsonSchema {
  return {
    type: "object",
    required: ["id"],
    properties: {
      id: { type: "string", format: "uuid" },
      nights: { type: "integer", minimum: index },
      code: { type: "string", pattern: `^[A-Z]{3}-(?:1|${index})$` },
    },
  };
}

function usedHeapAfterCollection(): number {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** The memory that some work leaves behind, in MiB. */
function growthOf<Result>(work: () => Result): number {
  const before = usedHeapAfterCollection();
  const kept = work();
  const after = usedHeapAfterCollection();
  // Only now may it go.
  expect(kept).toBeDefined();
  return (after - before) / 1_048_576;
}

// AGTP-API §13.2
describe("createContractSchemas", () => {
  it("checks values against a schema, as often as one likes", () => {
    const { check, schema } = createContractSchemas().compile(proposal(1));
    expect(schema).toEqual(proposal(1));
    expect(check(BOOKING)).toBeUndefined();
    expect(check({})).toEqual([{ path: "/id", keyword: "required", message: "is required" }]);
    expect(check(BOOKING)).toBeUndefined();
  });

  it("is one for all that say the same", () => {
    const schemas = createContractSchemas();
    const [one, same, other] = [proposal(1), proposal(1), proposal(2)].map(schemas.compile);
    expect(same).toBe(one);
    expect(other).not.toBe(one);
  });

  it("checks against a schema again that it let go of", () => {
    const schemas = createContractSchemas(1);
    const compiled = [1, 2, 3].map((index) => schemas.compile(proposal(index)));
    for (const { check } of [...compiled, ...compiled]) {
      expect(check(BOOKING)).toBeUndefined();
      expect(check({ ...BOOKING, nights: 0 })?.[0]?.path).toBe("/nights");
    }
  });

  it("keeps as little as it says of ten thousand contracts that were called", () => {
    const schemas = createContractSchemas(100);
    const held = Array.from({ length: 10_000 }, (_, index) => schemas.compile(proposal(index)));
    const growth = growthOf(() => {
      for (const { check } of held) expect(check(BOOKING)).toBeUndefined();
      return held;
    });
    // Prepared all at once they take some 140 MiB.
    expect(growth).toBeLessThan(10);
  });

  it("leaves nothing behind of ten thousand proposals", () => {
    const growth = growthOf(() => {
      for (let index = 0; index < 10_000; index += 1) {
        const result = readProposedSchema(proposal(index), "input_schema");
        if ("fault" in result) throw new Error(result.fault.message);
        if (index % 10 === 0) expect(result.schema.check(BOOKING)).toBeUndefined();
      }
      return true;
    });
    expect(growth).toBeLessThan(5);
  });
});
