import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findLostNumbers, hasLostNumbers, rewriteExactly } from "../../src/base/exact-numbers.ts";

function firstLost(text: string): string | undefined {
  const octets = Buffer.from(text);
  const value: unknown = JSON.parse(text);
  const [first] = findLostNumbers(octets, value)?.values() ?? [];
  expect(hasLostNumbers(octets, value)).toBe(first !== undefined);
  return first;
}

describe("findLostNumbers", () => {
  it.each([
    ['{"id": 9007199254740993}', "9007199254740993"],
    ["[1, -9223372036854775807]", "-9223372036854775807"],
    ['{"a": {"b": [12345678901234567890]}}', "12345678901234567890"],
    [`{"a": [1234567890123456, ${"9".repeat(500)}]}`, "9".repeat(500)],
    // A double has these, and is written with other digits.
    ["[30023997515803312]", "30023997515803312"],
    ["[1152921504606846976]", "1152921504606846976"],
    ["[-18446744073709551616000]", "-18446744073709551616000"],
    // No double has these.
    ["[1e308, 1e400]", "1e400"],
    ['{"a":-1E+309}', "-1E+309"],
    ["[ 0.01e0000000400 ]", "0.01e0000000400"],
    [`[${"9".repeat(400)}.5]`, `${"9".repeat(400)}.5`],
    [`[${"9".repeat(250)}e99\n]`, `${"9".repeat(250)}e99`],
    ["1e999", "1e999"],
  ])("finds it in %s", (text, token) => {
    expect(firstLost(text)).toBe(token);
  });

  it.each([
    "[9007199254740991, -9007199254740991]",
    // Doubles have these, though not all of their neighbours.
    "[9007199254740992, 1152921504606847000, 10000000000000000000000, -1180591620717411300000]",
    "[0.1234567890123456789, 6.02214076e23, 12345678901234567890.5]",
    "[1e308, 1e-400, 0e999, -1.7976931348623157e+308]",
    '["1e400", "3f1e400,", "ce1e999]"]',
    '["9007199254740993", "\\"9007199254740993"]',
    '{"9007199254740993": 1}',
    "{}",
  ])("finds none in %s", (text) => {
    expect(firstLost(text)).toBeUndefined();
  });

  it("agrees with what is written again, whatever integers there are", () => {
    const values = fc.array(
      fc.oneof(fc.bigInt({ min: -(10n ** 21n) + 1n, max: 10n ** 21n - 1n }), fc.string()),
    );
    fc.assert(
      fc.property(values, (some) => {
        const text = `[${some.map((one) => (typeof one === "bigint" ? one : JSON.stringify(one))).join()}]`;
        const isKept = some.every(
          (one) => typeof one === "string" || String(Number(one)) === String(one),
        );
        expect(firstLost(text) === undefined).toBe(isKept);
        expect(rewriteExactly(Buffer.from(text), (value) => value)).toBe(
          isKept ? JSON.stringify(JSON.parse(text)) : text,
        );
      }),
    );
  });
});

describe("rewriteExactly", () => {
  it("writes what was changed, each number to the digit, and each name once", () => {
    const text = '{ "id":1, "id": 9007199254740993, "list": [1, 18446744073709551615, "\\u0041"] }';
    const change = (value: unknown) => ({ ours: value });
    expect(rewriteExactly(Buffer.from(text), change)).toBe(
      '{"ours":{"id":9007199254740993,"list":[1,18446744073709551615,"A"]}}',
    );
  });

  it("has texts of any length before them", () => {
    const long = JSON.stringify("x".repeat(16_000_000) + "\\\n".repeat(4_000_000));
    const text = `[${long},9007199254740993]`;
    expect(firstLost(text)).toBe("9007199254740993");
    expect(rewriteExactly(Buffer.from(text), (same) => same) === text).toBe(true);
  });
});
