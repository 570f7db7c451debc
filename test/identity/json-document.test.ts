import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBoundedJson } from "../../src/identity/json-document.ts";

describe("parseBoundedJson", () => {
  it("gives the value, frozen all the way down", () => {
    const { value } = parseBoundedJson('{"a":[{"b":1}]}') as { value: { a: readonly object[] } };
    expect(value).toEqual({ a: [{ b: 1 }] });
    expect([value, value.a, value.a[0]].every(Object.isFrozen)).toBe(true);
  });

  it.each([
    ["{", /^must be JSON: /],
    [`${"[".repeat(33)}${"]".repeat(33)}`, "must not be nested deeper than 32 levels"],
    ['{"a":{"__proto__":{}}}', 'must have no member "__proto__"'],
    ['{"a":1,"b":{},"a":2}', 'must not have the member "a" twice in one object'],
    ['[{"x":{"a":1,"\\u0061":1}}]', 'must not have the member "a" twice in one object'],
    ['{"a":"{","":1,"a":1}', 'must not have the member "a" twice in one object'],
    ['{"\\\\":1,"a\\"":2,"a\\"":3}', 'must not have the member "a\\"" twice in one object'],
    ['["\\ud800"]', "must have no text with half of a surrogate pair"],
    ['{"\\udc00x":1}', "must have no text with half of a surrogate pair"],
    ['{"a":-1e400}', "must have no number beyond the range of double precision"],
  ])("refuses %s", (text, expected) => {
    const { fault } = parseBoundedJson(text);
    expect(fault).toEqual(
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    );
  });

  it.each([
    '{"a":{"a":{"a":1}},"b":{"a":1}}',
    '[{"a":1},{"a":1}]',
    '{"a":"\\":","b":"a","c":["a","a",":"]}',
    '{"a\\\\":1,"a":"\\\\"}',
    '"\\ud83d\\ude00"',
    `${"[".repeat(32)}${"]".repeat(32)}`,
  ])("takes %s, where names repeat in different objects or are values", (text) => {
    expect(parseBoundedJson(text).fault).toBeUndefined();
  });

  it("takes whatever JSON.stringify wrote, with white space or without", () => {
    const document = fc.jsonValue({ maxDepth: 6, stringUnit: "grapheme" });
    fc.assert(
      fc.property(document, fc.constantFrom(0, 2, "\t"), (written, space) => {
        const text = JSON.stringify(written, undefined, space);
        if (text.includes("__proto__")) return;
        expect(parseBoundedJson(text)).toEqual({ value: JSON.parse(text) });
      }),
      { numRuns: 300 },
    );
  });

  it("finds a member that was written twice, wherever it is", () => {
    const document = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 2 }), {
      minKeys: 1,
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(document, fc.nat(), (members, pick) => {
        const names = Object.keys(members);
        const name = names[pick % names.length] ?? "";
        const text = JSON.stringify({ deep: [members] });
        const again = `${text.slice(0, -3)},${JSON.stringify(name)}:0}]}`;
        expect(parseBoundedJson(again).fault).toBeDefined();
      }),
      { numRuns: 300 },
    );
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        parseBoundedJson(text);
      }),
    );
    expect(parseBoundedJson(`{"a":"${'\\"'.repeat(400_000)}"}`).fault).toBeUndefined();
    expect(parseBoundedJson("[".repeat(100_000)).fault).toMatch(/^must be JSON: /);
  });
});
