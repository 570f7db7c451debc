/**
 * The parts that plans are made from: the synthesizer over the operator's endpoints and recipes,
 * what the steps of recipes arrive at, and what PLAN looks goals up in.   AGTP-API §10.4, AGTP
 * "PLAN"
 */
import { filterPaced, mapPaced, type Paced } from "../../base/paced.ts";
import { THE_SERVER } from "../../base/task-queue.ts";
import type { MethodPolicy } from "../../dispatch/policy/method-policy.ts";
import { describeBy, impactOf } from "../../dispatch/routes/floor.ts";
import { canonicalPair, isProtocolPair } from "../../dispatch/routes/pairs.ts";
import type { Route } from "../../dispatch/routes/route.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { buildRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Recipe } from "../../endpoint/recipe.ts";
import type { Synthesizer } from "../../endpoint/synthesis-plan.ts";
import { compilingStepTargets } from "../../handlers/step-target.ts";
import type { NegotiationContext } from "./config.ts";
import type { PlanPlaces } from "./plan-method/find-plan.ts";
import { indexingGoals } from "./plan-method/goal-index.ts";
import { createValueDescriber } from "./plan-method/offered-values.ts";
import type { StepReaches } from "./synthesis/match-recipe.ts";
import { creatingSynthesizer } from "./synthesis/synthesizer.ts";

/** Plans, whoever wants one. */
interface Planning {
  readonly synthesizer: Synthesizer;
  readonly reaches: StepReaches;
}

/** The same, once it is made. */
export type LatePlanning = () => Promise<Planning>;

/** Makes it in turns when it is first asked for: a start with many endpoints would wait for its indexes. */
export function createLatePlanning(context: NegotiationContext): LatePlanning {
  const { work, stopping } = context;
  let planning: Promise<Planning> | undefined;
  return () => {
    planning ??= work.pace(creatingPlanning(context), THE_SERVER, stopping.signal);
    return planning;
  };
}

function* creatingPlanning(context: NegotiationContext): Paced<Planning> {
  const { config, recipes, methodPolicy } = context;
  const operators = yield* operatorsOf(context);
  const reaches = yield* stepReaches(operators, methodPolicy);
  const synthesizer = yield* creatingSynthesizer({
    endpoints: yield* reachableEndpoints(operators, methodPolicy),
    recipes: [...recipes.values()],
    maxDepth: config.policies.maxSynthesisDepth,
    reaches,
  });
  return { synthesizer, reaches };
}

/** The places of PLAN, made by and by. */
export function* creatingPlanPlaces(
  context: NegotiationContext,
  planning: Planning,
): Paced<PlanPlaces> {
  const { methodPolicy, names, config, catalog } = context;
  const operators = yield* operatorsOf(context);
  const recipes = [...context.recipes.values()].filter(hasOnePath);
  const definitions = yield* mapPaced(operators, ({ definition }) => definition);
  const goals = yield* indexingGoals(definitions, recipes);
  const { registry } = yield* buildRegistry(operators);
  return {
    ...{ ...planning, registry, goals, names, methodPolicy },
    canonical: (pair) => canonicalPair(methodPolicy, pair),
    describe: describeBy(catalog),
    describeValues: createValueDescriber(),
    policies: config.policies,
  };
}

function operatorsOf({ routes }: NegotiationContext): Paced<readonly Route[]> {
  return filterPaced(routes, ({ tier }) => tier === "B");
}

/** A pattern of paths says nothing about which one a goal means. */
function hasOnePath({ pattern }: Recipe): boolean {
  return pattern !== undefined && pattern.pathRegex === undefined;
}

/** The endpoints that a step arrives at by their own pair: policy may refuse or redirect it. */
function* reachableEndpoints(
  routes: readonly Route[],
  methodPolicy: MethodPolicy,
): Paced<readonly EndpointDefinition[]> {
  const reachable: EndpointDefinition[] = [];
  for (const { method, path, definition } of routes) {
    yield;
    const canonical = canonicalPair(methodPolicy, { method, path });
    const isItself = canonical.method === method && canonical.path === path;
    if (isItself && methodPolicy.isAllowed(method)) reachable.push(definition);
  }
  return reachable;
}

/** The pairs that the steps of recipes arrive at, as far as they are known before they run. */
function* stepReaches(routes: readonly Route[], methodPolicy: MethodPolicy): Paced<StepReaches> {
  const targetOf = yield* compilingStepTargets({
    endpoints: yield* mapPaced(routes, ({ definition }) => definition),
    isFloor: isProtocolPair,
    canonical: (pair) => canonicalPair(methodPolicy, pair),
  });
  return (step) => {
    const target = targetOf(step);
    switch (target.kind) {
      case "none":
        return [];
      case "server":
        return [{ kind: "server", impact: impactOf(step.method) }];
      case "endpoint":
        return [target];
      case "any-of":
        return target.endpoints.map((endpoint) => ({ kind: "endpoint", endpoint }));
    }
  };
}
