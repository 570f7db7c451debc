import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandEnvironment } from "../../src/config/environment.ts";

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

  it.each(["constructor", "__proto__", "toString"])("takes %s from nowhere else", (name) => {
    const { faults } = expandEnvironment([`\${${name}}`], {});
    expect(faults).toEqual([
      { key: "[0]", message: `the environment variable ${name} is not set` },
    ]);
  });

  it.each(["", "1A", "A-B", "A B", "A:-b"])("refuses the name %j", (name) => {
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
