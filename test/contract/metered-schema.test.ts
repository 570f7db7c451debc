import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../src/contract/endpoint.ts";
import { prepareMeteredCheck } from "../../src/contract/metered-schema.ts";
import { createSchemaCompiler } from "../../src/contract/schema.ts";
import { SCHEMA_TYPES } from "../../src/contract/schema-vocabulary.ts";

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
          // The other one does not count contained items as evaluated, and forgets them next to a prefix.
          const text = JSON.stringify(schema);
          fc.pre(!(text.includes('"contains"') && /"(unevaluated|prefix)Items"/.test(text)));
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
      { numRuns: 3000 },
    );
  });
});

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
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    const conditional = fc
      .tuple(schema, schema, schema)
      .map(([i, t, e]) => ({ if: i, then: t, else: e }));
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
