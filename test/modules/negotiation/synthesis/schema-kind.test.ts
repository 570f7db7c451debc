import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type KnownLists,
  kindOfSchema,
  type PropertySchema,
} from "../../../../src/modules/negotiation/synthesis/schema-kind.ts";
import type { JsonSchema } from "../../../../src/schema/json-schema.ts";
import { createSchemaCompiler } from "../../../../src/schema/schema.ts";
import { SCHEMA_TYPES } from "../../../../src/schema/schema-vocabulary.ts";
import { isCompatible } from "../../../support/compatibility.ts";

const UUID: JsonSchema = { type: "string", format: "uuid" };
const SIZES: JsonSchema = { $defs: { size: { type: "string", enum: ["s", "m"] } } };

// AGTP-API §10.5
describe("isKindCovered", () => {
  it.each<[string, PropertySchema, PropertySchema]>([
    ["the same type", { type: "string" }, { type: "string" }],
    ["an integer for a number", { type: "integer" }, { type: "number" }],
    ["both halves of a number", { type: "number" }, { anyOf: [{ type: "number" }, UUID] }],
    ["a type for a union", { type: "null" }, { type: ["string", "null"] }],
    [
      "a union for a wider one",
      { type: ["null", "integer"] },
      { type: ["number", "null", "string"] },
    ],
    ["a format nobody asked for", UUID, { type: "string" }],
    ["the format asked for", UUID, { type: "string", format: "uuid", minLength: 36 }],
    ["a type the format is not about", { type: "integer" }, { format: "uuid" }],
    ["fewer values", { enum: ["a"] }, { enum: ["b", "a"] }],
    ["a constant for its enum", { const: { x: 1, y: [] } }, { enum: [{ y: [], x: 1 }, 2] }],
    ["values that have the type", { enum: [1, 2] }, { type: "integer" }],
    ["values over two branches", { enum: ["a", 1] }, { oneOf: [{ const: 1 }, { const: "a" }] }],
    ["both booleans", { type: "boolean" }, { enum: [true, false] }],
    ["allOf, as narrow as its branches", { allOf: [{ type: "string" }, { format: "uuid" }] }, UUID],
    ["anything where nothing is asked", {}, { description: "as you like" }],
    ["anything for true", { type: "array" }, true],
    ["every type by name", {}, { type: [...SCHEMA_TYPES] }],
    ["a false that is never given", false, UUID],
  ])("takes %s", (_, from, to) => {
    expect(isCompatible(from, to)).toBe(true);
  });

  it.each<[string, PropertySchema, PropertySchema]>([
    ["another type", { type: "string" }, { type: "integer" }],
    ["a number for an integer", { type: "number" }, { type: "integer" }],
    ["a union for one of its types", { type: ["string", "null"] }, { type: "string" }],
    ["no type for one", { description: "what it is" }, { type: "string" }],
    ["true for a type", true, { type: "object" }],
    ["no format for one", { type: "string" }, UUID],
    ["another format", { type: "string", format: "date" }, UUID],
    ["one value more", { enum: ["a", "c"] }, { enum: ["b", "a"] }],
    ["any text for an enum", { type: "string" }, { enum: ["b", "a"] }],
    ["a text that looks like the number", { const: "1" }, { const: 1 }],
    ["one boolean for the other", { const: true }, { const: false }],
    ["one branch too many", { anyOf: [{ type: "string" }, { type: "array" }] }, { type: "string" }],
    ["listed texts for a format", { enum: ["2024-01-01"] }, { type: "string", format: "date" }],
    ["anything for false", { type: "null" }, false],
  ])("refuses %s", (_, from, to) => {
    expect(isCompatible(from, to)).toBe(false);
  });

  it("follows references into the schema that a property is in", () => {
    const size: JsonSchema = { $ref: "#/$defs/size" };
    const roots = { from: SIZES, to: SIZES };
    expect(isCompatible(size, size, roots)).toBe(true);
    expect(isCompatible(size, { type: "string" }, roots)).toBe(true);
    expect(isCompatible({ type: "string" }, size, roots)).toBe(false);
    expect(isCompatible({ const: "s" }, size, roots)).toBe(true);
  });

  it("takes a schema that refers to itself, or fans out, for one that gives anything", () => {
    const twice = (name: string): JsonSchema => {
      const next = { $ref: `#/$defs/${name}` };
      return { allOf: [next, next] };
    };
    const names = Array.from({ length: 40 }, (_, index) => `d${index}`);
    const $defs = Object.fromEntries(names.map((name, index) => [name, twice(`d${index + 1}`)]));
    const bombs: readonly JsonSchema[] = [{ $ref: "#" }, { $ref: "#/$defs/d0", $defs }];
    for (const bomb of bombs) {
      expect(isCompatible(bomb, {})).toBe(true);
      expect(isCompatible(bomb, { type: "string" })).toBe(false);
      expect(isCompatible({ type: "string" }, bomb)).toBe(false);
    }
  });

  it("holds between a schema and itself", () => {
    fc.assert(
      fc.property(anySchema(), (schema) => {
        expect(isCompatible(schema, schema)).toBe(true);
      }),
    );
  });

  it("still holds when the source says more, or the target less", () => {
    fc.assert(
      fc.property(anySchema(), anySchema(), anySchema(), (from, to, other) => {
        fc.pre(isCompatible(from, to));
        expect(isCompatible({ allOf: [from, other] }, to)).toBe(true);
        expect(isCompatible(from, { anyOf: [other, to] })).toBe(true);
      }),
    );
  });

  it("never takes what the target's own validator would refuse", () => {
    const compiler = createSchemaCompiler();
    const accepted = new Map(
      SCHEMAS.map((schema) => {
        const { compiled } = compiler.compile(schema, { file: "", key: "" });
        return [schema, VALUES.filter((value) => compiled?.check(value) === undefined)];
      }),
    );
    const pairs = SCHEMAS.flatMap((from) => SCHEMAS.map((to) => ({ from, to })));
    const compatible = pairs.filter(({ from, to }) => isCompatible(from, to));
    expect(compatible.length).toBeGreaterThan(2 * SCHEMAS.length);
    for (const { from, to } of compatible) {
      expect(accepted.get(to)).toEqual(expect.arrayContaining(accepted.get(from) ?? []));
    }
  });
});

