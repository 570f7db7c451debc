import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandEnvironment } from "../../../src/app/config/load.ts";
import {
  literalText,
  literalValue,
  substituteVariables,
  variablesIn,
} from "../../../src/base/environment.ts";

describe("expandEnvironment", () => {
  it("replaces every variable of a string, wherever the string stands", () => {
    const tree = { list: [`\${A}-\${B}`, 1, true], table: { text: `<\${A}>` } };
    const { value, faults } = expandEnvironment(tree, { A: "a", B: "" });
    expect(value).toEqual({ list: ["a-", 1, true], table: { text: "<a>" } });
    expect(faults).toEqual([]);
  });

  it("does not look again at what it put in", () => {
    const { value } = expandEnvironment([`\${A}`], { A: `\${B}`, B: "b" });
    expect(value).toEqual([`\${B}`]);
  });

  it("leaves alone what is no placeholder", () => {
    const tree = ["$A", "{A}", "$$"];
    expect(expandEnvironment(tree, { A: "a" })).toEqual({ value: tree, faults: [] });
  });

  it.each([
    [`$\${A}`, `\${A}`],
    [`$$\${A}`, `$\${A}`],
    ["a$${", "a${"],
    [`$\${A}\${A}`, `\${A}a`],
    [`\${A}$\${A}`, `a\${A}`],
    [`$\${$\${A}}`, `\${\${A}}`],
  ])("takes %j for the literal text %j", (written, text) => {
    expect(expandEnvironment([written], { A: "a" })).toEqual({ value: [text], faults: [] });
  });

  it("refuses a placeholder that is never closed, which would be taken for a secret", () => {
    const { faults } = expandEnvironment([`\${A`], { A: "a" });
    expect(faults).toEqual([{ key: "[0]", message: 'has a "${" that is never closed' }]);
  });

  it("is quick with a text of nothing but openings", () => {
    const { faults } = expandEnvironment(["${".repeat(500_000)], {});
    expect(faults).toHaveLength(20);
  });

  it("reports each variable that is not set, with its key", () => {
    const tree = { a: { "b.c": [`\${ONE}\${TWO}`] } };
    expect(expandEnvironment(tree, {}).faults).toEqual([
      { key: 'a."b.c"[0]', message: "the environment variable ONE is not set" },
      { key: 'a."b.c"[0]', message: "the environment variable TWO is not set" },
    ]);
  });

  it.each([
    [{}, "https://localhost:4481/v1"],
    [{ DESK: "" }, "https://localhost:4481/v1"],
    [{ DESK: `https://desk.example/\${A}` }, `https://desk.example/\${A}/v1`],
  ])("puts the text behind :- in where the variable is not set: %j", (environment, text) => {
    const written = `\${DESK:-https://localhost:4481}/v1`;
    expect(expandEnvironment([written], environment)).toEqual({ value: [text], faults: [] });
    expect(variablesIn(`${written}\${OTHER}`)).toEqual(["OTHER"]);
  });

  it.each([`\${:-a}`, `\${A B:-a}`, `\${A-a}`])("refuses %j, which names none", (written) => {
    const { faults } = expandEnvironment([written], { A: "a" });
    expect(faults).toEqual([
      { key: "[0]", message: `${JSON.stringify(written)} names no environment variable` },
    ]);
  });

  it.each(["constructor", "__proto__", "toString"])("takes %s from nowhere else", (name) => {
    const { faults } = expandEnvironment([`\${${name}}`], {});
    expect(faults).toEqual([
      { key: "[0]", message: `the environment variable ${name} is not set` },
    ]);
  });

  it.each(["", "1A", "A-B", "A B", "A:=b", "A:b"])("refuses the name %j", (name) => {
    const { faults } = expandEnvironment([`\${${name}}`], { [name]: "a" });
    expect(faults).toEqual([
      { key: "[0]", message: `"\${${name}}" names no environment variable` },
    ]);
  });

  it("bounds what many uses of a large variable grow to", () => {
    const { faults } = expandEnvironment([`\${A}`.repeat(10_000)], { A: "a".repeat(60_000) });
    expect(faults).toEqual([{ key: "[0]", message: "must be at most 65536 characters long" }]);
  });

  it("keeps every tree without placeholders as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (tree) => {
        fc.pre(!JSON.stringify(tree).includes("$"));
        expect(expandEnvironment(tree, {})).toEqual({ value: tree, faults: [] });
      }),
    );
  });
});

describe("literalText", () => {
  const text = fc.array(fc.constantFrom("$", "{", "}", "A", " ")).map((parts) => parts.join(""));

  it("is read back as the text that it was, whatever the environment holds", () => {
    fc.assert(
      fc.property(text, (written) => {
        expect(substituteVariables(literalText(written), { A: "a" })).toEqual({ text: written });
        expect(variablesIn(literalText(written))).toEqual([]);
      }),
    );
  });

  it("holds for every text of a value", () => {
    const value = { name: `\${A}`, list: [`\${A}`, 1, { more: `$\${A}` }] };
    expect(expandEnvironment(literalValue(value), { A: "a" })).toEqual({ value, faults: [] });
  });
});
