import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { writeJson } from "../../src/base/json-value.ts";

class Point {
  readonly x = 1;
  get y(): number {
    return 2;
  }
}

/** Written as JSON.stringify does, or refused where that would lose a number or a date. */
function expectWritten(value: unknown): void {
  let isLost = false;
  const text = JSON.stringify(value, function (this: Record<string, unknown>, name, member) {
    const own = this[name];
    isLost ||= own instanceof Date ? member === null : isNonFinite(member);
    return member;
  });
  if (isLost) expect(() => writeJson(value)).toThrow("would be null");
  else expect(writeJson(value)).toBe(text);
}

function isNonFinite(value: unknown): boolean {
  return typeof value === "number" && !Number.isFinite(value);
}

describe("writeJson", () => {
  it("writes whatever value as JSON.stringify does", () => {
    const options = { withDate: true, withNullPrototype: true, withTypedArray: true };
    fc.assert(fc.property(fc.anything(options), expectWritten));
  });

  it("writes whatever scalars an object has as JSON.stringify does", () => {
    const name = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constant("toJSON"));
    const scalar = fc.oneof(
      ...[fc.string(), fc.string({ unit: "binary" }), fc.double(), fc.integer(), fc.boolean()],
      ...[fc.constant(null), fc.constant(undefined), fc.constant(-0)],
    );
    fc.assert(
      fc.property(
        fc.dictionary(name, scalar, { noNullPrototype: true, maxKeys: 8 }),
        expectWritten,
      ),
    );
  });

  it.each([
    ["the value", Number.NaN],
    ["/v", { v: Number.NaN }],
    ["/rooms/1/price", { rooms: [{ price: null }, { price: Number.NEGATIVE_INFINITY }] }],
    ["/0/0", [new Float64Array([Number.POSITIVE_INFINITY])]],
    ["/at", { note: null, at: new Date(Number.NaN) }],
  ])("throws for what would be null, and says where: %s", (place, value) => {
    expect(() => writeJson(value)).toThrow(`${place} is NaN, infinite or no date`);
  });

  it.each([
    { at: new Date(0), text: "null", none: null },
    { toJSON: () => null, hidden: Number.NaN },
    Object.create({ inherited: Number.NaN }, { own: { value: null, enumerable: true } }),
    [undefined, () => 1],
  ])("writes any other null that there is: %#", (value: unknown) => {
    expect(writeJson(value)).toBe(JSON.stringify(value));
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
