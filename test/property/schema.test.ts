import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../src/schema/json-schema.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { reportViolations } from "../../src/schema/violation-wording.ts";

const name = fc.constantFrom("a", "b", "a/b", "x~y", "constructor", "é");
const reference = fc.constantFrom("#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#anchor");
/** Mostly no value of its keyword's kind. */
const stray = fc.oneof(
  fc.boolean(),
  fc.integer({ min: -1, max: 3 }),
  fc.constantFrom("string", "[", "#", "nope"),
  fc.array(fc.constantFrom("string", "array", "a"), { maxLength: 2 }),
);

/** Schemas that are nearly right: known keywords, mostly with values of their kind. */
const { schema } = fc.letrec<{ schema: unknown; object: JsonSchema }>((tie) => {
  const map = fc.dictionary(name, tie("schema"), { maxKeys: 3 });
  const list = fc.array(tie("schema"), { minLength: 1, maxLength: 2 });
  const value = fc.jsonValue({ maxDepth: 1 });
  const good: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    type: fc.oneof(fc.constantFrom("string", "object", "array"), fc.constant(["object", "null"])),
    $ref: reference,
    properties: map,
    patternProperties: fc.dictionary(fc.constantFrom("^a", "b$"), tie("schema"), { maxKeys: 1 }),
    additionalProperties: tie("schema"),
    unevaluatedProperties: fc.boolean(),
    unevaluatedItems: tie("schema"),
    propertyNames: tie("schema"),
    dependentSchemas: map,
    required: fc.uniqueArray(name, { maxLength: 2 }),
    dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), { maxKeys: 2 }),
    items: tie("schema"),
    prefixItems: list,
    contains: tie("schema"),
    allOf: list,
    anyOf: list,
    oneOf: list,
    not: tie("schema"),
    enum: fc.array(value, { minLength: 1, maxLength: 2 }),
    const: value,
    format: fc.constantFrom("date", "uuid", "email", "url", "iri"),
    pattern: fc.constantFrom("^a", "\\p{L}"),
    minimum: fc.integer(),
    multipleOf: fc.constantFrom(0.1, 2),
    maxLength: fc.nat(5),
    uniqueItems: fc.boolean(),
    description: fc.string(),
  };
  const member = fc
    .tuple(fc.constantFrom(...Object.keys(good)), fc.nat(25))
    .chain(([key, luck]) => fc.tuple(fc.constant(key), luck === 0 ? stray : (good[key] ?? stray)));
  return {
    schema: fc.oneof({ maxDepth: 4, depthIdentifier: "schema" }, fc.boolean(), tie("object")),
    object: fc
      .array(member, { maxLength: 4 })
      .map((members): JsonSchema => Object.fromEntries(members)),
  };
});
const root = fc
  .tuple(schema, schema, schema)
  .filter(([body]) => typeof body === "object")
  .map(
    ([body, a, b]): JsonSchema => ({
      ...(body as JsonSchema),
      $defs: { a, b: typeof b === "object" ? { $anchor: "anchor", ...b } : b },
    }),
  );

const WHERE = { file: "x.toml", key: "s" };
const metaSchema = new Ajv2020({ strict: false, logger: false });

describe("the schema compiler", () => {
  it("compiles whatever it accepts, and accepts nothing that the meta-schema refuses", () => {
    let accepted = 0;
    fc.assert(
      fc.property(root, fc.jsonValue(), (candidate, value) => {
        const { compiled, problems } = createSchemaCompiler().compile(
          candidate as JsonSchema,
          WHERE,
        );
        expect(compiled === undefined).toBe(problems.length > 0);
        if (compiled === undefined) return;
        accepted += 1;
        expect(metaSchema.validateSchema(candidate)).toBe(true);
        const violations = compiled.check(value);
        expect(violations?.length).not.toBe(0);
        expect((violations?.length ?? 0) <= 20).toBe(true);
      }),
      { numRuns: 300 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  it("says of a value what a compiler says that never said anything before", () => {
    const seasoned = createSchemaCompiler();
    let violated = 0;
    fc.assert(
      fc.property(root, fc.jsonValue(), (candidate, value) => {
        const violations = seasoned.compile(candidate, WHERE).compiled?.check(value, true);
        const fresh = createSchemaCompiler().compile(candidate, WHERE).compiled;
        expect(violations).toEqual(fresh?.check(value, true));
        if (violations === undefined) return;
        violated += 1;
        const { message, text } = reportViolations(violations);
        expect(`{${text}}`).toBe(JSON.stringify({ message, details: { errors: violations } }));
      }),
      { numRuns: 600 },
    );
    expect(violated).toBeGreaterThan(100);
  });

  it("answers any JSON that is no schema with problems", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (candidate) => {
        expect(() => createSchemaCompiler().compile(candidate, WHERE)).not.toThrow();
      }),
    );
  });
});
