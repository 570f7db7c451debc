import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeInput, parseBody, parseQuery } from "../../src/endpoint/input.ts";
import { inputShape } from "../../src/endpoint/input-shape.ts";

describe("parseQuery", () => {
  it("reads back what percent-encoding wrote, the last of each name", () => {
    const text = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 10 }), (fields) => {
        const query = fields.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
        const expected = new Map(fields.filter(([name, value]) => name !== "" || value !== ""));
        const read = parseQuery(query);
        read?.delete("");
        expected.delete("");
        expect(read).toEqual(expected);
      }),
    );
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."%&=+aF0\u00ff") }), (query) => {
        expect(() => parseQuery(query)).not.toThrow();
      }),
    );
  });
});

describe("parseBody", () => {
  it("reads every object that JSON can write", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const text = JSON.stringify(value);
        expect(parseBody(new TextEncoder().encode(text))).toEqual({
          kind: "ok",
          value: JSON.parse(text),
        });
      }),
    );
  });

  it("answers any bytes with a value or a message", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(["ok", "invalid"]).toContain(parseBody(bytes).kind);
      }),
    );
  });

  it("counts levels as a parser does", () => {
    const part = fc.constantFrom("[", "]", "{", "}", '"[{"', '"\\"["', ",", ":", "1");
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 80 }),
        fc.array(part, { maxLength: 50 }),
        (levels, noise) => {
          const text = `${'{"a":'.repeat(levels)}${JSON.stringify(noise)}${"}".repeat(levels)}`;
          const fits = levels > 0 && levels + 1 <= 64;
          expect(parseBody(new TextEncoder().encode(text)).kind).toBe(fits ? "ok" : "invalid");
        },
      ),
    );
  });
});

describe("mergeInput", () => {
  const names = fc.constantFrom("a", "b", "c", "__proto__", "constructor");
  const texts = fc.dictionary(names, fc.string(), { noNullPrototype: true });

  it("gives each member to the path, else to the body, else to the query", () => {
    fc.assert(
      fc.property(texts, fc.dictionary(names, fc.jsonValue()), texts, (query, body, path) => {
        const input = mergeInput(inputShape({}), body, new Map(Object.entries(query)), path);
        for (const name of ["a", "b", "c", "__proto__", "constructor"]) {
          const owner = [path, body, query].find((source) => Object.hasOwn(source, name));
          expect(Object.hasOwn(input, name)).toBe(owner !== undefined);
          if (owner !== undefined) {
            expect(Object.getOwnPropertyDescriptor(input, name)?.value).toEqual(
              Object.getOwnPropertyDescriptor(owner, name)?.value,
            );
          }
        }
      }),
    );
  });

  it("turns every safe integer that is written out into itself, and nothing else", () => {
    const shape = inputShape({ properties: { n: { type: "integer" } } });
    const read = (text: string): unknown =>
      mergeInput(shape, {}, new Map([["n", text]]), undefined)["n"];
    fc.assert(
      fc.property(fc.maxSafeInteger(), (n) => {
        expect(read(String(n))).toBe(n);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        const value = read(text);
        expect(value === text || String(value) === text || text === "-0").toBe(true);
      }),
    );
  });
});
