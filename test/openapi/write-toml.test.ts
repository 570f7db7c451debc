/** TOML that is written for people, and reads back as what it was written from. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseToml, toJson } from "../../src/base/toml-document.ts";
import { writeToml } from "../../src/openapi/write-toml.ts";

const key = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom("a", "b", "properties", "__proto__", "constructor", "a.b", "", 'q"', "ä b"),
);
const scalar = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(1e21, 2 ** 53, -(2 ** 63), 1e-7, 5e-324, -0, "\u0000\u007f\u2028", '"""', "\\"),
);
const { table } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(tie("table"), { maxLength: 4 }),
    tie("table"),
  ),
  table: fc.dictionary(key, tie("value"), { maxKeys: 6, noNullPrototype: true }),
}));

describe("writeToml", () => {
  it("writes what reads back as the same", () => {
    fc.assert(
      fc.property(table, (value) => {
        const { table: read, fault } = parseToml(writeToml(value as Record<string, unknown>));
        expect(fault).toBeUndefined();
        expect(toJson(read)).toEqual(value);
      }),
      { numRuns: 200 },
    );
  });

  it("looks at a value a few times, however many large tables it stands in", () => {
    const readsWithin = (tables: number): number => {
      let reads = 0;
      let value: object = {
        get leaf() {
          reads += 1;
          return "tea";
        },
      };
      for (let left = tables; left > 0; left -= 1) value = { text: "x".repeat(120), value };
      writeToml({ value });
      return reads;
    };
    expect(readsWithin(40)).toBe(readsWithin(4));
  });

  it("puts small tables on a line, large ones under a heading, and values before both", () => {
    const long =
      "A description that is so long that nobody wants it to be on one line with others.";
    const text = writeToml({
      endpoint: {
        input_schema: {
          properties: { id: { type: "string" }, pet: { type: "object", description: long, x: 1 } },
          type: "object",
        },
        oneOf: [{ description: long, type: "string" }, { type: "null" }],
        method: "FETCH",
      },
    });
    expect(text).toBe(`[endpoint]
method = "FETCH"

[endpoint.input_schema]
type = "object"

[endpoint.input_schema.properties]
id = { type = "string" }

[endpoint.input_schema.properties.pet]
type = "object"
description = "${long}"
x = 1

[[endpoint.oneOf]]
description = "${long}"
type = "string"

[[endpoint.oneOf]]
type = "null"
`);
  });

  it("puts a remark behind its value, and the value's table under a heading", () => {
    const remarks = new Map([["a.b.impact", "REVIEW: a\nguess"]]);
    expect(writeToml({ a: { b: { impact: "reversible" } } }, remarks)).toBe(
      '[a.b]\nimpact = "reversible"  # REVIEW: a guess\n',
    );
  });

  it("writes a long list one item a line", () => {
    const errors = Array.from({ length: 8 }, (_, index) => `an_error_with_number_${index}`);
    const text = writeToml({ errors });
    expect(text.split("\n")).toHaveLength(11);
    expect(parseToml(text).table).toEqual({ errors });
  });
});
