import { describe, expect, it } from "vitest";
import { isTooDeep } from "../../src/base/nesting.ts";

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  return depth === 0 ? 1 : wrap(nested(depth - 1, wrap));
}

describe("isTooDeep", () => {
  it.each([
    ["lists", (inner: unknown) => ["a", inner]],
    ["objects", (inner: unknown) => ({ a: 1, b: inner })],
  ])("counts every level of %s", (_, wrap) => {
    expect(isTooDeep(nested(8, wrap), 8)).toBe(false);
    expect(isTooDeep(nested(9, wrap), 8)).toBe(true);
    expect(isTooDeep(nested(0, wrap), 0)).toBe(false);
  });

  it("bears what is nested without end", () => {
    let value: unknown = [];
    for (let depth = 0; depth < 400_000; depth += 1) value = [value];
    expect(isTooDeep(value)).toBe(true);
  });

  it("does not look into members that are passed over", () => {
    const value = { schema: nested(9, (inner) => [inner]), a: {} };
    expect(isTooDeep(value, 4, new Set(["schema"]))).toBe(false);
    expect(isTooDeep(value, 4)).toBe(true);
  });
});
