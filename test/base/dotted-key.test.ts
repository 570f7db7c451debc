import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  atPointer,
  escapeToken,
  fromPointer,
  joinKey,
  unescapeToken,
} from "../../src/base/dotted-key.ts";

const TREE = { agntcy: [{ base: "/a" }], levels: { "1": "x" }, "a/b": { "c~d": 1 }, "e.f": 2 };

describe("fromPointer", () => {
  it.each([
    ["", ""],
    ["/agntcy", "agntcy"],
    ["/agntcy/0/base", "agntcy[0].base"],
    ["/levels/1", "levels.1"],
    ["/a~1b/c~0d", '"a/b"."c~d"'],
    ["/e.f", '"e.f"'],
    ["/absent/0", "absent.0"],
  ])("writes %j as %j", (pointer, key) => {
    expect(fromPointer(pointer, TREE)).toBe(key);
  });
});

describe("atPointer", () => {
  it("finds own members alone", () => {
    expect(atPointer("/a~1b/c~0d", TREE)).toBe(1);
    expect(atPointer("/agntcy/0/base", TREE)).toBe("/a");
    expect(atPointer("/constructor", TREE)).toBeUndefined();
    expect(atPointer("/agntcy/0/base/length", TREE)).toBeUndefined();
  });
});

describe("joinKey", () => {
  it("quotes what TOML would need quotes for", () => {
    expect(joinKey("", "a_b-1")).toBe("a_b-1");
    expect(joinKey("t", "")).toBe('t.""');
    expect(joinKey("t", 'a"b')).toBe('t."a\\"b"');
  });
});

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
