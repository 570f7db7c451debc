import { describe, expect, it } from "vitest";
import type {
  AggregationMode,
  ParameterSource,
  RecipeStep,
} from "../../../../src/endpoint/recipe.ts";
import type { JsonSchema } from "../../../../src/schema/json-schema.ts";
import { makeRecipe } from "../../../support/endpoint-definition.ts";
import {
  holding,
  makeProposal,
  makeStep,
  makeSynthesizer,
  objectOf,
  stepsOf,
} from "../../../support/synthesis.ts";

const offered = (value: string): ParameterSource => ({ kind: "proposal", value });

const WORLD = [
  makeStep("RESERVE /beds", { takes: ["guest"], gives: ["bed", "note?:any"] }),
  makeStep("CREATE /orders", { takes: ["nights:integer"], gives: ["order:integer"] }),
  makeStep("FETCH /days/{nights}", { takes: ["nights:integer"], gives: ["days:any"] }),
];

const BED = { method: "RESERVE", path: "/beds", parameters: { guest: offered("who") } };
const ORDER = { method: "CREATE", path: "/orders", parameters: { nights: offered("nights") } };
const DAYS = { method: "FETCH", path: "/days/{nights}", parameters: ORDER.parameters };

type Step = Pick<RecipeStep, "method"> & Partial<RecipeStep>;

interface World {
  readonly offers?: readonly string[];
  readonly output?: JsonSchema;
  readonly steps?: readonly Step[];
  readonly mode?: AggregationMode;
}

/** The steps of the plan that the recipe gives, else what it was turned down for. */
function outcomeOf({ offers = ["who"], output = {}, steps = [BED], mode = "merge" }: World) {
  const recipe = {
    ...makeRecipe(steps, { name: "stay", version: "1" }),
    aggregation: mode,
    pattern: { methodExact: "BOOK", hasParameters: [] },
  };
  const synthesizer = makeSynthesizer(WORLD, { recipes: [recipe] });
  const proposal = makeProposal({ method: "BOOK", path: "/stay", offers, outputSchema: output });
  const outcome = synthesizer.plan(proposal, holding());
  if (outcome.kind !== "failure") return stepsOf(outcome);
  return outcome.log.find(({ recipe: name }) => name === "stay")?.message;
}

// AGTP-API §10.6
describe("what a recipe takes", () => {
  it("is not of another type than what is always proposed for it", () => {
    expect(outcomeOf({ offers: ["who:integer"] })).toBe(
      'step 1 (RESERVE /beds) takes "who" as another type than the input has',
    );
    const steps = [BED, ORDER];
    expect(outcomeOf({ offers: ["who", "nights"], steps })).toContain("step 2 (CREATE /orders)");
    expect(outcomeOf({ offers: ["who", "nights:integer"], steps })).toHaveLength(2);
  });

  it.each<[string, World]>([
    ["a wider type, of which some values fit", { offers: ["nights:number"], steps: [ORDER] }],
    ["a type that is not told", { offers: ["who:any"] }],
    ["a text in a path, where all values are texts", { offers: ["nights"], steps: [DAYS] }],
  ])("may be proposed as %s", (_title, world) => {
    expect(outcomeOf(world)).toHaveLength(1);
  });
});

// AGTP-API §10.6
describe("what a recipe gives", () => {
  it.each<[string, World, string]>([
    [
      "a member of another type",
      { output: objectOf(["bed:integer"]) },
      'it gives "bed" as another',
    ],
    ["an object", { output: { type: "array" } }, "it gives an object"],
    ["results alone", { output: objectOf(["bed"]), mode: "list" }, 'it gives "results", and not'],
    ["the last step's", { output: objectOf(["order"]), steps: [BED, ORDER] }, 'it gives "order"'],
  ])("is not promised as what it never is: %s", (_title, world, message) => {
    expect(outcomeOf({ offers: ["who", "nights:integer"], ...world })).toContain(message);
  });

  it.each<[string, World]>([
    ["what it declares", { output: objectOf(["bed"]) }],
    ["what no schema speaks of", { output: objectOf(["view:integer"]) }],
    ["what it may leave out", { output: objectOf(["note?:integer"]) }],
    ["the list itself", { output: { required: ["results"] }, mode: "list" }],
    [
      "what the server says, which is declared nowhere",
      { output: objectOf(["bed:integer"]), steps: [BED, { method: "SUMMARIZE" }] },
    ],
    [
      "another step's, where the last one alone counts",
      {
        output: objectOf(["bed:integer"]),
        steps: [BED, ORDER],
        mode: "last",
        offers: ["who", "nights:integer"],
      },
    ],
  ])("may be asked for as %s", (_title, world) => {
    expect(outcomeOf(world)).toBeInstanceOf(Array);
  });
});