const SCHEMAS: readonly JsonSchema[] = [
  ...SCHEMA_TYPES.map((type) => ({ type })),
  {},
  { type: ["string", "null"] },
  { type: ["integer", "boolean"] },
  { type: "string", format: "date" },
  { format: "date" },
  { type: "number", enum: ["a", 1, 2] },
  { enum: ["a", 1.5, null] },
  { const: 2 },
  { anyOf: [{ type: "string" }, { type: "array" }] },
  { anyOf: [{ const: true }, { const: false }, { type: "number" }] },
  { allOf: [{ enum: ["a", "b", 1] }, { type: "string" }] },
  { allOf: [{ type: ["string", "object"] }, { format: "date" }] },
];

const VALUES = ["a", "b", "2024-01-01", 1, 2, 1.5, true, false, null, [], {}] as const;

/** Without oneOf, which refuses a value for fitting twice. */
function anySchema(): fc.Arbitrary<JsonSchema> {
  const keywords = fc.record(
    {
      type: fc.oneof(
        fc.constantFrom(...SCHEMA_TYPES),
        fc.uniqueArray(fc.constantFrom(...SCHEMA_TYPES), { minLength: 1, maxLength: 3 }),
      ),
      format: fc.constantFrom("date", "uuid", "int32"),
      enum: fc.uniqueArray(fc.constantFrom(...VALUES), { minLength: 1, maxLength: 4 }),
      const: fc.constantFrom(...VALUES),
    },
    { requiredKeys: [] },
  );
  const branches = fc.array(keywords, { minLength: 1, maxLength: 3 });
  const both = fc.record({ anyOf: branches, allOf: branches }, { requiredKeys: [] });
  return fc.tuple(keywords, both).map(([own, more]) => ({ ...own, ...more }));
}

describe("kindOfSchema", () => {
  it("reads a list of values once, however many properties and branches refer to it", () => {
    const values = ["a", "b"];
    let reads = 0;
    const countingReads = (): IterableIterator<string> => {
      reads += 1;
      return Array.prototype.values.call(values);
    };
    Object.defineProperty(values, Symbol.iterator, { value: countingReads });
    const letters = { $ref: "#/$defs/letters" };
    const root = {
      properties: { one: letters, other: { allOf: [letters, letters] } },
      $defs: { letters: { enum: values } },
    };
    const lists: KnownLists = new Map();
    const kinds = Object.values(root.properties).map((one) => kindOfSchema(one, root, lists));
    const texts = kinds.map((kind) => [...(kind?.get("string")?.[0]?.values ?? [])]);
    expect(texts).toEqual([
      ['"a"', '"b"'],
      ['"a"', '"b"'],
    ]);
    expect(reads).toBe(1);
  });

  it("makes no more of a constant than of a list that has it alone", () => {
    const root = { $defs: { one: { const: { x: 1 } } } };
    const kind = kindOfSchema({ allOf: [{ $ref: "#/$defs/one" }, { $ref: "#/$defs/one" }] }, root);
    expect(kind).toEqual(kindOfSchema({ enum: [{ x: 1 }] }, {}));
  });
});
