import { describe, expect, it } from "vitest";
import { isMultipleOf } from "../../src/schema/keywords-and-formats.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";

describe("multipleOf", () => {
  it.each([
    [19.99, 0.01],
    [0.07, 0.01],
    [4.35, 0.01],
    [123_456_789.12, 0.01],
    [1.1, 0.1],
    [-0.3, 0.1],
    [0, 0.1],
    [9_007_199_254_740_991, 1],
  ])("holds for %f and %f, as they are written", (value, factor) => {
    expect(isMultipleOf(value, factor)).toBe(true);
  });

  it.each([
    [0.075, 0.01],
    [19.991, 0.01],
    [0.010_000_000_1, 0.01],
    [1e-9, 0.01],
    [7, 2],
    [1e308, 0.123456789],
  ])("does not hold for %f and %f", (value, factor) => {
    expect(isMultipleOf(value, factor)).toBe(false);
  });

  it("takes and refuses prices by a schema", () => {
    const schema = { type: "number", multipleOf: 0.01 };
    const { compiled } = createSchemaCompiler().compile(schema, { file: "x", key: "" });
    expect(compiled?.check(19.99)).toBeUndefined();
    expect(compiled?.check(19.999)).toEqual([
      { path: "", keyword: "multipleOf", message: "must be multiple of 0.01" },
    ]);
  });
});
