/**
 * Synthesis over the operator's declarations, indexed in steps at first use. It provides the plans of PROPOSE, of
 * unregistered pairs and of PLAN.   AGTP-API §10.4, AGTP "PLAN"
 */
import { filterPaced, mapPaced, type Paced } from "../../base/paced.ts";
import {
  canonicalPair,
  isReachable,
  type MethodPolicy,
} from "../../dispatch/policy/method-policy.ts";
import { untilDrained } from "../../dispatch/process-state.ts";
import { impactOf, isProtocolPair } from "../../dispatch/routes/floor.ts";
import type { Route } from "../../dispatch/routes/route.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { Synthesizer } from "../../endpoint/synthesis-plan.ts";
import { compilingStepTargets } from "../../handlers/check-composition.ts";
import { exceptStoreFaults } from "../../state/store-fault.ts";
import type { NegotiationContext } from "./config.ts";
import type { StepReaches } from "./synthesis/match-recipe.ts";
import { creatingSynthesizer } from "./synthesis/synthesizer.ts";

/** The synthesizer, and the targets of recipe steps. */
export interface PreparedSynthesis {
  readonly synthesizer: Synthesizer;
  readonly reaches: StepReaches;
}

/** Returns the prepared synthesis, once it is ready. */
export type LateSynthesis = () => Promise<PreparedSynthesis>;

/** Prepares synthesis at first use, so that the start does not wait for indexing many endpoints. */
export function createLateSynthesis(context: NegotiationContext): LateSynthesis {
  const drive = untilDrained(context);
  return lazily(async () => drive(creatingSynthesis(context)));
}

/** Makes a value at first use; a failure is also kept, until the next reload. */
export function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Logs faults of a synthesis that its caller does not see, unless the server is stopping. */
export function synthesisFaults({ log, stopping }: NegotiationContext): (error: unknown) => void {
  return exceptStoreFaults((error) => {
    if (!stopping.signal.aborted) log.warn({ error }, "a synthesis failed");
  });
}

function* creatingSynthesis(context: NegotiationContext): Paced<PreparedSynthesis> {
  const { config, recipes, methodPolicy } = context;
  const operators = yield* filteringOperators(context);
  const reaches = yield* creatingStepReaches(operators, methodPolicy);
  const synthesizer = yield* creatingSynthesizer({
    endpoints: yield* filteringReachable(operators, methodPolicy),
    recipes: [...recipes.values()],
    maxDepth: config.policies.maxSynthesisDepth,
    reaches,
  });
  return { synthesizer, reaches };
}

/** The routes of operators' endpoints. */
export function filteringOperators({ routes }: NegotiationContext): Paced<readonly Route[]> {
  return filterPaced(routes, ({ tier }) => tier === "B");
}

/** The endpoints that a step reaches by their own pair, that is, which policy does not refuse or redirect. */
function* filteringReachable(
  routes: readonly Route[],
  methodPolicy: MethodPolicy,
): Paced<readonly EndpointDefinition[]> {
  const reachable = yield* filterPaced(routes, (route) => isReachable(methodPolicy, route));
  return yield* mapPaced(reachable, ({ definition }) => definition);
}

/** The possible targets of recipe steps, as far as known before they run. */
function* creatingStepReaches(
  routes: readonly Route[],
  methodPolicy: MethodPolicy,
): Paced<StepReaches> {
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
