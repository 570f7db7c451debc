/** The floor methods that think and change nothing: SUMMARIZE and PLAN.   AGTP "Method Floor" */

import type { Paced } from "../base/paced.ts";
import { THE_SERVER } from "../base/task-queue.ts";
import { buildRegistry } from "../endpoint/endpoint-registry.ts";
import type { Recipe } from "../endpoint/recipe.ts";
import { indexingGoals } from "../modules/negotiation/goal-index.ts";
import { createValueDescriber } from "../modules/negotiation/offered-values.ts";
import { planMethod } from "../modules/negotiation/plan.ts";
import type { PlanPlaces } from "../modules/negotiation/plan-search.ts";
import { summarizeMethod } from "../modules/search/summarize.ts";
import { canonicalPair } from "../server/pairs.ts";
import type { FloorPart, FloorParts } from "./protocol-parts.ts";
import { createSourcePlaces } from "./source-places.ts";

/** Puts both together. */
export function thinkingPart(parts: FloorParts): FloorPart {
  const { work } = parts.floor;
  let places: Promise<PlanPlaces> | undefined;
  const prepare = (): Promise<PlanPlaces> => {
    places ??= work.pace(planPlaces(parts), THE_SERVER, parts.floor.stopping.signal);
    return places;
  };
  const plan = planMethod({ places: prepare, work });
  const summarize = summarizeMethod({ places: createSourcePlaces(parts), work });
  return {
    methods: new Map([
      ["PLAN", plan],
      ["SUMMARIZE", summarize],
    ]),
    start: () => void prepare().catch(ignoreStop),
  };
}

/** A server that stops prepares nothing more; whoever asks for a plan hears of anything else. */
function ignoreStop(): void {}

function* planPlaces(parts: FloorParts): Paced<PlanPlaces> {
  const { negotiation, methodPolicy, names, config, operatorRoutes, describe } = parts;
  const recipes = [...parts.recipes.values()].filter(hasOnePath);
  const definitions = operatorRoutes.map(({ definition }) => definition);
  const goals = yield* indexingGoals(definitions, recipes);
  const { registry } = yield* buildRegistry(operatorRoutes);
  const canonical: PlanPlaces["canonical"] = (pair) => canonicalPair(methodPolicy, pair);
  return {
    synthesizer: negotiation.synthesizer,
    reaches: negotiation.reaches,
    registry,
    describeValues: createValueDescriber(),
    policies: config.policies,
    ...{ goals, names, methodPolicy, canonical, describe },
  };
}

/** A pattern of paths says nothing about which one a goal means. */
function hasOnePath({ pattern }: Recipe): boolean {
  return pattern !== undefined && pattern.pathRegex === undefined;
}
