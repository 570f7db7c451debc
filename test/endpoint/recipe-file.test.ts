import { describe, expect, it } from "vitest";
import { atOnce } from "../../src/base/paced.ts";
import { formatProblem } from "../../src/base/problem.ts";
import type { Recipe } from "../../src/endpoint/recipe.ts";
import { loadingRecipes, parseRecipeFile } from "../../src/endpoint/recipe-file.ts";
import { makeDirectory } from "../support/directory.ts";
import { smallVocabulary } from "../support/vocabulary.ts";

const AUDIT = `
[[recipe]]
name = "audit-via-query-and-summarize"
version = "3"
description = "Audit a subject: read its facts, then summarize them."
required_scopes = ["documents:read"]
[recipe.pattern]
method_exact = "AUDIT"
path_exact = "/ratings"
has_parameters = ["subject"]
[recipe.semantic]
[[recipe.steps]]
method = "QUERY"
path = "/facts/{subject}"
capture_as = "facts"
[recipe.steps.parameters.subject]
kind = "proposal"
value = "subject"
[[recipe.steps]]
method = "SUMMARIZE"
[recipe.steps.parameters.source]
kind = "previous_step"
value = "facts.items"
[recipe.steps.parameters.since]
kind = "constant"
value = 2024-01-31
[recipe.aggregation]
mode = "merge"
`;

function parse(text: string) {
  const { recipes, problems } = parseRecipeFile(text, "recipes/r.toml", smallVocabulary());
  const lines = problems.map((problem) => formatProblem(problem).replace("recipes/r.toml: ", ""));
  return { recipes, problems, lines };
}

