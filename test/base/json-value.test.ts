import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { writeJson } from "../../src/base/json-value.ts";

class Point {
  readonly x = 1;
  get y(): number {
    return 2;
  }
}

describe("writeJson", () => {
  it("writes whatever value as JSON.stringify does", () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withNullPrototype: true }), (value) => {
        expect(writeJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it("writes whatever scalars an object has as JSON.stringify does", () => {
    const name = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constant("toJSON"));
    const scalar = fc.oneof(
      ...[fc.string(), fc.string({ unit: "binary" }), fc.double(), fc.integer(), fc.boolean()],
      ...[fc.constant(null), fc.constant(undefined), fc.constant(-0)],
    );
    fc.assert(
      fc.property(fc.dictionary(name, scalar, { noNullPrototype: true, maxKeys: 8 }), (value) => {
        expect(writeJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it.each([
    ["an object with a form of its own", { toJSON: () => "other" }],
    ["an object that inherits", Object.create({ inherited: 1 }, { own: { value: 1 } })],
    ["members that are hidden", Object.defineProperty({ a: 1 }, "hidden", { value: 2 })],
    ["members with symbols for names", { [Symbol("name")]: 1, a: 2 }],
    ["an instance of a class", new Point()],
    [
      "a getter",
      {
        get a() {
          return "got";
        },
      },
    ],
    ["names that look like indices", { b: 1, 2: true, 1: null }],
    ["a member named __proto__", JSON.parse('{"__proto__":1,"a":2}')],
    ["functions, which are left out", { a: () => 1, b: 2 }],
    ["half of a surrogate pair", { text: "\ud800", "\udc00": 1 }],
    ["a text that is long", { text: "x".repeat(10_000), short: 1 }],
    [
      "an object with many members",
      Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`m${n}`, n])),
    ],
    ["nothing that has a JSON form", () => 1],
  ])("writes %s as JSON.stringify does", (_what, value: unknown) => {
    expect(writeJson(value)).toBe(JSON.stringify(value));
  });

  it("throws for what JSON.stringify throws for", () => {
    expect(() => writeJson({ big: 1n })).toThrow(TypeError);
    const round: Record<string, unknown> = {};
    round["self"] = round;
    expect(() => writeJson(round)).toThrow(TypeError);
  });

  it("goes on writing where names never come again", () => {
    for (let index = 0; index < 5_000; index += 1) {
      const value = { [`name-${index}`]: index, last: "x" };
      expect(writeJson(value)).toBe(JSON.stringify(value));
    }
  });
});
