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

// RFC 3339 §5.6
describe("date-time and time", () => {
  const isFormat = (format: string, value: string): boolean => {
    const schema = { type: "string", format };
    const { compiled } = createSchemaCompiler().compile(schema, { file: "x", key: "" });
    return compiled?.check(value) === undefined;
  };

  it.each([
    "2026-11-29T14:00:00Z",
    "2026-11-29t14:00:00.123456789z",
    "2026-11-29 14:00:00+02:00",
    "2024-02-29T23:59:59.999999999999999-23:59",
    "1998-12-31T23:59:60Z",
    "1998-12-31T15:59:60.123-08:00",
    "1999-01-01T08:59:60+09:00",
  ])("take %s", (text) => {
    expect([isFormat("date-time", text), isFormat("time", text.slice(11))]).toEqual([true, true]);
  });

  it.each([
    "2026-11-29T14:00:00",
    "2026-11-29T14:00:00+02",
    "2026-11-29T14:00:00+0200",
    "2026-11-29T14:00Z",
    "2026-11-29T24:00:00Z",
    "2026-11-29T24:59:60+01:00",
    "2026-11-29T14:60:00Z",
    "2026-11-29T14:00:60Z",
    "2026-11-29T23:59:61Z",
    "2026-11-29T23:58:60Z",
    "2026-11-29T14:00:00+24:00",
    "2026-11-29T14:00:00-00:60",
    "2026-11-29T14:00:00.Z",
    "2026-11-29T14:00:00ZZ",
    "2026-11-29T14:00:00Z\n",
  ])("refuse %s", (text) => {
    expect([isFormat("date-time", text), isFormat("time", text.slice(11))]).toEqual([false, false]);
  });

  it.each(["2026-02-29T14:00:00Z", "2026-11-29\n14:00:00Z", "2026-11-29", "14:00:00Z", ""])(
    "refuse %j for a date-time",
    (text) => {
      expect(isFormat("date-time", text)).toBe(false);
    },
  );
});
