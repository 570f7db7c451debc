import { describe, expect, it } from "vitest";
import type { ParameterSource, Recipe, RecipePattern } from "../../../../src/endpoint/recipe.ts";
import { compileLinearRegex, type LinearRegex } from "../../../../src/schema/linear-regex.ts";
import { makeRecipe } from "../../../support/endpoint-definition.ts";
import {
  failureOf,
  holding,
  makeProposal,
  makeStep,
  makeSynthesizer,
  planOf,
  stepsOf,
} from "../../../support/synthesis.ts";

const proposal = (value: string): ParameterSource => ({ kind: "proposal", value });

function regexOf(source: string): LinearRegex {
  const result = compileLinearRegex(source);
  if (result.kind === "fault") throw new Error(result.message);
  return result.regex;
}

const ENDPOINTS = [
  makeStep("QUERY /facts/{subject}", { takes: ["subject"], gives: ["facts"] }),
  makeStep("BOOK /reviews", {
    ...{ takes: ["subject", "note?"], impact: "reversible", isIdempotent: false },
    requiredScopes: ["reviews:write"],
  }),
];

/** A recipe for AUDIT /reviews, with what a test is about in its place. */
function makeAudit(rest: Partial<Recipe> = {}, pattern: Partial<RecipePattern> = {}): Recipe {
  const subject = proposal("subject");
  const steps = [
    { method: "QUERY", path: "/facts/{subject}", captureAs: "facts", parameters: { subject } },
    { method: "SUMMARIZE", parameters: { length: proposal("length") } },
  ];
  return {
    ...makeRecipe(steps, { name: "audit", version: "3", description: "Audits a subject." }),
    pattern: { methodExact: "AUDIT", hasParameters: [], ...pattern },
    ...rest,
  };
}

const PROPOSAL = makeProposal({ method: "AUDIT", path: "/reviews", offers: ["subject"] });

function planWith(recipes: readonly Recipe[], words: Partial<typeof PROPOSAL> = {}, maxDepth = 10) {
  const synthesizer = makeSynthesizer(ENDPOINTS, { recipes, maxDepth });
  return synthesizer.plan({ ...PROPOSAL, ...words }, holding("reviews:write"));
}

// AGTP-API §10.5
describe("a plan from a recipe", () => {
  it("is the recipe as it is now, with its version, and without its pattern", () => {
    const recipe = makeAudit({}, { pathRegex: regexOf("^/reviews$") });
    const plan = planOf(planWith([recipe]));
    const { pattern: _pattern, ...rest } = recipe;
    expect(plan).toMatchObject({
      kind: "recipe",
      lineage: { recipe_name: "audit", recipe_version: "3" },
      impact: "informational",
      isIdempotent: true,
      neededInputs: ["subject"],
    });
    expect(plan.recipe).toEqual(rest);
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
  });

  it("has the scopes and the strongest impact of all its steps, and its own scopes", () => {
    const subject = proposal("subject");
    const steps = [
      ...makeAudit().steps,
      { method: "BOOK", path: "/reviews", parameters: { subject } },
    ];
    const plan = planOf(planWith([makeAudit({ steps })]));
    expect(plan).toMatchObject({
      requiredScopes: ["reviews:write"],
      impact: "reversible",
      isIdempotent: false,
    });
    const own = makeAudit({ steps, requiredScopes: ["audit:run"] });
    expect(failureOf(planWith([own]))).toMatchObject({
      reason: "scope-required",
      missing: { scopes: ["audit:run"] },
    });
  });

  it("is that of the first recipe by name, whatever the order they came in", () => {
    const recipes = ["b", "a", "c"].map((name) => makeAudit({ name }));
    expect(planOf(planWith(recipes)).lineage?.recipe_name).toBe("a");
    expect(planOf(planWith(recipes.toReversed())).lineage?.recipe_name).toBe("a");
  });

  it("comes before anything that the endpoints could do", () => {
    const outputSchema = { required: ["facts"], properties: { facts: { type: "string" } } };
    expect(planOf(planWith([makeAudit()], { outputSchema })).kind).toBe("recipe");
    expect(planOf(planWith([], { outputSchema })).kind).toBe("passthrough");
  });
});

// AGTP-API §5.8.6
describe("the pattern of a recipe", () => {
  it.each<[string, Partial<RecipePattern>]>([
    ["method alone", {}],
    ["an exact path", { pathExact: "/reviews" }],
    ["a path that its expression matches", { pathRegex: regexOf("^/r[a-z]+$") }],
    ["parameters that the proposal offers", { hasParameters: ["subject"] }],
  ])("matches by %s", (_title, pattern) => {
    expect(planWith([makeAudit({}, pattern)]).kind).toBe("recipe");
  });

  it.each<[string, Partial<RecipePattern>, string]>([
    ["another path", { pathExact: "/review" }, 'it is for "/review"'],
    ["another case", { pathExact: "/Reviews" }, 'it is for "/Reviews"'],
    [
      "a path that its expression does not match",
      { pathRegex: regexOf("^/x$") },
      "its path_regex does not match the path",
    ],
    [
      "a parameter that is not offered",
      { hasParameters: ["subject", "depth"] },
      'the input has no "depth"',
    ],
    [
      "a parameter that every object inherits",
      { hasParameters: ["constructor"] },
      'the input has no "constructor"',
    ],
  ])("does not match %s", (_title, pattern, message) => {
    const { log } = failureOf(planWith([makeAudit({}, pattern)]));
    expect(log).toContainEqual({
      ...{ stage: "recipe", outcome: "rejected", recipe: "audit", message },
    });
  });

  it("does not match another method, and is not there in a recipe that has none", () => {
    expect(planWith([makeAudit({}, { methodExact: "QUERY" })]).kind).toBe("failure");
    const { pattern: _pattern, ...backing } = makeAudit();
    expect(planWith([backing]).kind).toBe("failure");
  });
});

describe("a recipe that matches", () => {
  it.each<[string, Recipe["steps"], string]>([
    [
      "a step reaches nothing",
      [{ method: "QUERY", path: "/gone", parameters: {} }],
      "step 1 (QUERY /gone) reaches no endpoint and no floor method",
    ],
    [
      "a path has to be filled with what is not offered",
      [{ method: "QUERY", path: "/facts/{subject}", parameters: { subject: proposal("topic") } }],
      'step 1 (QUERY /facts/{subject}) needs "topic", which the input does not have',
    ],
    [
      "an endpoint requires what is not offered",
      [{ method: "BOOK", path: "/reviews", parameters: { subject: proposal("topic") } }],
      'step 1 (BOOK /reviews) needs "topic", which the input does not have',
    ],
    [
      "there are more steps than allowed",
      [1, 2, 3].map(() => ({ method: "SUMMARIZE", path: "/", parameters: {} })),
      "it has 3 steps, expected at most 2",
    ],
  ])("is not used when %s, and the next one is", (_title, steps, message) => {
    const recipes = [makeAudit({ name: "a", steps }), makeAudit({ name: "b" })];
    const plan = planOf(planWith(recipes, {}, 2));
    expect(plan.lineage?.recipe_name).toBe("b");
    expect(plan.log).toContainEqual({
      ...{ stage: "recipe", outcome: "rejected", recipe: "a", message },
    });
  });

  it("may leave out what its target does not require", () => {
    const parameters = { subject: proposal("subject"), note: proposal("remark") };
    const steps = [{ method: "BOOK", path: "/reviews", parameters }];
    expect(stepsOf(planWith([makeAudit({ steps })]))).toEqual(["BOOK /reviews"]);
  });
});
