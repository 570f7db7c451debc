/** The floor methods that think and change nothing: SUMMARIZE and PLAN.   AGTP "Method Floor" */
import { createRegistry } from "../contract/endpoint-registry.ts";
import { planMethod } from "../methods/plan.ts";
import { summarizeMethod } from "../methods/summarize.ts";
import { PacedWork } from "../search/paced-work.ts";
import { indexGoals } from "../synthesis/goal-index.ts";
import { createValueDescriber } from "../synthesis/offered-values.ts";
import type { Recipe } from "../synthesis/recipe.ts";
import { Turns } from "../synthesis/turns.ts";
import { canonicalPair } from "./pairs.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";
import { createSourcePlaces } from "./source-places.ts";

/** Puts both together. */
export function thinkingPart(parts: FloorParts): FloorPart {
  const { negotiation, methodPolicy, names, config, operatorRoutes } = parts;
  const definitions = operatorRoutes.map(({ definition }) => definition);
  const recipes = [...parts.recipes.values()].filter(hasOnePath);
  const plan = planMethod({
    turns: new Turns(),
    places: {
      synthesizer: negotiation.synthesizer,
      reaches: negotiation.reaches,
      goals: indexGoals(definitions, recipes),
      describeValues: createValueDescriber(),
      registry: createRegistry(operatorRoutes).registry,
      policies: config.policies,
      names,
      methodPolicy,
      canonical: (pair) => canonicalPair(methodPolicy, pair),
      describe: parts.describe,
    },
  });
  const summarize = summarizeMethod({ places: createSourcePlaces(parts), work: new PacedWork() });
  return {
    methods: new Map([
      ["PLAN", plan],
      ["SUMMARIZE", summarize],
    ]),
  };
}

/** A pattern of paths says nothing about which one a goal means. */
function hasOnePath({ pattern }: Recipe): boolean {
  return pattern !== undefined && pattern.pathRegex === undefined;
}
