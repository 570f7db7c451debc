/**
 * The places that PLAN looks through, made in turns from the operator's endpoints and recipes when
 * they are first asked for.   AGTP "PLAN"
 */
import { mapPaced, type Paced } from "../../../base/paced.ts";
import { THE_SERVER } from "../../../base/task-queue.ts";
import { describeBy } from "../../../dispatch/routes/floor.ts";
import { canonicalPair } from "../../../dispatch/routes/pairs.ts";
import { creatingRegistry } from "../../../endpoint/endpoint-registry.ts";
import type { Recipe } from "../../../endpoint/recipe.ts";
import type { NegotiationContext } from "../config.ts";
import {
  filteringOperators,
  type LateSynthesis,
  type PreparedSynthesis,
} from "../late-synthesis.ts";
import type { PlanPlaces } from "./find-plan.ts";
import { indexingGoals } from "./goal-index.ts";
import { createValueDescriber } from "./goal-proposal.ts";

/** Creates the places once, when they are first asked for. */
export function createLatePlanPlaces(
  context: NegotiationContext,
  prepared: LateSynthesis,
): () => Promise<PlanPlaces> {
  const { work, stopping } = context;
  let places: Promise<PlanPlaces> | undefined;
  return () => {
    places ??= prepared().then((synthesis) =>
      work.pace(creatingPlanPlaces(context, synthesis), THE_SERVER, stopping.signal),
    );
    return places;
  };
}

function* creatingPlanPlaces(
  context: NegotiationContext,
  synthesis: PreparedSynthesis,
): Paced<PlanPlaces> {
  const { methodPolicy, names, config, catalog } = context;
  const operators = yield* filteringOperators(context);
  const recipes = [...context.recipes.values()].filter(hasOnePath);
  const definitions = yield* mapPaced(operators, ({ definition }) => definition);
  const goals = yield* indexingGoals(definitions, recipes);
  const { registry } = yield* creatingRegistry(operators);
  return {
    ...{ ...synthesis, registry, goals, names, methodPolicy },
    canonical: (pair) => canonicalPair(methodPolicy, pair),
    describe: describeBy(catalog),
    describeValues: createValueDescriber(),
    policies: config.policies,
  };
}

/** A pattern of paths says nothing about which one a goal means. */
function hasOnePath({ pattern }: Recipe): boolean {
  return pattern !== undefined && pattern.pathRegex === undefined;
}