// AGTP-API §10.5, §12.1
describe("a recipe file", () => {
  it("becomes recipes", () => {
    const { recipes, problems } = parse(AUDIT);
    expect(problems).toEqual([]);
    expect(recipes).toEqual<Recipe[]>([
      {
        file: "recipes/r.toml",
        name: "audit-via-query-and-summarize",
        version: "3",
        description: "Audit a subject: read its facts, then summarize them.",
        requiredScopes: ["documents:read"],
        pattern: { methodExact: "AUDIT", pathExact: "/ratings", hasParameters: ["subject"] },
        steps: [
          {
            method: "QUERY",
            path: "/facts/{subject}",
            captureAs: "facts",
            parameters: { subject: { kind: "proposal", value: "subject" } },
          },
          {
            method: "SUMMARIZE",
            path: "/",
            parameters: {
              source: { kind: "previous_step", value: "facts.items" },
              since: { kind: "constant", value: "2024-01-31" },
            },
          },
        ],
        aggregation: "merge",
      },
    ]);
  });

  it("needs no more than a name, a version and a step", () => {
    const text = '[[recipe]]\nname = "r"\nversion = 3\n[[recipe.steps]]\nmethod = "DESCRIBE"\n';
    expect(parse(text).recipes).toEqual([
      {
        file: "recipes/r.toml",
        name: "r",
        version: "3",
        description: "",
        requiredScopes: [],
        steps: [{ method: "DESCRIBE", path: "/", parameters: {} }],
        aggregation: "last",
      },
    ]);
  });

  it("takes name_exact, and a regular expression for the path", () => {
    const text = AUDIT.replace("method_exact", "name_exact").replace(
      'path_exact = "/ratings"',
      'path_regex = "^/ratings(/[^/]+)?$"',
    );
    const [recipe] = parse(text).recipes;
    expect(recipe?.pattern?.methodExact).toBe("AUDIT");
    expect(recipe?.pattern?.pathRegex?.test("/ratings/7")).toBe(true);
    expect(recipe?.pattern?.pathRegex?.source).toBe("^/ratings(/[^/]+)?$");
  });

  it("matches a long path with a regular expression that others would never finish", () => {
    const text = AUDIT.replace('path_exact = "/ratings"', 'path_regex = "^(/([a-z]+)*)*!$"');
    const regex = parse(text).recipes[0]?.pattern?.pathRegex;
    expect(regex?.test(`/${"a".repeat(8_000)}`)).toBe(false);
  });

  it("takes a recipe from before recipes had versions for its first, and warns", () => {
    const { recipes, problems } = parse(AUDIT.replace(/version = .*/, ""));
    expect(recipes).toMatchObject([{ version: "1" }]);
    expect(problems).toMatchObject([{ key: "recipe[0].version", severity: "warning" }]);
  });

  it("warns of a regular expression that matches parts, and keeps the recipe", () => {
    const { recipes, problems } = parse(
      AUDIT.replace('path_exact = "/ratings"', 'path_regex = "/ratings"'),
    );
    expect(recipes).toHaveLength(1);
    expect(problems).toMatchObject([{ key: "recipe[0].pattern.path_regex", severity: "warning" }]);
  });

  it("loses only the recipes that have problems", () => {
    const bad = AUDIT.replace('"QUERY"', '"QEURY"').replace("audit-via", "bad-via");
    const { recipes, lines } = parse(AUDIT + bad);
    expect(recipes.map(({ name }) => name)).toEqual(["audit-via-query-and-summarize"]);
    expect(lines).toEqual([
      'recipe[1].steps[0].method: "QEURY" is not in the method catalog at version 1.0.0 (did you mean QUERY?)',
    ]);
  });

  it.each<[string, string | RegExp, string, string]>([
    ["no name", /name = .*/, "", "recipe[0].name: is missing, expected a text"],
    [
      "a fraction as version",
      /version = .*/,
      "version = 1.5",
      "recipe[0].version: is 1.5, expected a text",
    ],
    [
      "an unknown key",
      "description",
      "descripton",
      "recipe[0].descripton: unknown key (did you mean description?)",
    ],
    ["an unknown root key", /^/, "recpie = 1\n", "recpie: unknown key (did you mean recipe?)"],
    [
      "a bad scope",
      '"documents:read"',
      '"documents"',
      'recipe[0].required_scopes: "documents" is no scope',
    ],
    [
      "a removed method to match",
      '"AUDIT"',
      '"AUDITED"',
      'recipe[0].pattern.method_exact: "AUDITED" is not in the method catalog',
    ],
    [
      "two names of one key",
      "method_exact",
      'name_exact = "AUDIT"\nmethod_exact',
      "recipe[0].pattern.name_exact: is another name of method_exact",
    ],
    [
      "no method to match",
      /method_exact.*/,
      "",
      "recipe[0].pattern.method_exact: is missing, expected a text",
    ],
    [
      "two paths to match",
      "path_exact",
      'path_regex = "^/$"\npath_exact',
      "recipe[0].pattern.path_regex: stands beside path_exact",
    ],
    ["a template to match", '"/ratings"', '"/ratings/{id}"', "recipe[0].pattern.path_exact:"],
    ["a method as path to match", '"/ratings"', '"/audit"', "recipe[0].pattern.path_exact:"],
    [
      "a broken regular expression",
      'path_exact = "/ratings"',
      'path_regex = "^(/$"',
      'recipe[0].pattern.path_regex: "^(/$" is no regular expression',
    ],
    [
      "a regular expression that looks ahead",
      'path_exact = "/ratings"',
      'path_regex = "^/(?!admin).*$"',
      "is no regular expression that RE2 can match: invalid or unsupported Perl syntax: (?!",
    ],
    [
      "a regular expression with a large program",
      'path_exact = "/ratings"',
      'path_regex = "^(?:/[a-z]{1,100}){1,100}$"',
      "steps a character, expected at most 1024: repeat less",
    ],
    [
      "a long regular expression",
      'path_exact = "/ratings"',
      `path_regex = "^${"a".repeat(300)}$"`,
      "recipe[0].pattern.path_regex: is too long, expected at most 256 characters",
    ],
    [
      "half a semantic block",
      "[recipe.semantic]",
      '[recipe.semantic]\nintent = "x"',
      "recipe[0].semantic.outcome: is missing",
    ],
    [
      "no steps",
      /\[\[recipe.steps\]\][\s\S]*(?=\[recipe.agg)/,
      "",
      "recipe[0].steps: has no steps, expected at least one",
    ],
    [
      "steps that are a table",
      /\[\[recipe.steps\]\][\s\S]*(?=\[recipe.agg)/,
      "[recipe.steps]\n",
      "recipe[0].steps: is a table, expected an array of tables",
    ],
    ["a legacy method", '"QUERY"', '"GET"', 'recipe[0].steps[0].method: "GET" is a legacy verb'],
    ["a path without a slash", '"/facts/', '"facts/', "recipe[0].steps[0].path:"],
    [
      "a path parameter from nowhere",
      "{subject}",
      "{id}",
      "recipe[0].steps[0].path: {id} is not among the parameters of this step",
    ],
    [
      "a capture that is no identifier",
      '"facts"\n[',
      '"fa.cts"\n[',
      'recipe[0].steps[0].capture_as: "fa.cts" is no identifier',
    ],
    [
      "a capture named __proto__",
      '"facts"\n[',
      '"__proto__"\n[',
      'recipe[0].steps[0].capture_as: "__proto__" is no identifier',
    ],
    [
      "a name captured twice",
      '"SUMMARIZE"',
      '"SUMMARIZE"\ncapture_as = "facts"',
      'recipe[0].steps[1].capture_as: "facts" is captured by an earlier step already',
    ],
    [
      "an unknown source",
      '"proposal"',
      '"propsal"',
      'recipe[0].steps[0].parameters.subject.kind: is "propsal", expected one of proposal, previous_step, constant (did you mean proposal?)',
    ],
    [
      "a source without value",
      '\nvalue = "subject"',
      "",
      "recipe[0].steps[0].parameters.subject.value: is missing, expected a text",
    ],
    [
      "a constant without value",
      "\nvalue = 2024-01-31",
      "",
      "recipe[0].steps[1].parameters.since.value: is missing, expected any value",
    ],
    [
      "a constant that JSON has not",
      "2024-01-31",
      "nan",
      "recipe[0].steps[1].parameters.since.value: is inf, nan or nested too deeply",
    ],
    [
      "an output nobody captured",
      '"facts.items"',
      '"fact.items"',
      'recipe[0].steps[1].parameters.source.value: "fact" is captured by no earlier step (did you mean facts?)',
    ],
    [
      "an output with an empty part",
      '"facts.items"',
      '"facts..items"',
      "has an empty part between its dots",
    ],
    [
      "its own output",
      'kind = "proposal"\nvalue = "subject"',
      'kind = "previous_step"\nvalue = "facts"',
      '"facts" is captured by no earlier step',
    ],
    [
      "an unknown aggregation",
      '"merge"',
      '"merged"',
      'recipe[0].aggregation.mode: is "merged", expected one of last, merge, list (did you mean merge?)',
    ],
  ])("must not have %s", (_, from, to, message) => {
    const text = AUDIT.replace(from, to);
    expect(text).not.toBe(AUDIT);
    const { recipes, lines } = parse(text);
    expect(lines.join("\n")).toContain(message);
    if (!message.startsWith("recpie")) expect(recipes).toEqual([]);
  });

  it.each([
    ["", "recipe: is missing, expected tables as in [[recipe]]"],
    ["[recipe]", "recipe: is a table, expected an array of tables, as in [[recipe]]"],
    ["recipe = [1]", "recipe[0]: is 1, expected a table"],
    ["[[recipe", "is not TOML: line 1"],
    ["[[recipe]]\n".repeat(300), "recipe: has 300 recipes, expected at most 256 in a file"],
    [
      `[[recipe]]\n${"[[recipe.steps]]\n".repeat(70)}`,
      "recipe[0].steps: has 70 steps, expected at most 64",
    ],
  ])("is a problem when it is %j", (text, message) => {
    expect(parse(text).lines.join("\n")).toContain(message);
  });
});

describe("loadingRecipes", () => {
  const load = (files: Readonly<Record<string, string>>, recipesDir = "recipes") => {
    const directory = makeDirectory(files);
    return atOnce(loadingRecipes({ ...smallVocabulary(), directory, recipesDir }));
  };

  it("loads every file of the directory, by name, the first of a name", () => {
    const { recipes, problems } = load({
      "recipes/a.toml": AUDIT,
      "recipes/b.toml": AUDIT + AUDIT.replace("audit-via", "other-via"),
      "recipes/below/c.toml": "broken",
    });
    expect([...recipes.keys()]).toEqual([
      "audit-via-query-and-summarize",
      "other-via-query-and-summarize",
    ]);
    expect(recipes.get("audit-via-query-and-summarize")?.file).toBe("recipes/a.toml");
    expect(problems.map(formatProblem)).toEqual([
      'recipes/b.toml: recipe.name: "audit-via-query-and-summarize" is the name of two recipes (the other one is in recipes/a.toml)',
    ]);
  });

  it("is content without the directory, unless another one was configured", () => {
    expect(load({}).problems).toEqual([]);
    expect(load({}, "cookbook").problems).toHaveLength(1);
  });
});
