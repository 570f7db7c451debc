import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandEnvironment, loadConfig } from "../../../src/app/config/load.ts";
import {
  literalText,
  literalValue,
  substituteVariables,
  variablesIn,
} from "../../../src/base/environment.ts";
import { makeDirectory } from "../../support/directory.ts";

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

const CONFIGURATION = `
[server]
server_id = "a.example"
operator = "\${OPERATOR}"
contact = "\${CONTACT}"
`;

function load(env: string | undefined, environment = {}) {
  const directory = makeDirectory();
  mkdirSync(join(directory, "catalog"));
  writeFileSync(join(directory, "catalog/methods.json"), "{}");
  if (env !== undefined) writeFileSync(join(directory, ".env"), env);
  const path = join(directory, "agtp-server.toml");
  writeFileSync(path, CONFIGURATION);
  return { directory, path, loaded: loadConfig(path, environment) };
}

const VARIABLE = `\${CONTACT}`;

describe("the .env of a deployment", () => {
  it("has the variables that the environment does not have", () => {
    const { loaded } = load("OPERATOR=Acme\nexport CONTACT='ops@acme.example' # theirs\n", {
      OPERATOR: "The environment's",
    });
    expect(loaded.problems).toEqual([]);
    expect(loaded.config?.server).toMatchObject({
      operator: "The environment's",
      contact: "ops@acme.example",
    });
    expect(loaded.environment["CONTACT"]).toBe("ops@acme.example");
  });

  it("puts in nothing by itself: a value may hold what looks like a variable", () => {
    const { loaded } = load(`OPERATOR='${VARIABLE}'\nCONTACT=a`, {});
    expect(loaded.config?.server.operator).toBe(VARIABLE);
  });

  it("is read anew with the configuration", () => {
    const { directory, path } = load("OPERATOR=one\nCONTACT=c");
    writeFileSync(join(directory, ".env"), "OPERATOR=two\nCONTACT=c");
    expect(loadConfig(path, {}).config?.server.operator).toBe("two");
  });

  it("may be absent, and then a variable that is nowhere is a problem", () => {
    const { loaded } = load(undefined, { OPERATOR: "o" });
    expect(loaded.config).toBeUndefined();
    expect(loaded.problems).toEqual([
      {
        file: "agtp-server.toml",
        key: "server.contact",
        message: "the environment variable CONTACT is not set",
        hint: "set it where the daemon is started, or in .env beside the configuration",
      },
    ]);
  });

  it("is a problem where it cannot be read, and the configuration is told as well", () => {
    const { directory, path } = load(undefined);
    mkdirSync(join(directory, ".env"));
    const { config, problems } = loadConfig(path, { OPERATOR: "o", CONTACT: "c" });
    expect(config).toBeUndefined();
    expect(problems).toEqual([
      { file: ".env", key: "", message: "must be a file, is a directory" },
    ]);
    writeFileSync(path, CONFIGURATION.replace("server_id", "server_ib"));
    expect(
      loadConfig(path, { OPERATOR: "o", CONTACT: "c" }).problems.map(({ key }) => key),
    ).toEqual(["", "server.server_id", "server.server_ib"]);
  });
});
