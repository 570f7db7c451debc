import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../../src/base/paced.ts";
import type { Recipe } from "../../../../src/endpoint/recipe.ts";
import {
  type GoalMatch,
  indexingGoals,
} from "../../../../src/modules/negotiation/plan-method/goal-index.ts";
import { makeStep } from "../../../support/synthesis.ts";

const NOTHING: ReadonlySet<string> = new Set();

const RECIPE: Recipe = {
  ...{ file: "", name: "weekly-digest", version: "1", requiredScopes: [], steps: [] },
  description: "Collects the week's orders.",
  aggregation: "last",
  pattern: { methodExact: "COMPILE", pathExact: "/digests", hasParameters: ["week"] },
};

const ENDPOINTS = [
  makeStep("QUERY /rooms", { description: "Finds free rooms.", gives: ["room_id"] }),
  makeStep("BOOK /rooms/{room_id}", { description: "Books a room.", gives: ["reservation_id"] }),
  makeStep("QUERY /guests", { description: "Finds a guest.", gives: ["guest_id"] }),
  makeStep("QUERY /prices", { description: "Tells what a night costs.", takes: ["nights"] }),
];

const find = atOnce(indexingGoals(ENDPOINTS, [RECIPE]));

function nameOf({ subject }: GoalMatch): string {
  if (subject.kind === "recipe") return subject.recipe.name;
  return `${subject.endpoint.method} ${subject.endpoint.path}`;
}

function closest(goal: string, known: ReadonlySet<string> = NOTHING): string | undefined {
  const [first] = find(goal, known);
  return first && nameOf(first);
}

// AGTP "PLAN"
describe("indexingGoals", () => {
  it.each([
    ["book a room", "BOOK /rooms/{room_id}"],
    ["Please find me all the guests", "QUERY /guests"],
    ["what are the prices?", "QUERY /prices"],
    ["how much a night costs", "QUERY /prices"],
    ["a reservation", "BOOK /rooms/{room_id}"],
    ["compile the weekly digest", "weekly-digest"],
  ])("finds what a goal is about: %s", (goal, expected) => {
    expect(closest(goal)).toBe(expected);
  });

  it.each(["", "please find it", "launch a rocket to the moon", "the free will of man", "???"])(
    "finds nothing where nothing telling is shared: %s",
    (goal) => {
      expect(find(goal, NOTHING)).toEqual([]);
    },
  );

  it("counts the words that it does not know against what it found", () => {
    const [sure] = find("book a room", NOTHING);
    const [unsure] = find("book a room under the stars of Samarkand", NOTHING);
    expect(sure?.share).toBe(1);
    expect(unsure?.share).toBeLessThan(0.8);
  });

  it("does not look at words that are values", () => {
    const goal = "book a room under the stars of Samarkand";
    const [match] = find(goal, new Set(["samarkand"]));
    expect(match?.share).toBeGreaterThan(find(goal, NOTHING)[0]?.share ?? 1);
  });

  it("does not depend on the order of the endpoints", () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray(ENDPOINTS, { minLength: ENDPOINTS.length }),
        fc.constantFrom("book a room", "rooms for guests", "find guests and prices"),
        (shuffled, goal) => {
          const found = atOnce(indexingGoals(shuffled, [RECIPE]))(goal, NOTHING);
          expect(found.map(nameOf)).toEqual(find(goal, NOTHING).map(nameOf));
        },
      ),
    );
  });

  it("answers any goal with a few matches, closest first", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 4096 }), (goal) => {
        const found = find(goal, NOTHING);
        expect(found.length).toBeLessThanOrEqual(8);
        for (const { share } of found) expect(share).toBeGreaterThan(0);
      }),
    );
  });
});
