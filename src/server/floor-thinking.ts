/** The floor methods that think and change nothing: SUMMARIZE and PLAN.   AGTP "Method Floor" */
import { createRegistry } from "../contract/endpoint-registry.ts";
import { planMethod } from "../methods/plan.ts";
import type { PlanPlaces } from "../methods/plan-search.ts";
import { summarizeMethod } from "../methods/summarize.ts";
import { indexGoals } from "../synthesis/goal-index.ts";
import { createValueDescriber } from "../synthesis/offered-values.ts";
import type { Recipe } from "../synthesis/recipe.ts";
import { canonicalPair } from "./pairs.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";
import { createSourcePlaces } from "./source-places.ts";

/** Puts both together. */
export function thinkingPart(parts: FloorParts): FloorPart {
  const { work } = parts.floor;
  const plan = planMethod({ createPlaces: () => planPlaces(parts), work });
  const summarize = summarizeMethod({ places: createSourcePlaces(parts), work });
  return {
    methods: new Map([
      ["PLAN", plan],
      ["SUMMARIZE", summarize],
    ]),
  };
}

function planPlaces(parts: FloorParts): PlanPlaces {
  const { negotiation, methodPolicy, names, config, operatorRoutes, describe } = parts;
  const recipes = [...parts.recipes.values()].filter(hasOnePath);
  const goals = indexGoals(
    operatorRoutes.map(({ definition }) => definition),
    recipes,
  );
  const canonical: PlanPlaces["canonical"] = (pair) => canonicalPair(methodPolicy, pair);
  return {
    synthesizer: negotiation.synthesizer,
    reaches: negotiation.reaches,
    registry: createRegistry(operatorRoutes).registry,
    describeValues: createValueDescriber(),
    policies: config.policies,
    ...{ goals, names, methodPolicy, canonical, describe },
  };
}

/** A pattern of paths says nothing about which one a goal means. */
function hasOnePath({ pattern }: Recipe): boolean {
  return pattern !== undefined && pattern.pathRegex === undefined;
}
