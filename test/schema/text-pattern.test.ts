import { describe, expect, it } from "vitest";
import { createSchemaCompiler } from "../../src/schema/schema.ts";

function matches(schema: object, value: unknown): boolean {
  const { compiled } = createSchemaCompiler().compile({ ...schema }, { file: "x.toml", key: "" });
  if (compiled === undefined) throw new Error("the schema does not compile");
  return compiled.check(value) === undefined;
}

const byPattern = (pattern: string, text: string): boolean =>
  matches({ type: "string", pattern }, text);

// AGTP-API §13.2
describe("a pattern of an operator's schema", () => {
  // The platform's engine would be at each of them for half a minute and more.
  it.each([
    ["a repetition that is repeated", "^(a+)+$", `${"a".repeat(40)}!`],
    ["words", "^(\\w+\\s?)*$", `${"a".repeat(40)}!`],
    ["one branch in another", "^(a|aa)+$", `${"a".repeat(80)}!`],
    ["spaces at the end of a long text", "^(.*?)\\s+$", `${" ".repeat(200_000)}x`],
    ["a long text without end", "x+x+y", "x".repeat(100_000)],
  ])("is done with soon: %s", (_, pattern, text) => {
    expect(byPattern(pattern, text)).toBe(false);
  });

  it.each([
    ["^(?:[a-z]+-)*[a-z]+$", "a-long-slug", true],
    ["^(?:[a-z]+-)*[a-z]+$", "a--slug", false],
    ["^\\d{4}-\\d{2}$", "2030-05", true],
    ["^[a-z]+$", "a".repeat(500), true],
    ["^[a-z]+$", `${"a".repeat(500)}1`, false],
    ["^(?:é|\\u{1F3E8})+$", "é🏨é", true],
    ["^(a)\\1+$", "aaa", true],
    ["^(?=.*\\d)[a-z\\d]+$", "abc", false],
    ["^(?=.*\\d)[a-z\\d]+$", "abc1", true],
  ])("means what ECMAScript means: %s of %s is %s", (pattern, text, expected) => {
    expect(byPattern(pattern, text)).toBe(expected);
  });

  it("tells the names of members, too", () => {
    const schema = { type: "object", patternProperties: { "^(a+)+$": { type: "integer" } } };
    expect(matches(schema, { aaa: 1 })).toBe(true);
    expect(matches(schema, { aaa: "x" })).toBe(false);
    expect(matches(schema, { [`${"a".repeat(40)}!`]: "x" })).toBe(true);
  });
});
