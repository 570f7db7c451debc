import { describe, expect, it } from "vitest";
import { isFieldValue, isToken } from "../../src/wire/header-fields.ts";

// RFC 9110 §5.1
describe("isToken", () => {
  it.each(["Agent-ID", "x", "!#$%&'*+-.^_`|~09azAZ"])("takes %j", (name) => {
    expect(isToken(name)).toBe(true);
  });

  it.each(["", "a b", "a:", "a\r", "a\n", "é", "(x)", 'a"', "a/b", "\0"])("refuses %j", (name) => {
    expect(isToken(name)).toBe(false);
  });
});

// RFC 9110 §5.5
describe("isFieldValue", () => {
  it.each(["", "a b", "a\tb", "café", "\x80\xff"])("takes %j", (value) => {
    expect(isFieldValue(value)).toBe(true);
  });

  it.each(["a\r", "a\nb", "\0", "\x7f", "\x1f", "\u010d", "\u010a", "€"])("refuses %j", (value) => {
    expect(isFieldValue(value)).toBe(false);
  });
});
