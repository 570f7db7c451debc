import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeToken, unescapeToken } from "../../src/base/dotted-key.ts";

// RFC 6901 §3, §4
describe("a token of a JSON Pointer", () => {
  it.each([
    ["a/b", "a~1b"],
    ["m~n", "m~0n"],
    ["~1", "~01"],
    ["", ""],
  ])("of %j is %j", (name, token) => {
    expect(escapeToken(name)).toBe(token);
    expect(unescapeToken(token)).toBe(name);
  });

  it("stands for the name it was made of, and has no slash", () => {
    const names = fc.string({ unit: fc.constantFrom("~", "/", "0", "1", "a") });
    fc.assert(
      fc.property(names, (name) => {
        expect(escapeToken(name)).not.toContain("/");
        expect(unescapeToken(escapeToken(name))).toBe(name);
      }),
    );
  });
});
